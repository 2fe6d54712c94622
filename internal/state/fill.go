package state

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// FillOutputs puts the fingerprints of the current version's outputs into a State that was written without, by a Cairn
// that knew of none. It is one write, also when there are no outputs; of a State that lacks none it is none. A Refusal
// says that the bytes are damaged.
func (s *Store) FillOutputs(ctx context.Context, key types.NamespacedName) error {
	data, st, err := s.read(ctx, key, current)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if !unread(st.Status) {
		return nil
	}
	d, err := document.Parse(data)
	if err != nil {
		return refuse(Damaged, "state %s: %v", key, err)
	}
	before := st.DeepCopy()
	st.Status.Outputs, st.Status.OutputsVersion = s.fingerprints(key, d.Outputs), st.Status.Version
	// No swap: that takes the mark of an orphan away, which this has to leave. Whoever was faster made an event.
	err = s.client.Patch(ctx, st, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("fingerprint the outputs of state %s: %w", key, err)
	}
	return nil
}

// unread says that nobody looked at the outputs of the current version yet. Those of a state that its engine encrypts
// nobody can. Fingerprints without the version that they are of are from the first Cairn that made any.
func unread(st v1alpha1.StateStatus) bool {
	return st.Resources != document.UnknownResources && st.Outputs == nil && st.OutputsVersion != st.Version
}
