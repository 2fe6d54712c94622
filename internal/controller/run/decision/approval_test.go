package decision

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

// asking is a Stack that applies by itself but for these kinds of change.
func asking(kinds ...v1alpha1.ChangeKind) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Spec.RequireApprovalFor = kinds }
}

// counting gives the plan other counts.
func counting(plan v1alpha1.Plan) func(*Snapshot) {
	return func(w *Snapshot) {
		plan.Digest, plan.Changes = "sha256:plan", true
		w.Run.Status.Plan = &plan
	}
}

func automatic(w *Snapshot) { w.Stack.Spec.Apply = v1alpha1.ApplyAutomatic }
func never(w *Snapshot)     { w.Stack.Spec.Apply = v1alpha1.ApplyNever }

// policySays puts a verdict into the plan.
func policySays(result v1alpha1.PolicyResult) func(*Snapshot) {
	return func(w *Snapshot) { w.Run.Status.Plan.Policy = &result }
}

var (
	creates  = v1alpha1.Plan{Add: 3}
	updates  = v1alpha1.Plan{Change: 2}
	deletes  = v1alpha1.Plan{Destroy: 1}
	replaces = v1alpha1.Plan{Add: 1, Destroy: 1, Replace: 1}
	moves    = v1alpha1.Plan{Import: 1, Forget: 1}
	costs    = v1alpha1.PolicyResult{Checked: 3, ApprovalRequired: 2, Warned: 1, Findings: []v1alpha1.PolicyFinding{
		{Policy: "rules/cost.rego", Action: "RequireApproval", Message: "it costs more than 100 a month"},
		{Policy: "rules/net.yaml", Action: "RequireApproval", Message: "the network changes"},
		{Policy: "rules/tags.rego", Action: "Warn", Message: "no tag"},
	}}
)

// Each kind of change is listed alone and compared with each kind of plan.
func TestRequireApprovalForOneKind(t *testing.T) {
	all := []v1alpha1.ChangeKind{
		v1alpha1.ChangeCreate, v1alpha1.ChangeUpdate, v1alpha1.ChangeReplace, v1alpha1.ChangeDelete,
		v1alpha1.ChangeStackDeletion, v1alpha1.ChangeAction,
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		waits    []v1alpha1.ChangeKind
	}{
		"a plan that creates waits for Create": {snapshot(planned, counting(creates)),
			all[:1]},
		"a plan that updates waits for Update": {snapshot(planned, counting(updates)),
			all[1:2]},
		"a plan that deletes waits for Delete": {snapshot(planned, counting(deletes)),
			all[3:4]},
		"a replacement is a Replace, a Create and a Delete": {snapshot(planned, counting(replaces)),
			[]v1alpha1.ChangeKind{"Create", "Replace", "Delete"}},
		"a plan of all four waits for each": {
			snapshot(planned, counting(v1alpha1.Plan{Add: 2, Change: 1, Destroy: 2, Replace: 1})), all[:4]},
		"a plan that only the engine can read waits for each": {
			snapshot(planned, counting(v1alpha1.Plan{Unverified: "it is encrypted"})), all},
		"a plan that invokes actions waits for Action": {
			snapshot(planned, counting(v1alpha1.Plan{Invoke: 1})), all[5:]},
		"imports and what is only forgotten wait for none": {snapshot(planned, counting(moves)), nil},
		"outputs that change wait for none": {
			snapshot(planned, counting(v1alpha1.Plan{})), nil},
		"a correction of drift waits like any other plan": {snapshot(planned, counting(updates), func(w *Snapshot) {
			w.Run.Spec.Cause.Type = v1alpha1.CauseDrift
		}), all[1:2]},
		"a destroy that a user requests is a Delete": {
			snapshot(destroy, planned, counting(deletes)), all[3:4]},
		"the destroy of a deleted Stack is a Delete and a StackDeletion": {
			snapshot(destroy, deleting, planned, counting(deletes)), all[3:5]},
		"a destroy of a deleted Stack with only outputs is a StackDeletion": {
			snapshot(destroy, deleting, planned, counting(v1alpha1.Plan{})), all[4:5]},
	} {
		t.Run(name, func(t *testing.T) {
			var waits []v1alpha1.ChangeKind
			for _, kind := range all {
				asking(kind)(&tt.snapshot)
				d := Decide(tt.snapshot)
				switch {
				case d.Phase == v1alpha1.PhaseAwaitingApproval && d.Reason == v1alpha1.ReasonAwaitingApproval:
					waits = append(waits, kind)
				case d.Begin != v1alpha1.AttemptApply:
					t.Errorf("%s: %+v", kind, d)
				}
			}
			if diff := cmp.Diff(tt.waits, waits); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRequireApprovalFor(t *testing.T) {
	const underWay = time.Hour + overdue
	yes, waitsFor := approvedFor("sha256:plan"), "AwaitingApproval"
	goesOn := func(w Snapshot) settled {
		return settled{snapshot: w, phase: "Applying", begin: "Apply 2 in pod", reason: "Applying", requeue: underWay}
	}
	settle(t, map[string]settled{
		"without the list a plan that only the engine can read waits": {
			snapshot: snapshot(planned, counting(v1alpha1.Plan{Unverified: "it is encrypted"})),
			phase:    "AwaitingApproval", reason: waitsFor,
		},
		"without the list a plan that deletes goes on by itself": goesOn(snapshot(planned, counting(deletes))),
		"what is not listed goes on by itself": goesOn(snapshot(planned, counting(creates),
			asking("Delete", "Replace"))),
		"what is listed waits, and the message names the kinds that the plan has and the command": {
			snapshot: snapshot(planned, counting(replaces), asking("Update", "Delete", "Replace")),
			phase:    "AwaitingApproval", reason: waitsFor,
			message: "1 to add, 1 to destroy (1 to replace); spec.requireApprovalFor of the Stack lists Replace and " +
				"Delete; approve with cairn approve net",
		},
		"three kinds are listed in words": {
			snapshot: snapshot(planned, counting(v1alpha1.Plan{Add: 1, Change: 1, Destroy: 1}),
				asking("Create", "Delete", "Update")), phase: "AwaitingApproval", reason: waitsFor,
			message: "lists Create, Update and Delete; approve",
		},
		"once it is approved it is applied": goesOn(snapshot(planned, counting(deletes), asking("Delete"), yes)),
		"the approval of another plan is none": {
			snapshot: snapshot(planned, counting(deletes), asking("Delete"), approvedFor("sha256:other")),
			phase:    "AwaitingApproval", reason: waitsFor,
			message: "the approval by alice was for another plan; spec.requireApprovalFor of the Stack lists " +
				"Delete; approve",
		},
		"a rejection ends it": {
			snapshot: snapshot(planned, counting(deletes), asking("Delete"), rejectedFor("sha256:plan")),
			phase:    "Canceled", reason: "Rejected",
		},
		"when the kind is taken from the list while the Run waits it goes on by itself": goesOn(
			snapshot(waiting, counting(deletes), automatic, asking("Create"))),
		"as when Manual becomes Automatic": goesOn(snapshot(waiting, counting(deletes), automatic)),
		"when Manual becomes Automatic with the kind on the list it waits on": {
			snapshot: snapshot(waiting, counting(deletes), automatic, asking("Delete")), phase: "AwaitingApproval",
			reason: waitsFor, message: "lists Delete",
		},
		"with Manual the list changes nothing, not even the message": {
			snapshot: snapshot(waiting, counting(creates), asking("Create")), phase: "AwaitingApproval",
			reason: waitsFor, message: "3 to add; approve with cairn approve net",
		},
		"with Manual a change that is not on the list waits too": {
			snapshot: snapshot(waiting, counting(creates), asking("Delete")), phase: "AwaitingApproval",
			reason: waitsFor, message: "3 to add; approve with cairn approve net",
		},
		"with Never nothing is applied, whatever is on it": {
			snapshot: snapshot(planned, counting(creates), never, asking("Delete"), yes), phase: "AwaitingApproval",
			reason: waitsFor, message: "spec.apply of the Stack is Never",
		},
		"an approval by who caused the Run counts where self-approval is not prevented": goesOn(
			snapshot(planned, counting(deletes), asking("Delete"), yes, func(w *Snapshot) {
				w.Run.Spec.Cause.By = "alice"
			})),
		"an approval by the user who caused the Run is ignored where self-approval is prevented": {
			snapshot: snapshot(planned, counting(deletes), asking("Delete"), yes, func(w *Snapshot) {
				w.Run.Spec.Cause.By, w.Stack.Spec.PreventSelfApproval = "alice", true
			}),
			phase: "AwaitingApproval", reason: waitsFor, message: "does not count (spec.preventSelfApproval)",
		},
		"an approved plan waits for its window like any other": {
			snapshot: snapshot(planned, counting(deletes), asking("Delete"), yes, closed("Apply")),
			phase:    "AwaitingApproval", reason: "WindowClosed", requeue: time.Hour,
		},
		"a Run that only plans does not wait": {
			snapshot: snapshot(planOnly, planned, counting(deletes), asking("Delete")), phase: "Succeeded",
			reason: "Planned",
		},
		"a plan without changes is the end": {
			snapshot: snapshot(destroy, deleting, planned, noChanges, asking("StackDeletion")), phase: "Succeeded",
			reason: "NoChanges",
		},
		"a plan that may create a resource twice names both": {
			snapshot: snapshot(planned, counting(deletes), leftOut, asking("Delete")), phase: "AwaitingApproval",
			reason: waitsFor,
			message: "lists Delete; an apply that was killed created aws_vpc.a and 1 more, which could not be taken " +
				"into the state (it has no importer), and this plan may create it a second time: import or delete it " +
				"first, or approve with",
		},
	})
}

// A policy requires an approval of one plan, whatever the Stack says.
func TestPoliciesThatRequireApproval(t *testing.T) {
	const underWay = time.Hour + overdue
	yes := approvedFor("sha256:plan")
	says := "; policy rules/cost.rego requires an approval: it costs more than 100 a month (and 1 more); approve " +
		"with cairn approve net"
	settle(t, map[string]settled{
		"a Stack that applies by itself waits, and the message names the policy": {
			snapshot: snapshot(planned, policySays(costs)), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "3 to add; 1 warning" + says,
		},
		"a Stack that waits anyway reports it too": {
			snapshot: snapshot(waiting, policySays(costs)), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "3 to add; 1 warning" + says,
		},
		"both rules are named": {
			snapshot: snapshot(planned, policySays(costs), asking("Create")), phase: "AwaitingApproval",
			reason:  "AwaitingApproval",
			message: "; spec.requireApprovalFor of the Stack lists Create" + says,
		},
		"who changes the Stack cannot take it back": {
			snapshot: snapshot(waiting, automatic, policySays(costs)), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: says,
		},
		"once it is approved it is applied": {
			snapshot: snapshot(planned, policySays(costs), yes), phase: "Applying", begin: "Apply 2 in pod",
			reason: "Applying", requeue: underWay,
		},
		"a warning alone lets nothing wait": {
			snapshot: snapshot(planned, policySays(v1alpha1.PolicyResult{Checked: 1, Warned: 1})), phase: "Applying",
			begin: "Apply 2 in pod", reason: "Applying", requeue: underWay,
		},
		"with Never nothing is applied": {
			snapshot: snapshot(planned, policySays(costs), never, yes), phase: "AwaitingApproval",
			reason: "AwaitingApproval", message: "Never",
		},
		"a requirement whose finding is not kept counts all the same": {
			snapshot: snapshot(planned, policySays(v1alpha1.PolicyResult{ApprovalRequired: 1})),
			phase:    "AwaitingApproval", reason: "AwaitingApproval",
			message: "; the policies require an approval; approve",
		},
	})
}

// Rules are independent, and the message names all that match.
func TestApprovalRules(t *testing.T) {
	preventSelfApproval := func(w *Snapshot) { w.Run.Spec.PreventSelfApproval = true }
	takesOver := func(w *Snapshot) { w.Run.Status.Plan.TakesOverState = true }
	afterHold := func(w *Snapshot) { w.Run.Spec.AfterHold = "pull request 12, which was closed without a merge" }
	withOptions := func(w *Snapshot) { w.Run.Spec.PlanOptions = &v1alpha1.PlanOptions{Replace: []string{"a.b"}} }
	afterPartial := func(w *Snapshot) { w.Run.Spec.AfterPartial = "net-6" }
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     []approvalRule
	}{
		"options of a plan":    {snapshot(planned, withOptions), []approvalRule{requiredByPlanOptions}},
		"what a part has left": {snapshot(planned, afterPartial), []approvalRule{requiredByPlanOptions}},
		"none":                 {snapshot(planned), nil},
		"spec.apply":           {snapshot(waiting), []approvalRule{requiredByApply}},
		"an empty spec.apply": {snapshot(planned, func(w *Snapshot) {
			w.Stack.Spec.Apply = ""
		}), []approvalRule{requiredByApply}},
		"spec.preventSelfApproval": {snapshot(planned, preventSelfApproval),
			[]approvalRule{requiredBySelfApproval}},
		"a State of another Stack":           {snapshot(planned, takesOver), []approvalRule{requiredByTakeover}},
		"orphans":                            {snapshot(planned, leftOut), []approvalRule{requiredByOrphans}},
		"the list":                           {snapshot(planned, asking("Create")), []approvalRule{requiredByChanges}},
		"a policy":                           {snapshot(planned, policySays(costs)), []approvalRule{requiredByPolicy}},
		"a pull request that was not merged": {snapshot(planned, afterHold), []approvalRule{requiredByAfterHold}},
		"all of them": {
			snapshot(waiting, preventSelfApproval, takesOver, leftOut, asking("Create"), policySays(costs), afterHold),
			[]approvalRule{
				requiredByApply, requiredBySelfApproval, requiredByTakeover, requiredByOrphans, requiredByChanges,
				requiredByPolicy,
				requiredByAfterHold,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := approvalRules(tt.snapshot); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestApprovalIsInTheStatusWhileThePlanWaits(t *testing.T) {
	costs := v1alpha1.Plan{Add: 3}
	ofStack := func(w *Snapshot) { w.Run.Spec.Cause.By, w.Stack.Spec.PreventSelfApproval = "alice", true }
	manual := func(w *Snapshot) { w.Stack.Spec.Apply = v1alpha1.ApplyManual }
	for name, tt := range map[string]struct {
		of    Snapshot
		state v1alpha1.ApprovalState // empty without an approval
		rules []v1alpha1.ApprovalRule
	}{
		"no plan": {of: snapshot()},
		"a plan that waits": {snapshot(planned, manual, counting(costs)), "Pending",
			[]approvalRule{requiredByApply}},
		"by the user who caused it": {snapshot(planned, manual, counting(costs), approvedFor("sha256:plan"),
			ofStack), "SelfApproval", []approvalRule{requiredByApply}},
		"of another plan": {snapshot(planned, manual, counting(costs), approvedFor("sha256:other")),
			"OtherPlan", []approvalRule{requiredByApply}},
		"approved, before a window": {snapshot(planned, manual, counting(costs), approvedFor("sha256:plan"),
			closed("Apply")), "Valid", []approvalRule{requiredByApply}},
		"approved, and applied": {of: snapshot(planned, manual, counting(costs),
			approvedFor("sha256:plan"))},
		"automatic, before a window": {of: snapshot(planned, automatic, counting(costs), closed("Apply"))},
		"rejected, so that it has an end": {of: snapshot(planned, manual, counting(costs),
			rejectedFor("sha256:plan"))},
		"with a kind of change on the list": {snapshot(planned, automatic, counting(costs), asking("Create")),
			"Pending", []approvalRule{requiredByChanges}},
	} {
		tt.of.Run.Status.Approval = &v1alpha1.RunApproval{State: v1alpha1.ApprovalValid} // of an earlier plan
		if tt.of.Run.Status.Phase == "" {
			tt.of.Run.Status.Phase = v1alpha1.PhasePlanning
		}
		status, d := Settle(tt.of)
		if d.NeedsPod() {
			status = Begin(status, d, 1, "pod", "uid", tt.of.Now)
		}
		switch got := status.Approval; {
		case (got != nil) != (tt.state != ""):
			t.Errorf("%s: %+v", name, got)
		case got != nil && (got.State != tt.state || !slices.Equal(got.RequiredBy, tt.rules)):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Each rule has a reason for users, also for those who read it before a Run has the plan.
func TestRequiredApprovals(t *testing.T) {
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Apply: v1alpha1.ApplyManual, PreventSelfApproval: true,
		RequireApprovalFor: []v1alpha1.ChangeKind{v1alpha1.ChangeDelete},
	}}
	plan := &v1alpha1.Plan{
		Destroy: 1, TakesOverState: true, Unverified: "the plan is encrypted",
		Policy:    &v1alpha1.PolicyResult{ApprovalRequired: 1},
		Untracked: []v1alpha1.UntrackedResource{{Address: "a.b"}},
	}
	rules, why := RequiredApprovals(stack, plan)
	if len(rules) != 7 || len(why) != len(rules) {
		t.Fatalf("%v: %v", rules, why)
	}
	for i, rule := range rules {
		if why[i] == "" || why[i] == string(rule) {
			t.Errorf("%s has no reason", rule)
		}
	}
	if rules, why = RequiredApprovals(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic}},
		&v1alpha1.Plan{Destroy: 1}); len(rules)+len(why) != 0 {
		t.Errorf("%v: %v", rules, why)
	}
}

// The plan of a Run that corrects drift may have other changes than the check that found it.
func TestCorrectionOfOtherKinds(t *testing.T) {
	corrects := func(kinds ...v1alpha1.ChangeKind) func(*Snapshot) {
		return func(w *Snapshot) {
			w.Run.Spec.Cause.Type = v1alpha1.CauseDrift
			w.Stack.Spec.Drift = &v1alpha1.Drift{OnDrift: v1alpha1.DriftApply, ApplyFor: kinds}
		}
	}
	for name, tt := range map[string]struct {
		snapshot Snapshot
		waits    bool
	}{
		"a listed kind is applied": {snapshot(planned, counting(updates), corrects("Update")), false},
		"another kind waits":       {snapshot(planned, counting(deletes), corrects("Update")), true},
		"a mix waits": {snapshot(planned, counting(v1alpha1.Plan{Change: 1, Destroy: 1}),
			corrects("Update")), true},
		"a replacement waits where it is not listed": {
			snapshot(planned, counting(replaces), corrects("Create", "Delete")), true},
		"a replacement is applied where it is": {snapshot(planned, counting(replaces), corrects("Replace")), false},
		"what leaves the state waits": {snapshot(planned, counting(v1alpha1.Plan{Forget: 1}),
			corrects("Update")), true},
		"without a list all is applied": {snapshot(planned, counting(replaces), corrects()), false},
		"a Run of a user is not limited": {snapshot(planned, counting(deletes), corrects("Update"), func(w *Snapshot) {
			w.Run.Spec.Cause.Type = v1alpha1.CauseManual
		}), false},
	} {
		automatic(&tt.snapshot)
		if d := Decide(tt.snapshot); (d.Phase == v1alpha1.PhaseAwaitingApproval) != tt.waits {
			t.Errorf("%s: %s, %s", name, d.Phase, d.Message)
		}
	}
}
