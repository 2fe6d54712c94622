package run

import (
	"context"

	"cairn.dev/cairn/api/v1alpha1"
)

// imageKey names the image that a Run has to run in; empty when it builds none. Without the document of its inputs that cannot be
// known, and whoever makes the pod says so. What a destroy has to run in its Stack may not know: it was made anew since.
func (r *Reconciler) imageKey(ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack) (string, error) {
	if run.Spec.Operation != v1alpha1.OperationDestroy && stack.Spec.Runner.Build == nil && stack.Status.Image == nil && stack.Status.AppliedImage == nil && run.Status.Image == nil {
		return "", nil // so that most Runs need no look into the bucket
	}
	doc, err := r.Inputs.Get(ctx, run.Spec.InputsDigest)
	if isInputsLost(err) || (err == nil && doc.Build == nil) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return doc.Build.Key()
}
