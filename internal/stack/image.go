package stack

import "cairn.dev/cairn/api/v1alpha1"

// builtImage is the newest image that was built for the Stack. A Run tells it at its end, when the status is written anyway.
func builtImage(w World) *v1alpha1.BuiltImage {
	last := w.last()
	if last == nil || w.active() != nil || last.Status.Image == nil || last.Status.Image.Digest == "" {
		return w.Stack.Status.Image
	}
	return last.Status.Image
}

// appliedImage is the image that what is there was applied with.
func appliedImage(w World) *v1alpha1.BuiltImage {
	last := w.last()
	switch {
	case last == nil || w.active() != nil || w.forgotten() || w.told(last) || w.looks(last) || last.Status.Phase != v1alpha1.PhaseSucceeded,
		last.Spec.Operation == v1alpha1.OperationPlan && last.Status.Plan.Changes:
		return w.Stack.Status.AppliedImage
	case last.Spec.Operation == v1alpha1.OperationDestroy:
		return nil
	}
	return last.Status.Image
}
