package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAPersonsStateWaitsForThatOfOthers, before a byte of it is read. A recovery does so however small it is when it comes: it
// may be large when it is unpacked.
func TestAPersonsStateWaitsForThatOfOthers(t *testing.T) {
	s := newUserAPI(userOptions{})
	for name, test := range map[string]struct {
		held int64
		body string
		ask  func(http.ResponseWriter, *http.Request, ask) error
	}{
		"a push":     {peoplePart, strings.Repeat(" ", largeBody+1), s.pushState},
		"a recovery": {largeBody + 1, "small", s.recoverState},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := s.memory.hold(t.Context(), "", test.held)
			if err != nil {
				t.Fatal(err)
			}
			defer free()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			body := strings.NewReader(test.body)
			err = test.ask(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body), ask{})
			if !errors.Is(err, context.DeadlineExceeded) || body.Len() != len(test.body) {
				t.Errorf("it does not wait: %v", err)
			}
		})
	}
}

func TestARescueInOneNamespaceLeavesMemoryForAPlanOfAnother(t *testing.T) {
	s := newUserAPI(userOptions{})
	free, err := s.memory.hold(t.Context(), "hostile", peoplePart)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other, err := s.memory.hold(ctx, "shop", viewMemory)
	if err != nil {
		t.Fatalf("it waits: %v", err)
	}
	other()
}
