package telemetry

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
)

// WriteStatus writes the status of a Run, under an optimistic lock, and records it. The audit line of a Run that ends
// is written first: a finished Run can be deleted, and with it what it has of its users. So a line may be written
// twice, and the last one counts. Reads do not wait for the end of a Run to reach the cache: one without finished Runs
// never receives it.
func (w *Recorder) WriteStatus(ctx context.Context, c client.StatusClient, before, run *v1alpha1.Run) error {
	w.audit(before, run)
	var how []client.SubResourcePatchOption
	if run.Status.Phase.Finished() {
		how = append(how, client.DisableReadYourWritesConsistency)
	}
	err := c.Status().Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), how...)
	if err == nil {
		w.Record(ctx, &before.Status, run)
	}
	return err
}

// audit logs who requested, approved, rejected and canceled a Run that ends, and what it applied. Texts of users and
// engines are left out, as in all lines.
func (w *Recorder) audit(before, run *v1alpha1.Run) {
	if w == nil || !ends(&before.Status, &run.Status) {
		return
	}
	line := []any{
		"namespace", run.Namespace, "stack", run.Spec.Stack.Name, "run", run.Name, "uid", run.UID,
		"operation", run.Spec.Operation, "cause", run.Spec.Cause.Type, "by", run.Spec.Cause.By, "causedBy",
		causedBy(run),
		"inputsDigest", run.Spec.InputsDigest, "revision", run.Spec.Revision, "canceledBy", run.Spec.CanceledBy,
		"preventSelfApproval", run.Spec.PreventSelfApproval, "selfApprovalRemovedBy", run.Spec.SelfApprovalRemovedBy,
		"phase", run.Status.Phase, "applied", applied(&run.Status),
		"createdAt", run.CreationTimestamp.UTC(), "finishedAt", run.Status.FinishedAt.UTC(),
	}
	if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		line = append(line, "reason", c.Reason)
	}
	if p := run.Status.Plan; p != nil {
		line = append(line, "planDigest", p.Digest, "add", p.Add, "change", p.Change, "destroy", p.Destroy,
			"replace", p.Replace)
	}
	if a := approval.Given(run); a != nil {
		line = append(line, "approvedBy", a.By, "approvedPlan", a.PlanDigest)
	}
	if c := run.Status.CarriedApproval; c != nil {
		from := c.Text()
		if pull := c.PullRequest; pull != nil {
			from = pull.Namespace + "/" + pull.Name
		}
		line = append(line, "carriedFrom", from)
	}
	if r := run.Spec.Rejection; r != nil {
		line = append(line, "rejectedBy", r.By, "rejectedPlan", r.PlanDigest)
	}
	w.Log.Info("audit: run finished", line...)
}

// causedBy are all users who caused a Run, each with what they did.
func causedBy(run *v1alpha1.Run) []string {
	users := []string{}
	for _, c := range run.Spec.CausedBy {
		users = append(users, string(c.Kind)+" "+c.Name)
	}
	return users
}

// applied reports whether an apply began.
func applied(s *v1alpha1.RunStatus) bool {
	for _, a := range s.Attempts {
		if a.Phase == v1alpha1.AttemptApply {
			return true
		}
	}
	return false
}
