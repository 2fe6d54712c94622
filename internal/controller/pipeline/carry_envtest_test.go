//go:build envtest

package pipeline

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/test/apiserver"
)

// waits creates the Run of a stage that waits for the approval of a plan, and reports it.
func (e *env) waits(stage, shape string) *v1alpha1.Run {
	e.Helper()
	e.Seen(e.p)
	commit := e.p.Stage(stage).Release
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: stage + "-2"}, Spec: v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: stage}, Operation: v1alpha1.OperationApply, InputsDigest: digestOf(commit),
		Revision: "main@sha1:" + commit, Cause: v1alpha1.Cause{Type: v1alpha1.CauseCommit},
	}}
	e.Make(run)
	run.Status.Phase = v1alpha1.PhaseAwaitingApproval
	digest := "sha256:" + strings.Repeat(map[string]string{"staging": "1", "production": "2"}[stage], 64)
	run.Status.Plan = &v1alpha1.Plan{Digest: digest, Changes: true, Change: 1, Fingerprint: stage, Shape: shape}
	run.Status.Approval = &v1alpha1.RunApproval{State: v1alpha1.ApprovalPending}
	apiserver.Must(e.T, e.Env.Client.Status().Update(e.Context(), run))
	e.Seen(run)
	e.reports(stage, func(s *v1alpha1.StackStatus) {
		s.CurrentRun = run.Name
		s.Conditions = []metav1.Condition{ready(metav1.ConditionUnknown, v1alpha1.ReasonAwaitingApproval)}
	})
	return run
}

// approves has bob approve the plan of a Run, which then succeeds, and its Stack apply its release.
func (e *env) approves(stage string, run *v1alpha1.Run) {
	e.Helper()
	e.Seen(run)
	run.Spec.Approval = &v1alpha1.Approval{PlanDigest: run.Status.Plan.Digest, By: "bob"}
	apiserver.Must(e.T, e.Env.Client.Update(e.Context(), run))
	run.Status.Phase = v1alpha1.PhaseSucceeded
	apiserver.Must(e.T, e.Env.Client.Status().Update(e.Context(), run))
	e.reports(stage, func(s *v1alpha1.StackStatus) {
		s.CurrentRun, s.AppliedInputsDigest = "", s.InputsDigest
		s.History = []v1alpha1.PastRun{past(run.Name, string(run.UID))}
		s.Conditions = []metav1.Condition{ready(metav1.ConditionTrue, v1alpha1.ReasonApplied)}
	})
}

// TestApprovalIsCarriedToTheNextStage checks on a real API server that a plan of production is approved by the approval
// of the plan of the same shape in staging, once, and that the stage shows why another one is not.
func TestApprovalIsCarriedToTheNextStage(t *testing.T) {
	e := newEnv(t)
	e.p.Spec.Stages[0].CarryApproval = v1alpha1.CarrySameShape
	if err := e.Env.Client.Update(t.Context(), e.p); err == nil ||
		!strings.Contains(err.Error(), "no stage before it") {
		t.Fatalf("the first stage has carryApproval: %v", err)
	}
	e.Seen(e.p)
	e.p.Spec.Stages[0].CarryApproval, e.p.Spec.Stages[2].CarryApproval = "", v1alpha1.CarrySameShape
	apiserver.Must(t, e.Env.Client.Update(t.Context(), e.p))
	one := e.push("one", "dev", "staging", "production")
	e.reconcile()
	e.applies("dev")
	e.applies("staging")
	e.promotes("production", one)
	e.applies("production")
	two := e.push("two", "staging", "production")
	e.Reconciler.Live = e.Env.Live
	e.Reconciler.Inputs = storedInputs{digestOf(one): inputs.Document{Source: "one"},
		digestOf(two): inputs.Document{Source: "two"}}
	e.reconcile()
	staging := e.waits("staging", "s")
	if e.Seen(staging); staging.Status.CarriedApproval != nil {
		t.Fatal("staging has no carryApproval, and its plan is approved")
	}
	e.approves("staging", staging)
	e.promotes("production", two)
	production := e.waits("production", "t")
	if e.Seen(production); production.Status.CarriedApproval != nil {
		t.Fatal("a plan of another shape is approved")
	}
	want := "without the approval of the stage before: the plan does not change the same as that of Run staging-2"
	if text := e.p.Stage("production").Message; !strings.Contains(text, want) {
		t.Errorf("the stage is %q", text)
	}
	production.Status.Plan.Shape = "s"
	apiserver.Must(t, e.Env.Client.Status().Update(t.Context(), production))
	e.Seen(production)
	e.reconcile()
	e.Seen(production)
	c := production.Status.CarriedApproval
	if c == nil || c.By != "bob" || c.PlanDigest != production.Status.Plan.Digest || c.PullRequest != nil ||
		c.Text() != "in stage staging of Pipeline shop (Run staging-2)" || c.Stage.Release != two {
		t.Fatalf("the Run has %+v", c)
	}
	version := production.ResourceVersion
	_, err := e.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.p)})
	if e.Seen(production); err != nil || production.ResourceVersion != version {
		t.Errorf("it is written again: %v", err)
	}
}
