package run

import (
	"errors"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
)

// inputsGone says that the document of a Run's inputs is not in the bucket as it was kept: it will not be there before a person
// does something, so the Run tells it. A bucket that is away is another matter, and passes.
func inputsGone(err error) bool {
	return errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrDamaged) || errors.Is(err, bucket.ErrWrongKey)
}

// goneInputs says which document is gone, and what to do.
func goneInputs(run *v1alpha1.Run, err error) string {
	otherwise := fmt.Sprintf("cancel this Run (cairn cancel %s) and ask for another with cairn apply", run.Name)
	if run.Spec.Operation == v1alpha1.OperationDestroy {
		otherwise = "set spec.deletionPolicy of the Stack to Orphan to leave everything as it is"
	}
	return fmt.Sprintf("what the Run was made for cannot be read from the bucket: %v. Restore the bucket from its backup, or %s", err, otherwise)
}

// withoutInputs is the status of a Run whose next pod cannot be made without them. They are looked for again after a while, since
// nothing tells when they are back.
func withoutInputs(w World, s v1alpha1.RunStatus, why error) (v1alpha1.RunStatus, Decision) {
	d := Decision{Phase: s.Phase, Reason: v1alpha1.ReasonInputsNotFound, Message: goneInputs(w.Run, why), RequeueAfter: askAgain(w)}
	if d.Phase == "" {
		d.Phase = v1alpha1.PhaseQueued
	}
	return enact(s, d, w.Run.Generation, attemptPod{}, w.Now), d
}
