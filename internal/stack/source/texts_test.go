package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/policy"
)

func TestPoliciesAreCompiledOnceForAllThatSayTheSame(t *testing.T) {
	s := NewSources(lost{}, nil)
	p := inputs.Policy{Name: "rules", Files: map[string]string{"a.rego": "package main\ndeny contains msg if {"}}
	expect := func(digest, want string) {
		t.Helper()
		if wrong, err := s.compile(t.Context(), p, digest); err != nil || !strings.Contains(wrong, want) {
			t.Errorf("it says %q, %v", wrong, err)
		}
	}
	expect("digest", "rules/a.rego")
	is := fmt.Errorf("%w time", policy.ErrTooMuch)
	s.Compile = func(context.Context, []policy.Module) error { return is }
	expect("digest", "rules/a.rego")
	expect("another digest", "the policies of ConfigMap rules cannot be compiled: the policies took too much time")
	is = policy.ErrCutOff // nothing is known of them
	expect("another digest", "took too much time")
	if wrong, err := s.compile(t.Context(), p, "third digest"); !errors.Is(err, is) {
		t.Errorf("it says %q, %v", wrong, err)
	}
	is = nil
	expect("third digest", "")
	if _, err := s.Text(t.Context(), client.ObjectKey{Name: "rules"}, "version"); err == nil {
		t.Error("no error where the API server is away")
	}
}

// lost is an API server that has no ConfigMap for anybody.
type lost struct{ client.Reader }

func (lost) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("away")
}
