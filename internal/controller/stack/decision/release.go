package decision

import "cairn.dev/cairn/api/v1alpha1"

// A Stack that a stage of a Pipeline selects has the code of the release of the stage. If none selects it any more, its
// status keeps the release until other inputs are applied: a deleted Pipeline must not apply the branch by itself.

const (
	// mostAfterHold is how long the name of a stage in spec.afterHold of a Run may be.
	mostAfterHold = 200
	leftText      = ", which does not select the Stack any more"
)

// knownRelease is the release that the status has with the inputs of the snapshot.
func knownRelease(w Snapshot) *v1alpha1.StackRelease {
	if w.Release != nil {
		return w.Release
	}
	return leftRelease(w)
}

// leftRelease is the release of a stage that does not select the Stack any more, until what the Stack has now is
// applied.
func leftRelease(w Snapshot) *v1alpha1.StackRelease {
	if w.Release != nil || w.Problem == nil && w.Digest != "" && appliedInputs(w) == w.Digest {
		return nil
	}
	return w.Stack.Status.Release
}
