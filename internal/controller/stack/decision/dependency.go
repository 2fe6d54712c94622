package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
)

// Dependency is a Stack that has to be applied before this one is planned.
type Dependency struct {
	// Name is as in Stack.Dependencies.
	Name string
	// Waits is why Stacks that depend on it wait; empty when its last applied inputs are its current ones.
	Waits string
	// Missing reports that there is no Stack with this name.
	Missing bool
	// Hold is the pull request whose code it has; nil for none.
	Hold *v1alpha1.StackHold
	// Unwatched reports that no event may come when the wait ends: the dependency does not write its status then, or
	// the Stack depends on it only by others.
	Unwatched bool
}

// RequeueAfter is when to check again whether the wait ended; 0 if an event comes.
func (d Dependency) RequeueAfter() time.Duration {
	if d.Unwatched {
		return unwatchedRequeue
	}
	return 0
}

// unwatchedRequeue is when to check again whether a wait ended that may end without an event.
const unwatchedRequeue = 30 * time.Second

// Dependent is a Stack that names this one as a dependency, and may.
type Dependent struct {
	// Name is as in Stack.Dependencies.
	Name string
	// Deleting reports that it is being deleted.
	Deleting bool
	// Destroyed reports that nothing is left of it, because a user asked for that.
	Destroyed bool
	// Left is what a destroy that a user asked for has left of it; empty for nothing, and without such a destroy.
	Left string
	// Circular reports that it depends on this Stack too: then neither goes first.
	Circular bool
}

// NewDependent returns a Stack that names another one as a dependency, by its State; nil if it has none.
func NewDependent(stack *v1alpha1.Stack, state *v1alpha1.State) Dependent {
	d := Dependent{Name: stack.Name, Deleting: stack.DeletionTimestamp != nil}
	switch {
	case isEmpty(state, true):
		d.Destroyed = stack.Destroyed()
	case stack.Status.DestroyedByRun != "":
		d.Left = remainderOf(state, nil)
	}
	return d
}

// WaitReason is why Stacks that depend on this one wait. A Stack that drifted is still as Cairn applied it,
// so it does not hold up others.
func WaitReason(s *v1alpha1.Stack) string {
	ready := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case s.DeletionTimestamp != nil:
		return "it is being deleted"
	case ready == nil, s.Status.ObservedGeneration != s.Generation:
		return "it is not reconciled yet"
	case ready.Status == metav1.ConditionTrue, ready.Reason == v1alpha1.ReasonDrifted:
		return ""
	}
	return fmt.Sprintf("it is not Ready (%s)", ready.Reason) // its message changes often, and is in its own status
}

// Lookup returns a Stack that another one names as a dependency; nil when there is none, or when no StackGrant allows
// the dependency.
type Lookup func(by *v1alpha1.Stack, name types.NamespacedName) (*v1alpha1.Stack, error)

// DependencyPath returns a path of dependencies from a Stack to the named one, which may be itself; empty when there is
// none.
func DependencyPath(from *v1alpha1.Stack, to types.NamespacedName, lookup Lookup) ([]types.NamespacedName, error) {
	// A name can be found by one Stack and not by another one, to which it is not granted.
	type edge struct {
		namespace string
		to        types.NamespacedName
	}
	seen := map[edge]bool{}
	var walk func(s *v1alpha1.Stack, way []types.NamespacedName) ([]types.NamespacedName, error)
	walk = func(s *v1alpha1.Stack, way []types.NamespacedName) ([]types.NamespacedName, error) {
		for _, name := range s.Dependencies() {
			key := s.KeyOf(name)
			if seen[edge{s.Namespace, key}] {
				continue
			}
			seen[edge{s.Namespace, key}] = true
			next, err := lookup(s, key)
			if err != nil {
				return nil, err
			}
			if next == nil {
				continue
			}
			further := append(slices.Clone(way), key)
			if key == to {
				return further, nil
			}
			if found, err := walk(next, further); found != nil || err != nil {
				return found, err
			}
		}
		return nil, nil
	}
	return walk(from, []types.NamespacedName{{Namespace: from.Namespace, Name: from.Name}})
}

func dependsOnItself(w Snapshot) (Decision, bool) {
	if len(w.Cycle) == 0 || w.changeUnderWay() != nil {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonDependencyCycle, "the dependencies go in a circle: %s; take one of them out",
		strings.Join(w.Cycle, " -> "))
}

// changeAwaitsDependency: a Run is due, and a dependency is not as declared yet.
func changeAwaitsDependency(w Snapshot) (Decision, bool) {
	if !isDue(w) {
		return Decision{}, false
	}
	return dependencyGoesFirst(w)
}

// dependencyGoesFirst reports the first dependency that is not as declared yet.
func dependencyGoesFirst(w Snapshot) (Decision, bool) {
	for _, one := range w.Dependencies {
		if one.Missing {
			return Unready(v1alpha1.ReasonDependencyNotFound, "%s", MissingDependency(one.Name))
		}
		if one.Waits != "" {
			d, ok := progressing(v1alpha1.ReasonDependencyNotReady, "waits for Stack %s: %s", one.Name, one.Waits)
			d.RequeueAfter = one.RequeueAfter()
			return d, ok
		}
	}
	return upstreamIsHeld(w)
}

// NeedsDependencies reports that a Run is due or asked for, which dependencies may hold back.
func NeedsDependencies(w Snapshot) bool {
	_, asked := PendingRequest(w)
	return asked || isDue(w)
}

// MissingDependency is the message about a Stack that does not exist.
func MissingDependency(name string) string {
	return fmt.Sprintf("Stack %s, which this one depends on, is not found: create it, or remove the dependency", name)
}

// UngrantedDependency is the message about a Stack of another namespace that no StackGrant allows to depend on. It is
// the same whether that Stack exists or not.
func UngrantedDependency(namespace string, on types.NamespacedName) string {
	return fmt.Sprintf("no StackGrant in namespace %[1]s allows Stacks of namespace %[3]s to depend on Stack "+
		"%[1]s/%[2]s: create one there with spec {from: [{kind: Stack, namespace: %[3]s}], stacks: [%[2]s]}, or "+
		"remove the dependency",
		on.Namespace, on.Name, namespace)
}

// mostDependents is how many dependents a message names.
const mostDependents = 5

// dependentsGoFirst: what is built on this Stack is destroyed before it. Those that wait for a user are named first,
// all at once.
func dependentsGoFirst(w Snapshot) (Decision, bool) {
	var exist []string
	var left, deleting *Dependent
	for i := range w.Dependents {
		switch d := &w.Dependents[i]; {
		case d.Circular, d.Destroyed:
		case d.Deleting:
			deleting = cmp.Or(deleting, d)
		case d.Left != "":
			left = cmp.Or(left, d)
		default:
			exist = append(exist, d.Name)
		}
	}
	switch {
	case len(exist) == 1:
		return Unready(v1alpha1.ReasonDependentsExist, "Stack %s depends on this one: delete or destroy it too, "+
			"or take the dependency out of it", exist[0])
	case len(exist) > 1:
		return Unready(v1alpha1.ReasonDependentsExist, "Stacks %s depend on this one: delete or destroy them too, "+
			"or take the dependency out of them", shorten.List(exist, mostDependents))
	case left != nil:
		return Unready(v1alpha1.ReasonDependentsExist, "Stack %s depends on this one, and was destroyed, but %s: "+
			"delete or destroy it once more, or take the dependency out of it", left.Name, left.Left)
	case deleting != nil:
		return progressing(v1alpha1.ReasonDeleting, "waits for Stack %s to be destroyed first: it depends on "+
			"this one", deleting.Name)
	}
	return Decision{}, false
}

// OutputKey names an output among the versions of a document.
func OutputKey(stack, output string) string { return OutputsKey(stack) + "#" + output }

// OutputsKey names all outputs of a Stack among the versions of a document.
func OutputsKey(stack string) string { return "Stack/" + stack }

// outputOf is the inverse of outputKey and outputsKey. The output is empty for all of them.
func outputOf(key string) (stack, output string, ok bool) {
	rest, ok := strings.CutPrefix(key, "Stack/")
	stack, output, _ = strings.Cut(rest, "#")
	return stack, output, ok
}

// CodeUnits are the Terragrunt units that the code depends on. They stay known while the code cannot be read.
func (w Snapshot) CodeUnits() []v1alpha1.Unit {
	if w.CodeRead {
		return w.Units
	}
	return w.Stack.Status.Units
}
