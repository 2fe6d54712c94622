package state

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// Output returns an output of the current version of a Stack's state, and its fingerprint in that version: a new
// one would differ if the key was lost since. It is empty for an output that exceeds the limits. ErrNone: there is
// no such output or no state. A Rejection: the state is unreadable. Any other error is transient, as until
// FillOutputs has run.
func (s *Store) Output(ctx context.Context, key types.NamespacedName, name string) (document.Output, string, error) {
	data, st, err := s.read(ctx, key, decision.Current)
	if err != nil {
		return document.Output{}, "", err
	}
	d, err := document.Parse(data)
	if err != nil {
		return document.Output{}, "", decision.Reject(decision.Damaged, "state %s: %v", key, err)
	}
	if d.Resources == document.Unknown {
		return document.Output{}, "", decision.Reject(decision.Opaque, "the state of Stack %s is encrypted by its "+
			"engine, or of a format that Cairn does not know: its outputs cannot be passed on", key.Name)
	}
	o, ok := d.Outputs[name]
	switch {
	case !ok:
		return document.Output{}, "", ErrNone
	case lacksFingerprints(st.Status):
		return document.Output{}, "", fmt.Errorf("state %s: the outputs of version %d have no fingerprints yet",
			key, st.Status.Version)
	}
	return o, st.Status.Outputs[name], nil
}

// FillOutputs adds the fingerprints of the current version's outputs to a State that an earlier version of Cairn
// wrote without them. It is one write, also when there are no outputs, and none for a State that has them. A
// Rejection: the bytes are damaged.
func (s *Store) FillOutputs(ctx context.Context, key types.NamespacedName) error {
	data, st, err := s.read(ctx, key, decision.Current)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if !lacksFingerprints(st.Status) {
		return nil
	}
	d, err := document.Parse(data)
	if err != nil {
		return decision.Reject(decision.Damaged, "state %s: %v", key, err)
	}
	before := st.DeepCopy()
	st.Status.Outputs, st.Status.OutputsVersion = s.fence.Fingerprints(key, d.Outputs), st.Status.Version
	// No swap: that removes the mark of an orphan, which has to stay. A conflicting write caused an event.
	err = s.fence.Client.Patch(ctx, st, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("fingerprint the outputs of state %s: %w", key, err)
	}
	return nil
}

// lacksFingerprints reports whether the outputs of the current version were never read. Those of a state that its
// engine encrypts cannot be read. Fingerprints without their version are from the first Cairn that had
// fingerprints.
func lacksFingerprints(st v1alpha1.StateStatus) bool {
	return st.Resources != document.Unknown && st.Outputs == nil && st.OutputsVersion != st.Version
}
