package runnerhandler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/policyeval"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/userapi"
)

// Of all that runs here, one namespace is hostile: it asks for as much as it can, and never comes to an end. What
// another one wants meanwhile has to go through.
func TestNamespaceLeavesMemoryForOthers(t *testing.T) {
	hostile := Caller{Pod: auth.Pod{Namespace: "hostile"}, Stack: "net"}
	sends := func(s *API, r *http.Request, namespace string, limit int64) error {
		_, free, err := s.body(httptest.NewRecorder(), r, namespace, limit)
		if err == nil {
			free()
		}
		return err
	}
	saves := func(s *API, r *http.Request) error { return sends(s, r, "shop", state.MaxSize) }
	for name, test := range map[string]struct {
		// size of the body that does not come, -1 says none; and how many times over it counts.
		size, weight int64
		does         func(*API, *http.Request)
		then         func(*API, *http.Request) error
	}{
		"states that do not come": {state.MaxSize, 1, func(s *API, r *http.Request) {
			_ = sends(s, r, "hostile", state.MaxSize)
		}, saves},
		"reports that do not come": {largestReport, jsonWeight, func(s *API, r *http.Request) {
			_ = s.jsonBody(httptest.NewRecorder(), r, "hostile", largestReport, &runnerapi.Report{})
		}, saves},
		"small bodies without end": {artifact.MaxChunk, 1, func(s *API, r *http.Request) {
			_ = sends(s, r, "hostile", artifact.MaxChunk)
		}, saves},
		"a state that is read slowly": {-1, 0, func(s *API, r *http.Request) {
			if free, err := s.memory.AcquireState(r.Context(), hostile.Key()); err == nil {
				defer free()
				_, _ = io.Copy(io.Discard, r.Body)
			}
		}, saves},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Catalog: listing.NewCatalog()})
				s.Catalog.Shelf(kinds.States).Put("hostile", "net", 1, &userapi.State{Size: state.MaxSize})
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
				r := httptest.NewRequestWithContext(soon, http.MethodPost, "/",
					strings.NewReader(strings.Repeat(" ", httpapi.LargeBody+1)))
				if err := test.then(s, r); err != nil {
					t.Errorf("that of another namespace does not go through: %v", err)
				}
				cancel()
				_ = end.Close()
				all.Wait()
			})
		})
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

// The documents of plans wait for each other, and not for what they hold themselves.
func TestDocumentsOfLargePlansAreStored(t *testing.T) {
	for name, test := range map[string]struct{ plans, size int }{
		"one of the largest": {1, runnerapi.LargestPlanJSON},
		"ten at once":        {10, 10 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := buckettest.New(t)
				s := New(Options{Bucket: b, Catalog: listing.NewCatalog(),
					Policies: policyeval.New(policyeval.Options{Bucket: b})})
				run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "net-1", UID: "run"}}
				// which no policy evaluates
				run.Spec.Cause.Type, run.Spec.Operation = v1alpha1.CauseDrift, v1alpha1.OperationPlan
				run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, PodUID: "pod"}}
				c := Caller{Pod: auth.Pod{Namespace: "shop", UID: "pod"}, Attempt: 1, RunName: "net-1", Stack: "net",
					Run: run}
				body := `{"plan": {"format_version": "1.2"}` + strings.Repeat(" ", test.size) + "}"
				var all sync.WaitGroup
				for i := range test.plans {
					digest, err := b.PutHashed(t.Context(), artifact.PlanFolder(run),
						strings.NewReader(fmt.Sprint("only the engine reads it ", i)), 100)
					if err != nil {
						t.Fatal(err)
					}
					r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", strings.NewReader(body))
					r.SetPathValue("digest", digest)
					all.Go(func() {
						if err := s.putPlanDocument(httptest.NewRecorder(), r, c); err != nil {
							t.Errorf("plan %d: %v", i, err)
						}
					})
				}
				all.Wait()
			})
		})
	}
}
