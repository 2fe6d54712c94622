package approval

import (
	"strings"
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

func TestUsersWhoCausedARunMayNotApprove(t *testing.T) {
	run := &v1alpha1.Run{}
	run.Name, run.Spec.Stack.Name, run.Spec.PreventSelfApproval, run.Spec.Cause.By = "net-2", "net", true, "Dan"
	run.Spec.CausedBy = []v1alpha1.Contributor{
		{Kind: v1alpha1.ContributorSpec, Name: "alice"},
		{Kind: v1alpha1.ContributorAuthor, Name: "Carol Smith <carol@example.com>", Users: UsersOf("Carol Smith", "Carol@example.com")},
		{Kind: v1alpha1.ContributorCommitter, Name: "Eve <12+eve@users.example.com>", Users: UsersOf("", "12+eve@users.example.com")},
	}
	for user, want := range map[string]Status{
		"alice": SelfApproval, "Alice": Valid, "malice": Valid, "bob": Valid, "Dan": Valid,
		"carol": SelfApproval, "carol@example.com": SelfApproval, "CAROL@example.com": SelfApproval, "Carol Smith": SelfApproval,
		"oidc:carol@example.com": SelfApproval, "https://id.example.com#carol@example.com": SelfApproval, "eve": SelfApproval, "steve": Valid,
	} {
		if got := By(run, false, user); got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
		if why := Denial(run, false, user); (why == "") != (want == Valid) {
			t.Errorf("%s: %q", user, why)
		}
	}
	run.Spec.CausedByUnknown = "a commit is missing"
	if got, why := By(run, false, "bob"), Denial(run, false, "bob"); got != UnknownCause || !strings.Contains(why, "a commit is missing. Request a Run with cairn apply net") {
		t.Errorf("without a request: %s, %q", got, why)
	}
	run.Spec.CausedBy = append(run.Spec.CausedBy, v1alpha1.Contributor{Kind: v1alpha1.ContributorRequest, Name: "bob"})
	if got := By(run, false, "bob"); got != SelfApproval {
		t.Errorf("the user who requested it: %s", got)
	}
	if got := By(run, false, "rudi"); got != Valid {
		t.Errorf("another user than the one who requested it: %s", got)
	}
	run.Spec.PreventSelfApproval = false
	if got, ofStack := By(run, false, "alice"), By(run, true, "alice"); got != Valid || ofStack != SelfApproval {
		t.Errorf("without the rule: %s, and with that of the Stack: %s", got, ofStack)
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
