package approval

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// sameShape returns facts of which an approval counts: bob approved in staging what production is to apply.
func sameShape() SameShape {
	carried := carriedApproval()
	run, plan := carried.Run, carried.Run.Status.Plan
	plan.Shape = "s"
	approved := run.DeepCopy()
	approved.Name, approved.Status.Phase = "net-staging-7", v1alpha1.PhaseSucceeded
	approved.Status.Plan.Digest, approved.Status.Plan.Fingerprint = "sha256:a", "other values"
	approved.Spec.Approval = &v1alpha1.Approval{PlanDigest: "sha256:a", By: "bob"}
	return SameShape{Run: run, OfRelease: true, Completed: true, OnlyCode: true, Approved: approved}
}

func TestApprovalOfTheStageBeforeCountsForTheSameShapeOnly(t *testing.T) {
	waits := func(change func(*v1alpha1.Run)) func(*SameShape) { return func(c *SameShape) { change(c.Run) } }
	approved := func(change func(*v1alpha1.Run)) func(*SameShape) { return func(c *SameShape) { change(c.Approved) } }
	for name, test := range map[string]struct {
		change func(*SameShape)
		want   string
	}{
		"the plan changes the same": {func(*SameShape) {}, ""},
		"with preventSelfApproval":  {func(c *SameShape) { c.PreventSelfApproval = true }, ""},
		"the Run waits for nothing": {waits(func(r *v1alpha1.Run) {
			r.Status.Phase = v1alpha1.PhaseApplying
		}), "waits for no approval"},
		"a destroy": {waits(func(r *v1alpha1.Run) {
			r.Spec.Operation = v1alpha1.OperationDestroy
		}), "waits for no approval"},
		"no plan":                      {waits(func(r *v1alpha1.Run) { r.Status.Plan = nil }), "waits for no approval"},
		"another release":              {func(c *SameShape) { c.OfRelease = false }, "does not have the release"},
		"a rollback":                   {func(c *SameShape) { c.Held = true }, "promoted an earlier release"},
		"the stage before is not done": {func(c *SameShape) { c.Completed = false }, "has not completed"},
		"a request of a user": {waits(func(r *v1alpha1.Run) {
			r.Spec.Cause.Type = v1alpha1.CauseManual
		}), "other causes"},
		"a change of the Stack": {waits(func(r *v1alpha1.Run) {
			r.Spec.CausedBy = append(r.Spec.CausedBy, v1alpha1.Contributor{Kind: v1alpha1.ContributorSpec, Name: "eve"})
		}), "other causes"},
		"a change of values": {func(c *SameShape) { c.OnlyCode = false }, "other causes"},
		"after a hold": {waits(func(r *v1alpha1.Run) {
			r.Spec.AfterHold = "pull request 1"
		}), "of its own"},
		"a partial Run": {waits(func(r *v1alpha1.Run) {
			r.Spec.PlanOptions = &v1alpha1.PlanOptions{}
		}), "of its own"},
		"after a partial Run":  {waits(func(r *v1alpha1.Run) { r.Spec.AfterPartial = "net-1" }), "of its own"},
		"a deletion":           {waits(func(r *v1alpha1.Run) { r.Status.Plan.Destroy = 1 }), "deletes, replaces"},
		"a replacement":        {waits(func(r *v1alpha1.Run) { r.Status.Plan.Replace = 1 }), "deletes, replaces"},
		"a forgotten resource": {waits(func(r *v1alpha1.Run) { r.Status.Plan.Forget = 1 }), "deletes, replaces"},
		"no Run is known":      {func(c *SameShape) { c.Approved = nil }, "no Run of the stage before"},
		"no Stack corresponds": {func(c *SameShape) { c.Approved, c.Unknown = nil, "2 Stacks" }, "2 Stacks"},
		"no user approved":     {approved(func(r *v1alpha1.Run) { r.Spec.Approval = nil }), "no user approved"},
		"a user approved other plan": {approved(func(r *v1alpha1.Run) {
			r.Spec.Approval.PlanDigest = "sha256:c"
		}), "no user approved"},
		"the approval was carried": {approved(func(r *v1alpha1.Run) {
			r.Spec.Approval = nil
			r.Status.CarriedApproval = &v1alpha1.CarriedApproval{PlanDigest: "sha256:a", By: "bob"}
		}), "no user approved"},
		"its apply failed": {approved(func(r *v1alpha1.Run) {
			r.Status.Phase = v1alpha1.PhaseFailed
		}), "no user approved"},
		"the user could not approve": {func(c *SameShape) {
			c.ApprovedPrevents, c.Approved.Spec.Approval.By = true, "alice"
		}, "no user approved"},
		"another shape": {waits(func(r *v1alpha1.Run) { r.Status.Plan.Shape = "t" }),
			"does not change the same"},
		"no shape": {func(c *SameShape) {
			c.Run.Status.Plan.Shape, c.Approved.Status.Plan.Shape = "", ""
		}, "cannot compare"},
		"an unverified plan": {waits(func(r *v1alpha1.Run) {
			r.Status.Plan.Unverified = "encrypted"
		}), "cannot compare"},
		"a partial plan": {waits(func(r *v1alpha1.Run) {
			r.Status.Plan.Partial = "targets"
		}), "cannot compare"},
		"the approved one is partial": {approved(func(r *v1alpha1.Run) {
			r.Status.Plan.Partial = "targets"
		}), "cannot compare"},
		"a plan of Terragrunt": {func(c *SameShape) {
			c.Run.Status.Plan.Wrapped = &v1alpha1.WrappedEngine{Name: "tofu", Version: "1.12.6"}
			c.Approved.Status.Plan.Wrapped = c.Run.Status.Plan.Wrapped
		}, "cannot compare"},
		"another version of the engine": {waits(func(r *v1alpha1.Run) {
			r.Status.Plan.EngineVersion = "1.13.0"
		}), "version of the engine"},
		"another result of policies": {waits(func(r *v1alpha1.Run) {
			r.Status.Plan.Policy.ApprovalRequired = 1
		}), "the policies"},
		"by the author": {func(c *SameShape) {
			c.PreventSelfApproval, c.Run.Spec.CausedBy[0].Users = true, []string{"bob"}
		}, "bob caused the Run"},
		"not all who caused it are known": {func(c *SameShape) {
			c.PreventSelfApproval, c.Run.Spec.CausedByUnknown = true, "a commit"
		}, "not all users"},
		"by the user who removed the rule": {waits(func(r *v1alpha1.Run) {
			r.Spec.SelfApprovalRemovedBy = "bob"
		}), "bob caused the Run"},
	} {
		c := sameShape()
		test.change(&c)
		if got := c.Refusal(); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
