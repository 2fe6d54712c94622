package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/policy"
)

// The change of a ConfigMap wakes the Stacks whose hooks and policies it holds.
func TestHooksAndPoliciesAreAmongTheObjectsOfAStack(t *testing.T) {
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Hooks: []v1alpha1.Hook{
			{Step: "plan", When: v1alpha1.HookBefore, Script: "true"},
			{Step: "plan", When: v1alpha1.HookBefore, ConfigMap: &v1alpha1.KeyRef{Name: "scripts", Key: "a"}},
		},
		Policies: []v1alpha1.Policy{{ConfigMap: v1alpha1.ObjectRef{Name: "rules"}}},
	}}
	if got, want := IndexObjects(stack), []string{"ConfigMap/scripts", "ConfigMap/rules"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, ref := range references(&stack.Spec) {
		if p := ref.problem(); !ref.Text || p.Reason != "ConfigMapNotFound" || !strings.Contains(p.Message, "[") {
			t.Errorf("%+v: %+v", ref, p)
		}
	}
}

// lost is an API server that has no ConfigMap for anybody.
type lost struct{ client.Reader }

func (lost) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("away")
}

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
	if _, err := s.text(t.Context(), client.ObjectKey{Name: "rules"}, "version"); err == nil {
		t.Error("no error where the API server is away")
	}
}
