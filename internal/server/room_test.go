package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/listing"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/store"
)

// Of all that runs here, one namespace is hostile: it asks for as much as it can, and never comes to an end. What another one wants
// meanwhile has to go through.
func TestANamespaceTakesNoMemoryOfOthers(t *testing.T) {
	hostile := Caller{Pod: Pod{Namespace: "hostile"}, Stack: "net"}
	person := ask{NamespacedName: types.NamespacedName{Namespace: "hostile", Name: "net"}}
	sends := func(s *Server, r *http.Request, namespace string, limit int64) error {
		_, free, err := s.body(httptest.NewRecorder(), r, namespace, limit)
		if err == nil {
			free()
		}
		return err
	}
	saves := func(s *Server, r *http.Request) error { return sends(s, r, "shop", state.MaxSize) }
	for name, test := range map[string]struct {
		// size of the body that does not come, -1 says none; and how many times over it counts.
		size, weight int64
		does         func(*Server, *http.Request)
		then         func(*Server, *http.Request) error
	}{
		"states that do not come": {state.MaxSize, 1, func(s *Server, r *http.Request) {
			_ = sends(s, r, "hostile", state.MaxSize)
		}, saves},
		"reports that do not come": {largestReport, jsonWeight, func(s *Server, r *http.Request) {
			_ = s.jsonBody(httptest.NewRecorder(), r, "hostile", largestReport, &store.Report{})
		}, saves},
		"small bodies without end": {largestChunk, 1, func(s *Server, r *http.Request) {
			_ = sends(s, r, "hostile", largestChunk)
		}, saves},
		"a state that is read slowly": {-1, 0, func(s *Server, r *http.Request) {
			if free, err := s.holdState(r.Context(), hostile.Key(), s.memory); err == nil {
				defer free()
				_, _ = io.Copy(io.Discard, r.Body)
			}
		}, saves},
		"a log with a rescued state that does not come": {-1, 0, func(s *Server, r *http.Request) {
			_ = s.recoverState(httptest.NewRecorder(), r, person)
		}, func(s *Server, r *http.Request) error {
			free, err := s.persons.memory.hold(r.Context(), "shop", viewMemory) // somebody looks at a plan
			if err == nil {
				free()
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{memory: newRoom(bodyMemory, bodyPart, largeBody), persons: &persons{memory: newRoom(peopleMemory, peoplePart, largeBody)}}
				s.Catalog = listing.NewCatalog()
				s.Catalog.States.Put("hostile", "net", &v1alpha1.State{Status: v1alpha1.StateStatus{Size: state.MaxSize}})
				ctx, cancel := context.WithCancel(t.Context())
				body, end := io.Pipe()
				var reading atomic.Int64
				var all sync.WaitGroup
				for range 1000 {
					r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", counted{body, &reading})
					r.ContentLength = test.size
					all.Go(func() { test.does(s, r) })
				}
				synctest.Wait()
				if n := reading.Load(); n == 0 || n*test.size*test.weight > bodyPart {
					t.Errorf("%d of them have memory", n)
				}
				soon, late := context.WithTimeout(t.Context(), time.Hour)
				defer late()
				r := httptest.NewRequestWithContext(soon, http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", largeBody+1)))
				if err := test.then(s, r); err != nil {
					t.Errorf("that of another namespace does not go through: %v", err)
				}
				cancel()
				_ = end.Close()
				all.Wait()
				if n := len(s.memory.parts) + len(s.persons.memory.parts); n != 0 {
					t.Errorf("%d namespaces are remembered that want nothing", n)
				}
			})
		})
	}
}

// The catalog fills after the server starts, and hears of each state some time after it is written.
func TestAStateCountsBeforeTheCatalogHasHeardOfIt(t *testing.T) {
	live := interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			o.(*v1alpha1.State).Status.Size = state.MaxSize
			return nil
		},
	})
	s := &Server{Options: Options{Live: live, Catalog: listing.NewCatalog()}, memory: newRoom(bodyMemory, bodyPart, largeBody)}
	free, err := s.holdState(t.Context(), types.NamespacedName{Namespace: "shop", Name: "net"}, s.memory)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	if s.memory.parts["shop"].left.TryAcquire(bodyPart - state.MaxSize + 1) {
		t.Error("it takes no memory")
	}
}

// counted is a body of which it is known how many read it.
type counted struct {
	*io.PipeReader
	readers *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	c.readers.Add(1)
	return c.PipeReader.Read(p)
}
