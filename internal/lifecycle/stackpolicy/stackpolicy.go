// Package stackpolicy computes what StackPolicies restrict for a Stack: policies, which are among its inputs, and
// windows, which its Runs wait for. It is pure.
package stackpolicy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/window"
)

// mostPolicies of a Stack with those of StackPolicies: each is evaluated for each plan.
const mostPolicies = 50

// Problem is why the StackPolicies of a Stack cannot be used: ReasonStackPolicyInvalid. A Stack with a problem starts
// no Run and no apply: what was meant to prevent these is not known.
type Problem struct{ Message string }

func (p *Problem) Error() string { return p.Message }

// Apply returns a Stack with the policies of the StackPolicies that select it, and their names in status.stackPolicies.
// Of a ConfigMap that the Stack names itself, or that two StackPolicies name, there is one policy. The StackPolicies
// are all of the Stack's namespace, in any order. The Stack itself is not changed. An error is a *Problem.
func Apply(stack *v1alpha1.Stack, all []v1alpha1.StackPolicy) (*v1alpha1.Stack, error) {
	selected, err := selecting(stack, all)
	if err != nil {
		return nil, err
	}
	if len(selected) == 0 && len(stack.Status.StackPolicies) == 0 {
		return stack, nil
	}
	if _, err := window.Parse(listsOf(selected)...); err != nil {
		return nil, &Problem{err.Error()}
	}
	result := *stack
	result.Status.StackPolicies, result.Spec.Policies = nil, slices.Clone(stack.Spec.Policies)
	for _, p := range selected {
		applied := v1alpha1.AppliedStackPolicy{
			Name: p.Name, UID: p.UID, Generation: p.Generation, Windows: int32(len(p.Spec.Windows)),
		}
		for _, policy := range p.Spec.Policies {
			if !slices.ContainsFunc(result.Spec.Policies, func(o v1alpha1.Policy) bool {
				return o.ConfigMap == policy.ConfigMap
			}) {
				result.Spec.Policies = append(result.Spec.Policies, policy)
				applied.Policies = append(applied.Policies, policy.ConfigMap.Name)
			}
		}
		result.Status.StackPolicies = append(result.Status.StackPolicies, applied)
	}
	if n := len(result.Spec.Policies); n > mostPolicies {
		return nil, &Problem{fmt.Sprintf("the Stack has %d policies with those of StackPolicies, at most %d are "+
			"supported: remove some", n, mostPolicies)}
	}
	return &result, nil
}

// Windows returns the windows of a Stack and of the StackPolicies that select it. The error names what is invalid.
func Windows(stack *v1alpha1.Stack, all []v1alpha1.StackPolicy) (window.Windows, error) {
	selected, err := selecting(stack, all)
	if err != nil {
		return window.Windows{}, err
	}
	return window.Parse(append(listsOf(selected), window.List{Windows: stack.Spec.Windows})...)
}

func listsOf(selected []*v1alpha1.StackPolicy) (lists []window.List) {
	for _, p := range selected {
		lists = append(lists, window.List{Of: " of StackPolicy " + p.Name, Windows: p.Spec.Windows})
	}
	return lists
}

// From returns the StackPolicy that alone adds a policy to a Stack, by the name of its ConfigMap; empty for the Stack
// itself.
func From(stack *v1alpha1.Stack, configMap string) string {
	for _, p := range stack.Status.StackPolicies {
		if slices.Contains(p.Policies, configMap) {
			return p.Name
		}
	}
	return ""
}

// selecting returns the StackPolicies that select a Stack, by name. One that is being deleted counts until it is gone.
func selecting(stack *v1alpha1.Stack, all []v1alpha1.StackPolicy) ([]*v1alpha1.StackPolicy, error) {
	var selected []*v1alpha1.StackPolicy
	for i := range all {
		selector, err := metav1.LabelSelectorAsSelector(&all[i].Spec.StackSelector)
		if err != nil {
			return nil, &Problem{fmt.Sprintf("spec.stackSelector of StackPolicy %s: %v. Which Stacks it selects is "+
				"not known, so no Stack of the namespace starts a Run: correct it", all[i].Name, err)}
		}
		if selector.Matches(labels.Set(stack.Labels)) {
			selected = append(selected, &all[i])
		}
	}
	slices.SortFunc(selected, func(a, b *v1alpha1.StackPolicy) int { return strings.Compare(a.Name, b.Name) })
	return selected, nil
}
