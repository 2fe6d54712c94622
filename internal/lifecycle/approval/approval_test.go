package approval

import (
	"reflect"
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
		"without an approval": {nil, &v1alpha1.Plan{Digest: "a"}, false, false, None},
		"another plan was approved": {&v1alpha1.Approval{PlanDigest: "b", By: "bob"},
			&v1alpha1.Plan{Digest: "a"}, false, false, OtherPlan},
		"there is no plan": {&v1alpha1.Approval{PlanDigest: "a", By: "bob"}, nil, false, false,
			OtherPlan},
		"another user approved": {&v1alpha1.Approval{PlanDigest: "a", By: "bob"},
			&v1alpha1.Plan{Digest: "a"}, true, true, Valid},
		"the same user approved": {&v1alpha1.Approval{PlanDigest: "a", By: "alice"},
			&v1alpha1.Plan{Digest: "a"}, false, false, Valid},
		"the same user, and the Run prevents it": {&v1alpha1.Approval{PlanDigest: "a", By: "alice"},
			&v1alpha1.Plan{Digest: "a"}, true, false, SelfApproval},
		"the same user, and the Stack prevents it": {&v1alpha1.Approval{PlanDigest: "a", By: "alice"},
			&v1alpha1.Plan{Digest: "a"}, false, true, SelfApproval},
	} {
		run := &v1alpha1.Run{}
		run.Spec.Cause.By, run.Spec.Approval, run.Spec.PreventSelfApproval, run.Status.Plan = "alice", test.approval,
			test.ofRun, test.plan
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
		run.Spec.Approval, run.Status.Plan = &v1alpha1.Approval{PlanDigest: "a", By: test.by},
			&v1alpha1.Plan{Digest: "a"}
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
		{Kind: v1alpha1.ContributorAuthor, Name: "Carol Smith <carol@example.com>",
			Users: UsersOf("Carol Smith", "Carol@example.com")},
		{Kind: v1alpha1.ContributorCommitter, Name: "Eve <12+eve@users.example.com>",
			Users: UsersOf("", "12+eve@users.example.com")},
	}
	for user, want := range map[string]Status{
		"alice": SelfApproval, "Alice": Valid, "malice": Valid, "bob": Valid, "Dan": Valid,
		"carol": SelfApproval, "carol@example.com": SelfApproval, "CAROL@example.com": SelfApproval,
		"Carol Smith":            SelfApproval,
		"oidc:carol@example.com": SelfApproval, "https://id.example.com#carol@example.com": SelfApproval,
		"eve": SelfApproval, "steve": Valid,
	} {
		if got := By(run, false, user); got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
		if why := Denial(run, false, user); (why == "") != (want == Valid) {
			t.Errorf("%s: %q", user, why)
		}
	}
	run.Spec.CausedByUnknown = "a commit is missing"
	if got, why := By(run, false, "bob"), Denial(run, false, "bob"); got != UnknownCause ||
		!strings.Contains(why, "a commit is missing. Request a Run with cairn apply net") {
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

func TestPublishedApproval(t *testing.T) {
	causedBy := func(names ...string) func(*v1alpha1.Run) {
		return func(run *v1alpha1.Run) {
			for _, name := range names {
				run.Spec.CausedBy = append(run.Spec.CausedBy, v1alpha1.Contributor{Kind: v1alpha1.ContributorAuthor,
					Name: name})
			}
		}
	}
	many := strings.Split("abcdefghijklm", "")
	for name, test := range map[string]struct {
		of      func(*v1alpha1.Run)
		ofStack bool
		want    v1alpha1.RunApproval
	}{
		"without the rule": {causedBy("bob"), false, v1alpha1.RunApproval{State: None}},
		"with the rule of the Run": {func(r *v1alpha1.Run) {
			causedBy("bob", "bob", "eve")(r)
			r.Spec.PreventSelfApproval = true
		}, false, v1alpha1.RunApproval{State: None, PreventSelfApproval: true, ExcludedUsers: []string{"bob", "eve"}}},
		"with the rule of the Stack": {causedBy(), true,
			v1alpha1.RunApproval{State: None, PreventSelfApproval: true, ExcludedUsers: []string{"alice"}}},
		"a user removed the rule": {func(r *v1alpha1.Run) {
			r.Spec.SelfApprovalRemovedBy = "carol"
		}, false, v1alpha1.RunApproval{State: None, ExcludedUsers: []string{"carol"}}},
		"more users than it names": {causedBy(many...), true,
			v1alpha1.RunApproval{State: None, PreventSelfApproval: true, ExcludedUsers: many[:10]}},
		"not all users who caused it are known": {func(r *v1alpha1.Run) {
			r.Spec.CausedByUnknown = "a commit is missing"
		}, true, v1alpha1.RunApproval{State: None, PreventSelfApproval: true, ExcludedUsers: []string{
			"alice"}, RequestRequired: true}},
		"the user who caused it approved it": {func(r *v1alpha1.Run) {
			r.Spec.Approval = &v1alpha1.Approval{PlanDigest: "a", By: "alice"}
		}, true, v1alpha1.RunApproval{State: SelfApproval, PreventSelfApproval: true, ExcludedUsers: []string{
			"alice"}}},
	} {
		run := &v1alpha1.Run{}
		run.Spec.Cause.By, run.Status.Plan = "alice", &v1alpha1.Plan{Digest: "a"}
		test.of(run)
		test.want.RequiredBy = []v1alpha1.ApprovalRule{v1alpha1.RequiredByApply}
		if got := Publish(run, test.ofStack, test.want.RequiredBy); !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, *got, test.want)
		}
	}
}

func TestSentApproval(t *testing.T) {
	for state, want := range map[Status]bool{None: true, Valid: true, OtherPlan: false, SelfApproval: false,
		UnknownCause: false} {
		run := &v1alpha1.Run{}
		run.Spec.Approval, run.Status.Plan = &v1alpha1.Approval{PlanDigest: "a", By: "bob"}, &v1alpha1.Plan{Digest: "a"}
		run.Status.Approval = &v1alpha1.RunApproval{State: state}
		if got := IsSent(run); got != want {
			t.Errorf("%s: %v", state, got)
		}
		if run.Spec.Approval.PlanDigest = "b"; IsSent(run) {
			t.Errorf("%s, of another plan", state)
		}
	}
}
