package stack

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
)

// DependencyIndex is the field by which the cache finds the Stacks that depend on another one.
const DependencyIndex = "cairn.dev/dependencies"

// IndexDependencies gives the values of DependencyIndex.
func IndexDependencies(o client.Object) []string { return Dependencies(o.(*v1alpha1.Stack)) }

func (r *Reconciler) gatherDependencies(ctx context.Context, w *World) error {
	self := *w.Stack // as its code is now, which its status may not say yet
	self.Status.Units = w.units()
	names := Dependencies(&self)
	if len(names) == 0 {
		return nil
	}
	lookup := r.lookup(ctx, w.Stack.Namespace)
	for _, name := range names {
		other, err := lookup(name)
		switch {
		case err != nil:
			return err
		case other == nil:
			w.Dependencies = append(w.Dependencies, Dependency{Name: name, Waits: "it is not there"})
		default:
			waits, err := r.waitsFor(ctx, other)
			if err != nil {
				return err
			}
			w.Dependencies = append(w.Dependencies, Dependency{Name: name, Waits: waits})
		}
	}
	var failed error
	w.Cycle = cycle(&self, func(name string) *v1alpha1.Stack {
		other, err := lookup(name)
		if err != nil {
			failed = err
		}
		return other
	})
	return failed
}

// waitsFor says why a dependency has to be waited for. What its status says may be from before something that changed for
// both: then it is about to be looked at.
func (r *Reconciler) waitsFor(ctx context.Context, other *v1alpha1.Stack) (string, error) {
	if waits := waitsFor(other); waits != "" {
		return waits, nil
	}
	now := World{Stack: other}
	if err := r.gatherInputs(ctx, &now); err != nil {
		return "", err
	}
	if now.Problem != nil || now.Digest != other.Status.InputsDigest {
		return "what it reads has changed", nil
	}
	return "", nil
}

// lookup finds Stacks of a namespace by name; nil for one that is not there.
func (r *Reconciler) lookup(ctx context.Context, namespace string) func(string) (*v1alpha1.Stack, error) {
	return func(name string) (*v1alpha1.Stack, error) {
		other := &v1alpha1.Stack{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, other)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return other, err
	}
}

// gatherDependents finds the Stacks that have to be destroyed before this one.
func (r *Reconciler) gatherDependents(ctx context.Context, w *World) error {
	var stacks v1alpha1.StackList
	err := r.Client.List(ctx, &stacks, client.InNamespace(w.Stack.Namespace), client.MatchingFields{DependencyIndex: w.Stack.Name})
	if err != nil {
		return err
	}
	lookup := r.lookup(ctx, w.Stack.Namespace)
	for i := range stacks.Items {
		other := &stacks.Items[i]
		circular := reaches(w.Stack, other.Name, func(name string) *v1alpha1.Stack {
			next, lost := lookup(name)
			if lost != nil {
				err = lost
			}
			return next
		})
		if err != nil {
			return err
		}
		w.Dependents = append(w.Dependents, Dependent{Name: other.Name, Deleting: other.DeletionTimestamp != nil, Destroyed: other.Status.DestroyedByRun != "" && other.Status.CurrentRun == "", Circular: circular})
	}
	return nil
}

// gatherUsedOutputs puts the fingerprints of the outputs that variables use into the document: the values are not seen
// here.
func (r *Reconciler) gatherUsedOutputs(ctx context.Context, w *World, doc *inputs.Document) error {
	for _, v := range w.Stack.Spec.Variables {
		if v.ValueFrom == nil || v.ValueFrom.Stack == nil {
			continue
		}
		ref := v.ValueFrom.Stack
		state := &v1alpha1.State{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: w.Stack.Namespace, Name: ref.Name}, state)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		fingerprint, ok := state.Status.Outputs[ref.Output]
		if !ok {
			w.Problem = outputProblem(w, ref, state.Status)
			return nil
		}
		doc.Versions[outputKey(ref.Name, ref.Output)] = fingerprint
	}
	return r.gatherUnitOutputs(ctx, w, doc)
}
