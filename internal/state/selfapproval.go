package state

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// KeepSelfApproval changes the rule about self-approval that a State keeps to what next returns for the current one. It
// creates no State: one that was never applied protects nothing.
func (s *Store) KeepSelfApproval(
	ctx context.Context, key types.NamespacedName, next func(*v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval,
) error {
	return s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		rule := next(st.Status.SelfApproval)
		if st.ResourceVersion == "" || equality.Semantic.DeepEqual(rule, st.Status.SelfApproval) {
			return nil, nil
		}
		changed := st.Status.DeepCopy()
		changed.SelfApproval = rule
		return changed, nil
	})
}
