// Package variableset computes which VariableSets a Stack has values from. The operator, plans of pull requests and
// `cairn plan --local` use it. It is pure.
package variableset

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"cairn.dev/cairn/api/v1alpha1"
)

// The limits of a Stack with the values of all VariableSets: those of spec.variables and spec.env of a Stack, so that
// its status can name all of them.
const (
	mostVariables = 500
	mostEnv       = 200
	mostSets      = 50
)

// Problem is why the VariableSets of a Stack cannot be used. A Stack with a problem is never planned without them.
type Problem struct {
	// Reason is ReasonVariableSetConflict or ReasonVariableSetInvalid.
	Reason, Message string
}

func (p *Problem) Error() string { return p.Message }

// Apply returns a Stack with the values of the VariableSets that select it, and their names in status.variableSets. The
// sets are all of the Stack's namespace, in any order. The Stack itself is not changed, and is returned if no set
// selects it. An error is a *Problem.
//
// A value of the Stack takes precedence. Variables of sets follow those of the Stack, by name. Environment variables of
// sets come first, by name of the set: $(NAME) in the Stack can refer to them.
func Apply(stack *v1alpha1.Stack, sets []v1alpha1.VariableSet) (*v1alpha1.Stack, error) {
	selected, err := selecting(stack, sets)
	if err != nil {
		return nil, err
	}
	if len(selected) == 0 && len(stack.Status.VariableSets) == 0 {
		return stack, nil
	}
	result := *stack
	result.Status.VariableSets = nil
	variables, env := newMerge("variable"), newMerge("environment variable")
	for _, v := range stack.Spec.Variables {
		variables.own(v.Name)
	}
	for _, e := range stack.Spec.Env {
		env.own(e.Name)
	}
	var fromSets []v1alpha1.Variable
	var envFromSets []corev1.EnvVar
	for _, set := range selected {
		applied := v1alpha1.AppliedVariableSet{Name: set.Name, UID: set.UID, Generation: set.Generation}
		for _, v := range set.Spec.Variables {
			if variables.add(v.Name, set.Name) {
				fromSets, applied.Variables = append(fromSets, v), append(applied.Variables, v.Name)
			}
		}
		for _, e := range set.Spec.Env {
			if env.add(e.Name, set.Name) {
				envFromSets, applied.Env = append(envFromSets, e), append(applied.Env, e.Name)
			}
		}
		result.Status.VariableSets = append(result.Status.VariableSets, applied)
	}
	if err := firstOf(variables.conflict, env.conflict,
		tooMany(stack, selected, len(fromSets), len(envFromSets))); err != nil {
		return nil, err
	}
	slices.SortFunc(fromSets, func(a, b v1alpha1.Variable) int { return strings.Compare(a.Name, b.Name) })
	result.Spec.Variables = slices.Concat(stack.Spec.Variables, fromSets)
	result.Spec.Env = slices.Concat(envFromSets, stack.Spec.Env)
	return &result, nil
}

// Selects reports whether a VariableSet selects a Stack. An error is a *Problem.
func Selects(set *v1alpha1.VariableSet, stack *v1alpha1.Stack) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(&set.Spec.StackSelector)
	if err != nil {
		return false, &Problem{v1alpha1.ReasonVariableSetInvalid, fmt.Sprintf(
			"spec.stackSelector of VariableSet %s: %v. Which Stacks it selects is not known, so no Stack of the "+
				"namespace starts a Run: correct it",
			set.Name, err)}
	}
	return selector.Matches(labels.Set(stack.Labels)), nil
}

// selecting returns the sets that select a Stack, by name. A set that is being deleted counts until it is gone.
func selecting(stack *v1alpha1.Stack, sets []v1alpha1.VariableSet) ([]*v1alpha1.VariableSet, error) {
	var selected []*v1alpha1.VariableSet
	for i := range sets {
		selects, err := Selects(&sets[i], stack)
		if err != nil {
			return nil, err
		}
		if selects {
			selected = append(selected, &sets[i])
		}
	}
	slices.SortFunc(selected, func(a, b *v1alpha1.VariableSet) int { return strings.Compare(a.Name, b.Name) })
	return selected, nil
}

// merge collects names, each from the Stack or from one set.
type merge struct {
	what     string
	from     map[string]string // the set of a name; empty for the Stack itself
	conflict *Problem
}

func newMerge(what string) *merge { return &merge{what: what, from: map[string]string{}} }

func (m *merge) own(name string) { m.from[name] = "" }

// add reports whether the value of a name comes from a set.
func (m *merge) add(name, set string) bool {
	other, taken := m.from[name]
	if taken && other != "" && m.conflict == nil {
		m.conflict = &Problem{v1alpha1.ReasonVariableSetConflict, fmt.Sprintf(
			"VariableSets %s and %s both set %s %s: remove it from one of them, or set it in the Stack", other, set,
			m.what, name)}
	}
	if !taken {
		m.from[name] = set
	}
	return !taken
}

func tooMany(stack *v1alpha1.Stack, sets []*v1alpha1.VariableSet, variables, env int) *Problem {
	invalid := func(n int, what string, most int) *Problem {
		return &Problem{v1alpha1.ReasonVariableSetInvalid, fmt.Sprintf(
			"the Stack has %d %s, at most %d are supported: remove some, or change the labels of the Stack", n,
			what, most)}
	}
	switch v, e := len(stack.Spec.Variables)+variables, len(stack.Spec.Env)+env; {
	case len(sets) > mostSets:
		return invalid(len(sets), "VariableSets", mostSets)
	case variables > 0 && v > mostVariables:
		return invalid(v, "variables with those of VariableSets", mostVariables)
	case env > 0 && e > mostEnv:
		return invalid(e, "environment variables with those of VariableSets", mostEnv)
	}
	return nil
}

func firstOf(problems ...*Problem) error {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

// VariableFrom returns the VariableSet that a Stack has a variable from; empty if it sets the variable itself.
func VariableFrom(stack *v1alpha1.Stack, name string) string {
	return from(stack, func(s v1alpha1.AppliedVariableSet) bool { return slices.Contains(s.Variables, name) })
}

// EnvFrom returns the VariableSet that a Stack has an environment variable from; empty if it sets the variable itself.
func EnvFrom(stack *v1alpha1.Stack, name string) string {
	return from(stack, func(s v1alpha1.AppliedVariableSet) bool { return slices.Contains(s.Env, name) })
}

func from(stack *v1alpha1.Stack, has func(v1alpha1.AppliedVariableSet) bool) string {
	i := slices.IndexFunc(stack.Status.VariableSets, has)
	if i < 0 {
		return ""
	}
	return stack.Status.VariableSets[i].Name
}
