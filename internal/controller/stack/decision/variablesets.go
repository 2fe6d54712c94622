package decision

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/variableset"
)

// changedVariableSet names a VariableSet of which a Stack has other values than before; empty if there is none.
func changedVariableSet(before, now []v1alpha1.AppliedVariableSet) string {
	return firstChange(before, now).Name
}

// changedStackPolicy names a StackPolicy of which a Stack has other policies than those of its inputs; empty if there
// is none. Its windows are no inputs.
func changedStackPolicy(w Snapshot) string {
	if w.Effective == nil {
		return ""
	}
	return firstChange(policiesOf(w.Stack), policiesOf(w.Effective)).Name
}

// policiesOf returns the StackPolicies of a Stack that add policies.
func policiesOf(stack *v1alpha1.Stack) []v1alpha1.AppliedStackPolicy {
	var with []v1alpha1.AppliedStackPolicy
	for _, p := range stack.Status.StackPolicies {
		if len(p.Policies) > 0 {
			with = append(with, v1alpha1.AppliedStackPolicy{Name: p.Name, UID: p.UID, Policies: p.Policies})
		}
	}
	return with
}

// firstChange returns what only one of two lists has; the zero value if both have the same.
func firstChange[T any](before, now []T) (none T) {
	for _, lists := range [][2][]T{{now, before}, {before, now}} {
		for _, one := range lists[0] {
			if !slices.ContainsFunc(lists[1], func(o T) bool { return equality.Semantic.DeepEqual(o, one) }) {
				return one
			}
		}
	}
	return none
}

// valuesChange is how the variables of two documents of inputs differ.
type valuesChange struct {
	// sets are the VariableSets that changed them.
	sets []string
	// others reports that there are changes besides, and own that all of these are in the spec of the Stack.
	others, own bool
}

// changedVariables returns how variables changed.
func changedVariables(w Snapshot, last, now *inputs.Document) valuesChange {
	names := changedNames(last.Variables, now.Variables, func(v v1alpha1.Variable) string { return v.Name })
	own := namesOf(w.Stack.Spec.Variables, func(v v1alpha1.Variable) string { return v.Name })
	return attribute(w, names, own, variableset.VariableFrom)
}

// changedEnv returns how environment variables changed.
func changedEnv(w Snapshot, last, now *inputs.Document) valuesChange {
	names := changedNames(last.Env, now.Env, func(e corev1.EnvVar) string { return e.Name })
	own := namesOf(w.Stack.Spec.Env, func(e corev1.EnvVar) string { return e.Name })
	return attribute(w, names, own, variableset.EnvFrom)
}

// attribute divides names between the Stack and its VariableSets. One that is in neither was removed: by a VariableSet
// if the status has it from there.
func attribute(w Snapshot, names []string, own map[string]int, from func(*v1alpha1.Stack, string) string) valuesChange {
	c := valuesChange{own: true}
	for _, name := range names {
		set := ""
		if w.Effective != nil {
			set = from(w.Effective, name)
		}
		_, ofStack := own[name]
		if set == "" && !ofStack {
			set = from(w.Stack, name)
		}
		switch {
		case set == "":
			c.others, c.own = true, c.own && ofStack
		case !slices.Contains(c.sets, set):
			c.sets = append(c.sets, set)
		}
	}
	return c
}

// changedNames lists the names of which two lists have other values, sorted. If only the order differs, it lists all.
func changedNames[T any](last, now []T, name func(T) string) []string {
	before, after := namesOf(last, name), namesOf(now, name)
	all := maps.Clone(before)
	maps.Copy(all, after)
	var changed []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		i, was := before[n]
		j, is := after[n]
		if was != is || !equality.Semantic.DeepEqual(last[i], now[j]) {
			changed = append(changed, n)
		}
	}
	if len(changed) == 0 && !equality.Semantic.DeepEqual(last, now) {
		return slices.Sorted(maps.Keys(all))
	}
	return changed
}

// namesOf returns where each name is in a list.
func namesOf[T any](list []T, name func(T) string) map[string]int {
	at := map[string]int{}
	for i, v := range list {
		at[name(v)] = i
	}
	return at
}

// ofVariableSets is the cause of a Run that only VariableSets changed.
func ofVariableSets(names []string) v1alpha1.Cause {
	const most = 5
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > most {
		names = append(names[:most:most], "and others")
	}
	return v1alpha1.Cause{Type: v1alpha1.CauseVariableSet, Message: "VariableSet " + strings.Join(names, ", ") +
		" changed"}
}
