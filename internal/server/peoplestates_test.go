package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestPeopleTakeNoMemoryOfRunners: what people send, however slowly, does not keep a runner from saving its state.
func TestPeopleTakeNoMemoryOfRunners(t *testing.T) {
	s := &Server{memory: newRoom(bodyMemory, bodyPart, largeBody), persons: newPersons(nil, nil)}
	free, err := s.persons.memory.hold(t.Context(), "shop", peoplePart)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	save := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/state", bytes.NewReader(make([]byte, largeBody+1)))
	_, saved, err := s.body(httptest.NewRecorder(), save, "shop", 2*largeBody)
	if err != nil {
		t.Fatalf("a runner waits for people: %v", err)
	}
	saved()
	free()
}

// TestAPersonsStateWaitsForThatOfOthers, before a byte of it is read. A recovery does so however small it is when it comes: it
// may be large when it is unpacked.
func TestAPersonsStateWaitsForThatOfOthers(t *testing.T) {
	s := &Server{memory: newRoom(bodyMemory, bodyPart, largeBody), persons: newPersons(nil, nil)}
	for name, test := range map[string]struct {
		held int64
		body string
		ask  func(http.ResponseWriter, *http.Request, ask) error
	}{
		"a push":     {peoplePart, strings.Repeat(" ", largeBody+1), s.pushState},
		"a recovery": {largeBody + 1, "small", s.recoverState},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := s.persons.memory.hold(t.Context(), "", test.held)
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
