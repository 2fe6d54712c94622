package state

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Orphan marks a State whose Stack goes and leaves it. The mark is what lets a person delete it; it goes when a Stack of
// that name writes to it again.
func (s *Store) Orphan(ctx context.Context, key types.NamespacedName) error {
	st, err := s.get(ctx, key)
	if err != nil || st.ResourceVersion == "" {
		return err
	}
	if ends(st.Status) { // there is nothing to leave any more
		return s.takeAway(ctx, key)
	}
	if st.DeletionTimestamp != nil {
		return fmt.Errorf("somebody deleted State %s, so it would go with the Stack that is to leave it: set spec.deletionPolicy to Destroy, or save it and remove its finalizer", key.Name)
	}
	before := st.DeepCopy()
	if st.Labels == nil {
		st.Labels = map[string]string{}
	}
	st.Labels[OrphanedLabel] = "true"
	return s.client.Patch(ctx, st, client.MergeFrom(before))
}
