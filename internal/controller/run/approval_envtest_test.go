//go:build envtest

package run

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// The report of a plan that destroys a resource, by digest.
var destroying = &runnerapi.Plan{Digest: "sha256:" + strings.Repeat("d", 64), Changes: true, Add: 1, Destroy: 2,
	Replace: 1}

// plansToDestroy is a Run whose first plan is reported, of a Stack with these rules.
func plansToDestroy(t *testing.T, verdict dispatch.PolicyEvaluation, rules func(*v1alpha1.StackSpec)) *testEnv {
	t.Helper()
	r := newTestEnv(t)
	r.changeStack(rules)
	r.reconcile()
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: verdict}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: destroying}}))
	r.Seen(r.run)
	return r
}

// changeStack patches the spec of the Stack.
func (r *testEnv) changeStack(rules func(*v1alpha1.StackSpec)) {
	r.Helper()
	before := r.stack.DeepCopy()
	rules(&r.stack.Spec)
	apiserver.Must(r.T, r.Env.Client.Patch(r.Context(), r.stack, client.MergeFrom(before)))
	r.Seen(r.stack)
}

// approve is what cairn approve writes.
func (r *testEnv) approve(digest string) {
	r.Helper()
	before := r.run.DeepCopy()
	r.run.Spec.Approval = &v1alpha1.Approval{PlanDigest: digest, By: "alice"}
	apiserver.Must(r.T, r.Env.Client.Patch(r.Context(), r.run, client.MergeFrom(before)))
	r.Seen(r.run)
}

func (r *testEnv) expectMessage(want string) {
	r.Helper()
	if c := r.run.Status.Conditions; len(c) == 0 || c[0].Message != want {
		r.Errorf("conditions are %+v, want the message %q", c, want)
	}
}

func asksFor(kinds ...v1alpha1.ChangeKind) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) { s.RequireApprovalFor = kinds }
}

// The report of a plan with a listed kind of change makes the Run wait. After the approval, the pod that waits
// continues.
func TestListedChangeWaitsForApproval(t *testing.T) {
	r := plansToDestroy(t, noPolicies, asksFor(v1alpha1.ChangeDelete, v1alpha1.ChangeStackDeletion))
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
	r.expectMessage("1 to add, 2 to destroy (1 to replace); spec.requireApprovalFor of the Stack lists Delete; " +
		"approve with cairn approve net --digest " + strings.Repeat("d", 40))
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
	r.expectAttempts("Plan")
	r.approve(destroying.Digest)
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
}

func TestUnlistedChangeIsAppliedAutomatically(t *testing.T) {
	r := plansToDestroy(t, noPolicies, asksFor(v1alpha1.ChangeUpdate))
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
}

// A user who removes the kind from the list while the Run waits lets it continue, as does one who sets Manual to
// Automatic.
func TestCurrentApprovalRulesApplyToAWaitingRun(t *testing.T) {
	r := plansToDestroy(t, noPolicies, asksFor(v1alpha1.ChangeDelete))
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
	r.changeStack(asksFor(v1alpha1.ChangeReplace))
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
	r.expectMessage("1 to add, 2 to destroy (1 to replace); spec.requireApprovalFor of the Stack lists Replace; " +
		"approve with cairn approve net --digest " + strings.Repeat("d", 40))
	r.changeStack(asksFor())
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
}

// The stored verdict on the plan makes the Run wait, whatever the Stack requires.
func TestPolicyMakesTheRunWait(t *testing.T) {
	dear := runnerapi.PolicyResult{Checked: 1,
		Findings: []runnerapi.Finding{{Policy: "rules/cost.rego", Action: runnerapi.RequireApproval,
			Message: "it is dear"}}}
	r := plansToDestroy(t, func(context.Context, *v1alpha1.Run, string) (*runnerapi.PolicyResult, bool, error) {
		return &dear, true, nil
	}, asksFor())
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
	r.expectMessage("1 to add, 2 to destroy (1 to replace); policy rules/cost.rego requires an approval: it is dear; " +
		"approve with cairn approve net --digest " + strings.Repeat("d", 40))
	if p := r.run.Status.Plan.Policy; p == nil || p.ApprovalRequired != 1 || len(p.Findings) != 1 ||
		p.Findings[0].Action != "RequireApproval" {
		t.Errorf("the verdict in the status is %+v", p)
	}
	r.approve(destroying.Digest)
	r.reconcile()
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
}

// An approval that the operator carried from a pull request begins the apply of the plan that it names, and of no
// other.
func TestCarriedApprovalBeginsTheApplyOfItsPlan(t *testing.T) {
	r := plansToDestroy(t, noPolicies, func(s *v1alpha1.StackSpec) { s.Apply = v1alpha1.ApplyManual })
	carry := func(digest string) {
		before := r.run.DeepCopy()
		r.run.Status.CarriedApproval = &v1alpha1.CarriedApproval{
			PlanDigest: digest, By: "gitea:git.example.com:bob", At: metav1.Now(),
			PullRequest: &v1alpha1.CarriedFrom{Namespace: "web", Name: "infra-77", Number: 77},
		}
		apiserver.Must(r.T, r.Env.Client.Status().Patch(r.Context(), r.run, client.MergeFrom(before)))
		r.Seen(r.run)
		r.reconcile()
	}
	carry("sha256:" + strings.Repeat("e", 64))
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
	carry(destroying.Digest)
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
	if c := r.run.Status.CarriedApproval; c == nil || c.PullRequest == nil || c.PullRequest.Number != 77 ||
		r.run.Spec.Approval != nil {
		t.Errorf("the Run has %+v", c)
	}
}
