package decision

import (
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for a Run of a Stack with spec.runner.build: the image comes before the first attempt that needs it, in an
// attempt of its own. What is known of the image is in the Run's status from then on, and all its attempts run in that
// one.
//
//	Queued ─┬─ an image of this key is known ─────────► Plan, or Shell
//	        └─ none is ─► Build ─┬─► built ───────────────┘
//	                             └─► failed: as with a plan that fails

// startIn begins an attempt in a new pod, after the image that it runs in is there.
func startIn(w Snapshot, phase v1alpha1.AttemptPhase) Decision {
	if w.ImageKey == "" {
		return start(w, phase)
	}
	// a view of the Stack from before this Run may lack its image
	if runinfo.Number(w.Stack.Status.LastRun) < runinfo.Number(w.Run.Name) {
		return Decision{RequeueAfter: time.Second}
	}
	if image := knownImage(w); image != nil {
		d := start(w, phase)
		d.Image = image
		return d
	}
	d := start(w, v1alpha1.AttemptBuild)
	d.Image = &v1alpha1.BuiltImage{Key: w.ImageKey, Run: w.Run.Name}
	return d
}

// knownImage is the image of the Run's key; nil when it has to be built.
func knownImage(w Snapshot) *v1alpha1.BuiltImage {
	if isLostImage(w) {
		return nil
	}
	for _, image := range []*v1alpha1.BuiltImage{w.Run.Status.Image, w.Stack.Status.Image,
		w.Stack.Status.AppliedImage} {
		if image != nil && image.Digest != "" && image.Key == w.ImageKey {
			return image
		}
	}
	return nil
}

// isLostImage reports whether the last attempt could not start for an image that another Run built: its registry may
// have deleted it. One that this Run built is there, and is not built again for want of a permission to pull it.
func isLostImage(w Snapshot) bool {
	a, image := runinfo.Current(&w.Run.Status), w.Run.Status.Image
	if a == nil || a.Failure == nil || len(a.Steps) > 0 || image == nil || image.Digest == "" ||
		a.Failure.Reason != v1alpha1.FailureImagePullFailed {
		return false
	}
	return !slices.ContainsFunc(w.Run.Status.Attempts, func(b v1alpha1.Attempt) bool {
		return b.Phase == v1alpha1.AttemptBuild
	})
}

// imageIsBuilt continues with the attempt that the image was built for.
func imageIsBuilt(w Snapshot) (Decision, bool) {
	a := runinfo.Current(&w.Run.Status)
	if a == nil || a.Phase != v1alpha1.AttemptBuild {
		return Decision{}, false
	}
	if runinfo.IsShell(w.Run) {
		return start(w, v1alpha1.AttemptShell), true
	}
	return start(w, v1alpha1.AttemptPlan), true
}

// changesNothing reports whether an attempt neither holds the state nor changes anything: it plans, or builds an image.
func changesNothing(a *v1alpha1.Attempt) bool {
	return a.Phase == v1alpha1.AttemptPlan || a.Phase == v1alpha1.AttemptBuild
}
