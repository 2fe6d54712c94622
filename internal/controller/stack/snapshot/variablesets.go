package snapshot

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/variableset"
)

// The cache has VariableSets, so that a reconcile reads none from the API server. Before a Run is created, they are listed
// once past the cache.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=variablesets,verbs=list;watch

// WithVariableSets returns a Stack with the values of the VariableSets that select it. The problem is why they cannot be
// used.
func WithVariableSets(ctx context.Context, sets client.Reader, stack *v1alpha1.Stack) (*v1alpha1.Stack, *decision.Problem, error) {
	var list v1alpha1.VariableSetList
	if err := sets.List(ctx, &list, client.InNamespace(stack.Namespace), client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return nil, nil, fmt.Errorf("list VariableSets: %w", err)
	}
	with, err := variableset.Apply(stack, list.Items)
	if problem, ok := errors.AsType[*variableset.Problem](err); ok {
		return nil, &decision.Problem{Reason: problem.Reason, Message: problem.Message}, nil
	}
	return with, nil, err
}

// gatherVariableSets adds the values of the VariableSets that select the Stack.
func (g *Gatherer) gatherVariableSets(ctx context.Context, w *decision.Snapshot) error {
	with, problem, err := WithVariableSets(ctx, g.Client, w.Stack)
	if w.Problem = problem; err == nil && problem == nil {
		w.Effective, w.IgnoredEnv = with, ignoredEnv(with)
	}
	return err
}

// CheckVariableSets returns a conflict if the API server has other VariableSets for a Stack than the cache had: the cache
// of VariableSets may be older than that of Stacks, and a Stack is never planned without those that were there before it.
func (g *Gatherer) CheckVariableSets(ctx context.Context, w decision.Snapshot) error {
	with, problem, err := WithVariableSets(ctx, g.Live, w.Stack)
	if err != nil {
		return err
	}
	if problem != nil || !equality.Semantic.DeepEqual(with.Status.VariableSets, w.Effective.Status.VariableSets) {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), w.Stack.Name, errSetsChanged)
	}
	return nil
}

var errSetsChanged = errors.New("its VariableSets changed")

// VariableSetObjects returns the values of ObjectIndex for a VariableSet: the objects that Stacks read because of it.
func VariableSetObjects(o client.Object) []string {
	set := o.(*v1alpha1.VariableSet)
	var keys []string
	for _, r := range references(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Variables: set.Spec.Variables, Env: set.Spec.Env}}) {
		keys = append(keys, r.key())
	}
	return keys
}

// ofSets returns the objects of references, with whether they are not of the Stack itself.
func ofSets(all, own []Reference) map[string]bool {
	only := map[string]bool{}
	for _, r := range all {
		only[r.key()] = true
	}
	for _, r := range own {
		only[r.key()] = false
	}
	return only
}

// ofSet is the origin of a value in a message; empty for one of the Stack itself.
func ofSet(name string) string {
	if name == "" {
		return ""
	}
	return " of VariableSet " + name
}
