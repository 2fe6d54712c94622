package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/policy"
)

func TestEqualPoliciesAreCompiledOnce(t *testing.T) {
	s := NewSources(failingReader{}, nil)
	p := inputs.Policy{Name: "rules", Files: map[string]string{"a.rego": "package main\ndeny contains msg if {"}}
	expect := func(digest, want string) {
		t.Helper()
		if wrong, err := s.compile(t.Context(), p, digest); err != nil || !strings.Contains(wrong, want) {
			t.Errorf("got %q, %v", wrong, err)
		}
	}
	expect("digest", "rules/a.rego")
	is := fmt.Errorf("%w time", policy.ErrTooMuch)
	s.Compile = func(context.Context, []policy.Module) error { return is }
	expect("digest", "rules/a.rego")
	expect("another digest", "the policies of ConfigMap rules cannot be compiled: the policies took too much time")
	is = policy.ErrCutOff // the result is unknown
	expect("another digest", "took too much time")
	if wrong, err := s.compile(t.Context(), p, "third digest"); !errors.Is(err, is) {
		t.Errorf("got %q, %v", wrong, err)
	}
	is = nil
	expect("third digest", "")
	if _, err := s.Text(t.Context(), client.ObjectKey{Name: "rules"}, "version"); err == nil {
		t.Error("no error while the API server is unavailable")
	}
}

// failingReader is a client that reads nothing.
type failingReader struct{ client.Reader }

func (failingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("unavailable")
}
