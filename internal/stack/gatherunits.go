package stack

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/closure"
	"cairn.dev/cairn/internal/inputs"
)

// gatherUnits finds the Stacks that run the units which a Stack's code depends on.
func (r *Reconciler) gatherUnits(
	ctx context.Context, stack *v1alpha1.Stack, repo *v1alpha1.Repository, code []closure.Dependency,
) ([]v1alpha1.Unit, error) {
	var units []v1alpha1.Unit
	for _, d := range code {
		unit := v1alpha1.Unit{Path: cmp.Or(d.Path, "."), Outputs: d.Outputs}
		var stacks v1alpha1.StackList
		err := r.Client.List(ctx, &stacks, client.InNamespace(stack.Namespace),
			client.MatchingFields{UnitIndex: unitKey(client.ObjectKeyFromObject(repo), unit.Path)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		unit.Stacks = runUnit(repo, stacks.Items, stack)
		units = append(units, unit)
	}
	return units, nil
}

// gatherUnitOutputs puts a fingerprint of the outputs of each unit that the code reads into the document.
func (r *Reconciler) gatherUnitOutputs(ctx context.Context, w *World, doc *inputs.Document) error {
	for _, unit := range w.Units {
		if !unit.Outputs {
			continue
		}
		for _, name := range unit.Stacks {
			state := &v1alpha1.State{}
			err := r.Client.Get(ctx, client.ObjectKey{Namespace: w.Stack.Namespace, Name: name}, state)
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			fingerprint := outputsFingerprint(state.Status)
			if fingerprint == "" {
				w.Problem = outputsUnread(name)
				return nil
			}
			doc.Versions[outputsKey(name)] = fingerprint
		}
	}
	return nil
}
