package state

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
)

// Lean leaves out of a State what nothing is decided on, for a cache that has ten thousand of them: what it says of its bytes, all versions but
// the one that was written last, of which its number, its time and the user who wrote it stay, and what Kubernetes keeps beside its name. Whoever writes a State, or
// shows it to people, reads it itself.
func Lean(st *v1alpha1.State) {
	st.Labels, st.Annotations, st.OwnerReferences, st.Finalizers = nil, nil, nil, nil
	st.Status.Lineage, st.Status.SHA256 = "", ""
	if len(st.Status.Versions) == 0 {
		return
	}
	last := slices.MaxFunc(st.Status.Versions, func(a, b v1alpha1.StateVersion) int { return a.At.Compare(b.At.Time) })
	st.Status.Versions = []v1alpha1.StateVersion{{Version: last.Version, By: last.By, At: last.At}}
}
