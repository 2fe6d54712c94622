package run

import (
	"context"

	"cairn.dev/cairn/api/v1alpha1"
)

// imageKey names the image that a Run has to run in; empty when it builds none. Without the document of its inputs that
// cannot be known, and the creation of the pod reports that. The Stack may not have the image of a destroy: it was
// recreated since.
func (r *Reconciler) imageKey(ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack) (string, error) {
	if run.Spec.Operation != v1alpha1.OperationDestroy && stack.Spec.Runner.Build == nil && stack.Status.Image == nil &&
		stack.Status.AppliedImage == nil && run.Status.Image == nil {
		return "", nil // so that most Runs read nothing from the bucket
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
