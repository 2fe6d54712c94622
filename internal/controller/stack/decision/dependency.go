package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
)

// Dependency is a Stack that has to be applied before this one is planned.
type Dependency struct {
	Name string
	// Waits is why Stacks that depend on it wait; empty when its last applied inputs are its current ones.
	Waits string
	// Missing reports that there is no Stack with this name.
	Missing bool
	// Unwatched reports that no event may come when the wait ends: the dependency does not write its status then, or the
	// Stack depends on it only by others.
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

// Dependent is a Stack that names this one as a dependency.
type Dependent struct {
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

// DependencyPath returns a path of dependencies from a Stack to the named one, which may be itself; empty when there is
// none. lookup returns a Stack by name, nil when there is none.
func DependencyPath(
	from *v1alpha1.Stack, to string, lookup func(name string) (*v1alpha1.Stack, error),
) ([]string, error) {
	seen := map[string]bool{}
	var walk func(s *v1alpha1.Stack, way []string) ([]string, error)
	walk = func(s *v1alpha1.Stack, way []string) ([]string, error) {
		for _, name := range s.Dependencies() {
			if name == to {
				return append(way, name), nil
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			next, err := lookup(name)
			if err != nil {
				return nil, err
			}
			if next == nil {
				continue
			}
			if found, err := walk(next, append(slices.Clone(way), name)); found != nil || err != nil {
				return found, err
			}
		}
		return nil, nil
	}
	return walk(from, []string{from.Name})
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
	return Decision{}, false
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

// dependentsGoFirst: what is built on this Stack is destroyed before it.
func dependentsGoFirst(w Snapshot) (Decision, bool) {
	for _, d := range w.Dependents {
		switch {
		case d.Circular, d.Destroyed:
		case d.Deleting:
			return progressing(v1alpha1.ReasonDeleting, "waits for Stack %s to be destroyed first: it depends on "+
				"this one", d.Name)
		case d.Left != "":
			return Unready(v1alpha1.ReasonDependentsExist, "Stack %s depends on this one, and was destroyed, but %s: "+
				"delete or destroy it once more, or take the dependency out of it", d.Name, d.Left)
		default:
			return Unready(v1alpha1.ReasonDependentsExist, "Stack %s depends on this one: delete or destroy it too, "+
				"or take the dependency out of it", d.Name)
		}
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
