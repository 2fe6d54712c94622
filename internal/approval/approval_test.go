package approval

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		approval       *v1alpha1.Approval
		plan           *v1alpha1.Plan
		ofRun, ofStack bool
		want           Status
	}{
		"without an approval":                      {nil, &v1alpha1.Plan{Digest: "a"}, false, false, None},
		"another plan was approved":                {&v1alpha1.Approval{PlanDigest: "b", By: "bob"}, &v1alpha1.Plan{Digest: "a"}, false, false, OtherPlan},
		"there is no plan":                         {&v1alpha1.Approval{PlanDigest: "a", By: "bob"}, nil, false, false, OtherPlan},
		"another user approved":                    {&v1alpha1.Approval{PlanDigest: "a", By: "bob"}, &v1alpha1.Plan{Digest: "a"}, true, true, Valid},
		"the same user approved":                   {&v1alpha1.Approval{PlanDigest: "a", By: "alice"}, &v1alpha1.Plan{Digest: "a"}, false, false, Valid},
		"the same user, and the Run prevents it":   {&v1alpha1.Approval{PlanDigest: "a", By: "alice"}, &v1alpha1.Plan{Digest: "a"}, true, false, SelfApproval},
		"the same user, and the Stack prevents it": {&v1alpha1.Approval{PlanDigest: "a", By: "alice"}, &v1alpha1.Plan{Digest: "a"}, false, true, SelfApproval},
	} {
		run := &v1alpha1.Run{}
		run.Spec.Cause.By, run.Spec.Approval, run.Spec.PreventSelfApproval, run.Status.Plan = "alice", test.approval, test.ofRun, test.plan
		if got := Of(run, test.ofStack); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestUserWhoRemovedTheRuleMayNotApprove(t *testing.T) {
	for name, test := range map[string]struct {
		by, removedBy string
		want          Status
	}{
		"the user who removed the rule":      {"carol", "carol", SelfApproval},
		"the user who caused the Run":        {"alice", "carol", SelfApproval},
		"a third user":                       {"bob", "carol", Valid},
		"the user who removed it is unknown": {"bob", "", Valid},
	} {
		run := &v1alpha1.Run{}
		run.Spec.Cause.By, run.Spec.PreventSelfApproval, run.Spec.SelfApprovalRemovedBy = "alice", true, test.removedBy
		run.Spec.Approval, run.Status.Plan = &v1alpha1.Approval{PlanDigest: "a", By: test.by}, &v1alpha1.Plan{Digest: "a"}
		if got := Of(run, false); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestPending(t *testing.T) {
	run := &v1alpha1.Run{}
	run.Status.Phase = v1alpha1.PhaseAwaitingApproval
	if Pending(run) {
		t.Error("without a plan")
	}
	run.Status.Plan = &v1alpha1.Plan{}
	if !Pending(run) {
		t.Error("not with a plan")
	}
	run.Status.Phase = v1alpha1.PhaseApplying
	if Pending(run) {
		t.Error("of a plan that is being applied")
	}
}
