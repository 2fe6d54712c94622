package userhandler

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/server/httpapi"
)

// A request waits for memory before its body is read. A recovery waits whatever the size of its body is, which may be
// compressed.
func TestUploadedStateWaitsForMemory(t *testing.T) {
	s := New(Options{})
	for name, test := range map[string]struct {
		held int64
		body string
		ask  func(http.ResponseWriter, *http.Request, ask) error
	}{
		"a push":     {userPart, strings.Repeat(" ", httpapi.LargeBody+1), s.pushState},
		"a recovery": {httpapi.LargeBody + 1, "small", s.recoverState},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := s.memory.Acquire(t.Context(), "", test.held)
			if err != nil {
				t.Fatal(err)
			}
			defer free()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			body := strings.NewReader(test.body)
			err = test.ask(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body),
				ask{})
			if !errors.Is(err, context.DeadlineExceeded) || body.Len() != len(test.body) {
				t.Errorf("it does not wait for memory: %v", err)
			}
		})
	}
}

func TestRescueInOneNamespaceLeavesMemoryForAPlanOfAnother(t *testing.T) {
	s := New(Options{})
	free, err := s.memory.Acquire(t.Context(), "hostile", userPart)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other, err := s.memory.Acquire(ctx, "shop", viewMemory)
	if err != nil {
		t.Fatalf("it waits: %v", err)
	}
	other()
}
