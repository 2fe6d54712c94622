package state

import (
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
)

// Lean leaves out of a State what nothing is decided on, for a cache that has ten thousand of them: all versions but the one that was
// written last. Whoever writes a State, or shows it to people, reads it itself.
func Lean(st *v1alpha1.State) {
	if len(st.Status.Versions) < 2 {
		return
	}
	last := slices.MaxFunc(st.Status.Versions, func(a, b v1alpha1.StateVersion) int { return a.At.Compare(b.At.Time) })
	st.Status.Versions = []v1alpha1.StateVersion{last}
}
