package decision

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Key identifies a Stack among those of a StackSet: its name or, in another namespace, NAMESPACE/NAME, which is the
// name of no Stack.
func Key(set *v1alpha1.StackSet, namespace, name string) string {
	if namespace == "" || namespace == set.Namespace {
		return name
	}
	return namespace + "/" + name
}

// Locate returns the namespace and the name of the Stack with a key.
func Locate(set *v1alpha1.StackSet, key string) types.NamespacedName {
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: set.Namespace, Name: key}
}

// Permits reports whether a StackSet may write a Stack: one of its own namespace, or one of spec.namespaces that a
// StackGrant there allows.
func Permits(set *v1alpha1.StackSet, grants v1alpha1.StackGrantList, stack types.NamespacedName) bool {
	return stack.Namespace == set.Namespace || (slices.Contains(set.Spec.Namespaces, stack.Namespace) &&
		grants.Allow(v1alpha1.GrantStackSet, set.Namespace, stack))
}

// withheld are Stacks of other namespaces that are not written, whatever the template has for them. They stay as they
// are. Without a reason they are only in the message: the StackSet does not generate them.
type withheld struct {
	reason, why string
	keys        []string
}

// withhold removes the Stacks of other namespaces that the StackSet must not write from all that is decided later. A
// user of another namespace stops only what is in it, and nothing of it shows without a StackGrant. There a Stack is
// not gone that the StackSet never wrote: users could label so many that it would stop (maxDeletions).
func withhold(p *plan) bool {
	foreign := map[string]bool{}
	for i := range p.Stacks {
		if s := &p.Stacks[i]; s.Namespace != p.Set.Namespace && !p.Set.Owns(s) {
			foreign[Key(p.Set, s.Namespace, s.Name)] = true
		}
	}
	generated := len(p.want)
	for _, key := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.owned, p.wanted)))) {
		stack := Locate(p.Set, key)
		if own := p.own[key]; stack.Namespace != p.Set.Namespace && p.want[key] == nil &&
			own.Annotations[v1alpha1.RenderedAnnotation] == "" {
			delete(p.own, key)
			continue
		}
		why, reason := p.forbids(stack), v1alpha1.ReasonNamespaceNotGranted
		if why == "" && foreign[key] {
			reason = v1alpha1.ReasonStackNotOwned
			why = fmt.Sprintf("not of this StackSet; kubectl label --overwrite stack -n %s NAME %s=%s %s=%s has it "+
				"take a Stack over",
				stack.Namespace, v1alpha1.StackSetLabel, p.Set.Name, v1alpha1.StackSetNamespaceLabel, p.Set.Namespace)
		}
		if why == "" {
			continue
		}
		if p.want[key] == nil && !slices.Contains(p.Set.Spec.Namespaces, stack.Namespace) {
			reason = ""
		}
		i := slices.IndexFunc(p.withheld, func(w withheld) bool { return w.why == why && w.reason == reason })
		if i < 0 {
			i, p.withheld = len(p.withheld), append(p.withheld, withheld{reason: reason, why: why})
		}
		p.withheld[i].keys = append(p.withheld[i].keys, key)
		delete(p.own, key)
		delete(p.want, key)
	}
	p.unwritten = generated - len(p.want)
	p.owned, p.wanted = slices.Sorted(maps.Keys(p.own)), slices.Sorted(maps.Keys(p.want))
	return false
}

// forbids returns why the StackSet must not write a Stack; empty if it may.
func (p *plan) forbids(stack types.NamespacedName) string {
	switch {
	case stack.Namespace == p.Set.Namespace:
		return ""
	case !slices.Contains(p.Set.Spec.Namespaces, stack.Namespace):
		return fmt.Sprintf("spec.namespaces does not have %s any more", stack.Namespace)
	case slices.Contains(p.Unwatched, stack.Namespace):
		return fmt.Sprintf("the operator of this StackSet does not watch namespace %s", stack.Namespace)
	case !Permits(p.Set, p.Grants, stack):
		return fmt.Sprintf("no StackGrant in namespace %[1]s allows StackSets of namespace %[2]s to write it; create "+
			"one there with spec.from: [{kind: %[3]s, namespace: %[2]s}]", stack.Namespace, p.Set.Namespace,
			v1alpha1.GrantStackSet)
	}
	return ""
}

// reportWithheld describes the Stacks that are not written; empty for none.
func (p *plan) reportWithheld() string {
	var all []string
	for _, w := range p.withheld {
		all = append(all, fmt.Sprintf("%s not written: %s", names(w.keys), w.why))
	}
	return strings.Join(all, "; ")
}

// withholding returns the reason why Stacks that the StackSet has to write are not written; empty for none.
func (p *plan) withholding() string {
	for _, w := range p.withheld {
		if w.reason != "" {
			return w.reason
		}
	}
	return ""
}

// also appends what is not written to a message.
func (p *plan) also(message string) string {
	if len(p.withheld) == 0 {
		return message
	}
	return message + "; " + p.reportWithheld()
}
