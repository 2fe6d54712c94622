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
	"cairn.dev/cairn/internal/lifecycle/stackpolicy"
	"cairn.dev/cairn/internal/lifecycle/variableset"
)

// The cache has VariableSets and StackPolicies, so that a reconcile reads none from the API server. Before a Run is
// created, they are listed once past the cache.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=variablesets;stackpolicies,verbs=list;watch

// Effective returns a Stack with what the VariableSets and the StackPolicies that select it add. The problem is why
// they cannot be used.
func Effective(ctx context.Context, from client.Reader, stack *v1alpha1.Stack) (*v1alpha1.Stack, *decision.Problem,
	error) {
	var sets v1alpha1.VariableSetList
	var policies v1alpha1.StackPolicyList
	for _, list := range []client.ObjectList{&sets, &policies} {
		// only read
		if err := from.List(ctx, list, client.InNamespace(stack.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, fmt.Errorf("list what selects Stack %s: %w", stack.Name, err)
		}
	}
	with, err := variableset.Apply(stack, sets.Items)
	if problem, ok := errors.AsType[*variableset.Problem](err); ok {
		return nil, &decision.Problem{Reason: problem.Reason, Message: problem.Message}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	with, err = stackpolicy.Apply(with, policies.Items)
	if problem, ok := errors.AsType[*stackpolicy.Problem](err); ok {
		return nil, &decision.Problem{Reason: v1alpha1.ReasonStackPolicyInvalid, Message: problem.Message}, nil
	}
	return with, nil, err
}

// gatherSelecting adds what other objects that select the Stack decide: each snapshot whose inputs are compared needs
// it.
func (g *Gatherer) gatherSelecting(ctx context.Context, w *decision.Snapshot) error {
	if err := g.gatherEffective(ctx, w); err != nil {
		return err
	}
	return g.gatherRelease(ctx, w)
}

// gatherEffective adds what the VariableSets and the StackPolicies that select the Stack add.
func (g *Gatherer) gatherEffective(ctx context.Context, w *decision.Snapshot) error {
	with, problem, err := Effective(ctx, g.Client, w.Stack)
	if w.Problem = problem; err == nil && problem == nil {
		w.Effective, w.IgnoredEnv = with, ignoredEnv(with)
	}
	return err
}

// CheckEffective returns a conflict if the API server has other VariableSets, StackPolicies or releases for a Stack
// than the cache had, which may be older than that of Stacks: a Stack is never planned without those that were there
// before it, nor with a release that its stage does not have.
func (g *Gatherer) CheckEffective(ctx context.Context, w decision.Snapshot) error {
	with, problem, err := Effective(ctx, g.Live, w.Stack)
	if err != nil {
		return err
	}
	known := w.Effective.Status
	if problem != nil || !equality.Semantic.DeepEqual(with.Status.VariableSets, known.VariableSets) ||
		!equality.Semantic.DeepEqual(with.Status.StackPolicies, known.StackPolicies) {
		return changedMeanwhile(w.Stack)
	}
	return g.checkRelease(ctx, w)
}

func changedMeanwhile(stack *v1alpha1.Stack) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), stack.Name,
		errSelectionChanged)
}

var errSelectionChanged = errors.New("its VariableSets, StackPolicies or Pipelines changed")

// StackPolicyObjects returns the values of ObjectIndex for a StackPolicy: the objects that Stacks read because of it.
func StackPolicyObjects(o client.Object) []string {
	var keys []string
	for _, p := range o.(*v1alpha1.StackPolicy).Spec.Policies {
		keys = append(keys, ObjectKey("ConfigMap", p.ConfigMap.Name))
	}
	return keys
}

// VariableSetObjects returns the values of ObjectIndex for a VariableSet: the objects that Stacks read because of it.
func VariableSetObjects(o client.Object) []string {
	set := o.(*v1alpha1.VariableSet)
	var keys []string
	for _, r := range references(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Variables: set.Spec.Variables,
		Env: set.Spec.Env}}) {
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
