package decision

import (
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

type approvalRule = v1alpha1.ApprovalRule

const (
	requiredByApply        = v1alpha1.RequiredByApply
	requiredBySelfApproval = v1alpha1.RequiredBySelfApproval
	requiredByTakeover     = v1alpha1.RequiredByTakeover
	requiredByOrphans      = v1alpha1.RequiredByOrphans
	requiredByChanges      = v1alpha1.RequiredByChanges
	requiredByDrift        = v1alpha1.RequiredByDrift
	requiredByUnverified   = v1alpha1.RequiredByUnverified
	requiredByPolicy       = v1alpha1.RequiredByPolicy
	requiredByAfterHold    = v1alpha1.RequiredByAfterHold
	requiredByPlanOptions  = v1alpha1.RequiredByPlanOptions
)

// approvalRules are all rules that require an approval of the Run's plan. Without any the plan is applied at once.
func approvalRules(w Snapshot) []approvalRule {
	plan, rules := w.Run.Status.Plan, []approvalRule(nil)
	for _, r := range []struct {
		rule     approvalRule
		requires bool
	}{
		{requiredByApply, w.Stack.Spec.Apply != v1alpha1.ApplyAutomatic},
		{requiredBySelfApproval, w.Run.Spec.PreventSelfApproval},
		{requiredByTakeover, plan.TakesOverState},
		{requiredByOrphans, len(plan.Untracked) > 0},
		{requiredByChanges, len(listedChanges(w)) > 0},
		{requiredByDrift, len(uncorrectedChanges(w)) > 0},
		{requiredByUnverified, plan.Unverified != ""},
		{requiredByPolicy, plan.Policy != nil && plan.Policy.ApprovalRequired > 0},
		{requiredByAfterHold, w.Run.Spec.AfterHold != ""},
		{requiredByPlanOptions, w.Run.Spec.PlanOptions != nil || w.Run.Spec.AfterPartial != ""},
	} {
		if r.requires {
			rules = append(rules, r.rule)
		}
	}
	return rules
}

// RequiredApprovals returns the rules that require an approval of a plan, if a Run that applies it belongs to the
// Stack, and why, for users.
func RequiredApprovals(stack *v1alpha1.Stack, plan *v1alpha1.Plan) (rules []v1alpha1.ApprovalRule, why []string) {
	run := &v1alpha1.Run{Spec: v1alpha1.RunSpec{
		Operation: v1alpha1.OperationApply, PreventSelfApproval: stack.Spec.PreventSelfApproval,
	}}
	run.Status.Plan = plan
	w := Snapshot{Stack: stack, Run: run}
	rules = approvalRules(w)
	for _, rule := range rules {
		why = append(why, reasonOf(rule, w))
	}
	return rules, why
}

// reasonOf describes what a rule requires an approval for.
func reasonOf(rule approvalRule, w Snapshot) string {
	plan := w.Run.Status.Plan
	switch rule {
	case requiredByApply:
		return "spec.apply of the Stack is " + string(w.Stack.Spec.Apply)
	case requiredBySelfApproval:
		return "spec.preventSelfApproval requires one of a user who did not cause it"
	case requiredByTakeover:
		return "the Stack never applied its state, which an earlier Stack of this name, a push or a backend left"
	case requiredByOrphans:
		return runinfo.Orphans(plan)
	case requiredByChanges:
		return "spec.requireApprovalFor of the Stack lists " + runinfo.ListKinds(listedChanges(w))
	case requiredByDrift:
		return "spec.drift.applyFor of the Stack does not list " + runinfo.ListKinds(uncorrectedChanges(w))
	case requiredByUnverified:
		return "what is shown of the plan is as its pod reported it"
	case requiredByPolicy:
		return policyRequirement(plan.Policy)
	case requiredByAfterHold:
		return "the Run leaves what was applied of " + w.Run.Spec.AfterHold
	case requiredByPlanOptions:
		if w.Run.Spec.PlanOptions != nil {
			return "a user requested the plan with " + runinfo.PlanOptions(w.Run.Spec.PlanOptions)
		}
		return "Run " + w.Run.Spec.AfterPartial + " applied a plan without all changes of the code, or accepted " +
			"drift, and this one has the rest"
	}
	return string(rule)
}

// approved reports whether the Run's plan may be applied now, as far as approvals are concerned.
func approved(w Snapshot) bool {
	if w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		return false
	}
	if len(approvalRules(w)) == 0 {
		return true
	}
	return approval.Of(w.Run, w.Stack.Spec.PreventSelfApproval) == approval.Valid
}

// withApproval is the status with the approval that the plan requires, while the plan waits. It comes with a write of
// the phase or of its reason.
func withApproval(w Snapshot) v1alpha1.RunStatus {
	s := withImage(w)
	if s.Phase != v1alpha1.PhaseAwaitingApproval || s.Plan == nil || w.Stack == nil {
		return s
	}
	s.Approval = nil
	if rules := approvalRules(w); len(rules) > 0 {
		s.Approval = approval.Publish(w.Run, w.Stack.Spec.PreventSelfApproval, rules)
	}
	return s
}

// listedChanges are the kinds of change in the Run's plan that spec.requireApprovalFor of the Stack lists now, in the
// order of kindsOfChange.
func listedChanges(w Snapshot) []v1alpha1.ChangeKind {
	return slices.DeleteFunc(kindsOfChange(w), func(kind v1alpha1.ChangeKind) bool {
		return !slices.Contains(w.Stack.Spec.RequireApprovalFor, kind)
	})
}

// uncorrectedChanges are the kinds of change that a Run which corrects drift must not apply without an approval. The
// check that found the drift planned before, so this plan may have others.
func uncorrectedChanges(w Snapshot) []v1alpha1.ChangeKind {
	drift := w.Stack.Spec.Drift
	if drift == nil || w.Run.Spec.Cause.Type != v1alpha1.CauseDrift {
		return nil
	}
	return runinfo.Uncorrected(runinfo.Counts(w.Run.Status.Plan), drift.ApplyFor)
}

// kindsOfChange are the kinds of change in the Run's plan, by its counts. A replacement counts as Replace, and in
// Delete and Create too, as engines count it.
func kindsOfChange(w Snapshot) []v1alpha1.ChangeKind {
	plan, kinds := w.Run.Status.Plan, []v1alpha1.ChangeKind(nil)
	for _, k := range []struct {
		kind  v1alpha1.ChangeKind
		there bool
	}{
		{v1alpha1.ChangeCreate, plan.Add > 0},
		{v1alpha1.ChangeUpdate, plan.Change > 0},
		{v1alpha1.ChangeReplace, plan.Replace > 0},
		{v1alpha1.ChangeDelete, plan.Destroy > 0},
		{v1alpha1.ChangeAction, plan.Invoke > 0},
		{v1alpha1.ChangeStackDeletion,
			w.Stack.DeletionTimestamp != nil && w.Run.Spec.Operation == v1alpha1.OperationDestroy},
	} {
		if k.there {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// approvalHint returns what a waiting plan needs to continue, and which rules besides spec.apply it waits for.
func approvalHint(w Snapshot) string {
	if w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		return "; not applied while spec.apply of the Stack is Never"
	}
	var parts []string
	a := approval.Given(w.Run)
	switch approval.Of(w.Run, w.Stack.Spec.PreventSelfApproval) {
	case approval.OtherPlan:
		parts = append(parts, "the approval by "+a.By+" was for another plan")
	case approval.SelfApproval:
		role := "who caused this Run"
		if !approval.Caused(w.Run, a.By) {
			role = "who removed spec.preventSelfApproval"
		}
		parts = append(parts, "the approval by "+a.By+", "+role+", does not count (spec.preventSelfApproval): "+
			"another user has to approve")
	case approval.UnknownCause:
		parts = append(parts, "the approval by "+a.By+" does not count")
	}
	if approval.NeedsRequest(w.Run) && (w.Run.Spec.PreventSelfApproval || w.Stack.Spec.PreventSelfApproval) {
		parts = append(parts, "not all users who caused the Run are known ("+w.Run.Spec.CausedByUnknown+
			"), so spec.preventSelfApproval "+
			"requires a Run that a user requested with cairn apply "+w.Stack.Name+", and the approval of another user")
	}
	rules := approvalRules(w)
	if by := w.Run.Spec.SelfApprovalRemovedBy; by != "" {
		parts = append(parts, by+" removed spec.preventSelfApproval, which ends when the plan is applied that "+
			"another user approved")
	}
	if slices.Contains(rules, requiredByTakeover) {
		parts = append(parts, "this Stack never applied the state, "+
			"which an earlier Stack of this name, a push or a backend left")
	}
	if slices.Contains(rules, requiredByChanges) && !slices.Contains(rules, requiredByApply) {
		parts = append(parts, "spec.requireApprovalFor of the Stack lists "+runinfo.ListKinds(listedChanges(w)))
	}
	if slices.Contains(rules, requiredByDrift) && !slices.Contains(rules, requiredByApply) {
		parts = append(parts, reasonOf(requiredByDrift, w))
	}
	if partial := w.Run.Status.Plan.Partial; partial != "" {
		parts = append(parts, "the plan does not have all changes of the code: "+partial)
	}
	if unverified := w.Run.Status.Plan.Unverified; unverified != "" {
		parts = append(parts, "what is shown of this plan is as its pod reported it: "+unverified)
	}
	if slices.Contains(rules, requiredByPolicy) {
		parts = append(parts, policyRequirement(w.Run.Status.Plan.Policy))
	}
	if slices.Contains(rules, requiredByAfterHold) {
		parts = append(parts, reasonOf(requiredByAfterHold, w))
	}
	if slices.Contains(rules, requiredByPlanOptions) {
		parts = append(parts, reasonOf(requiredByPlanOptions, w))
	}
	if script := runinfo.ByScript(w.Run); script != "" {
		parts = append(parts, script)
	}
	approve := "approve with cairn approve " + w.Stack.Name + " --digest " + approval.Short(w.Run.Status.Plan.Digest)
	if orphans := runinfo.Orphans(w.Run.Status.Plan); orphans != "" {
		approve = orphans + ", and this plan may create it a second time: import or delete it first, or " + approve
	}
	return "; " + strings.Join(append(parts, approve), "; ")
}

// policyRequirement names the first policy that requires an approval, with its message.
func policyRequirement(result *v1alpha1.PolicyResult) string {
	for _, f := range result.Findings {
		if f.Action != v1alpha1.PolicyRequireApproval {
			continue
		}
		text := fmt.Sprintf("policy %s requires an approval: %s", f.Policy, runinfo.Clip(f.Message, 300))
		if n := result.ApprovalRequired - 1; n > 0 {
			text += fmt.Sprintf(" (and %d more)", n)
		}
		return text
	}
	return "the policies require an approval"
}
