//go:build envtest

package run

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

func (r *testEnv) orders(policy func(context.Context, *v1alpha1.Run) (bool, error)) *dispatch.Orders {
	return &dispatch.Orders{
		Runs: dispatch.NewRunsByPod(r.Env.Client, r.Env.Live), Client: r.Env.Client, Live: r.Env.Live,
		Inputs: r.Inputs, Policy: policy, Patience: time.Minute, Recipient: func() string { return "age1" },
	}
}

// podKey names the pod of the Run's first attempt.
func (r *testEnv) podKey() client.ObjectKey {
	return client.ObjectKey{Namespace: r.run.Namespace, Name: r.run.Status.Attempts[0].Pod}
}

// An order to plan says whether policies will be evaluated. Without that fact there is no order.
func TestPlanOrderSaysWhetherPoliciesApply(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	uid := r.run.Status.Attempts[0].PodUID
	away := errors.New("the API server is away")
	for _, tt := range []struct {
		asked bool
		err   error
	}{{asked: true}, {asked: false}, {err: away}} {
		orders := r.orders(func(_ context.Context, run *v1alpha1.Run) (bool, error) {
			if run.Name != "net-1" {
				t.Errorf("asked about Run %s", run.Name)
			}
			return tt.asked, tt.err
		})
		order, err := orders.Next(t.Context(), r.podKey(), uid, 0)
		if !errors.Is(err, tt.err) || (err == nil && (order.Kind != runnerapi.OrderPlan || order.Policy != tt.asked)) {
			t.Errorf("got %s with policy %v, %v", order.Kind, order.Policy, err)
		}
	}
}

// former knows of no Stacks but those that were, as a cache whose watch of Stacks broke off and whose watch of Runs did
// not.
type former struct{ client.Client }

func (f former) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := f.Client.Get(ctx, key, o, opts...)
	if stack, ok := o.(*v1alpha1.Stack); ok && err == nil {
		stack.UID = "former"
	}
	return err
}

func TestRunnerIsNotDismissedForAStaleStack(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	orders := r.orders(func(context.Context, *v1alpha1.Run) (bool, error) { return false, nil })
	orders.Client = former{r.Env.Client}
	order, err := orders.Next(t.Context(), r.podKey(), r.run.Status.Attempts[0].PodUID, 0)
	if err != nil || order.Kind != runnerapi.OrderPlan {
		t.Errorf("got %s, %v", order.Kind, err)
	}
}

func TestReportDoesNotEndARunForAStaleStack(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	reports := dispatch.Reports{Client: former{r.Env.Client}, Live: r.Env.Live, Policies: noPolicies}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}))
	r.Seen(r.run)
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
}

// withoutPolicies is a cache that did not receive StackPolicies yet.
type withoutPolicies struct{ client.Client }

func (c withoutPolicies) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.StackPolicyList); ok {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

// TestReportBeginsNoApplyDuringAFreeze checks that the server, which gives the apply to the pod that planned, knows the
// windows of StackPolicies, and does not trust a cache that lacks one of those that the Stack's status names.
func TestReportBeginsNoApplyDuringAFreeze(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	freeze := &v1alpha1.StackPolicy{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}, Spec: v1alpha1.StackPolicySpec{
		Windows: []v1alpha1.Window{{Kind: v1alpha1.WindowDeny, Schedule: "@daily",
			Duration: metav1.Duration{Duration: 24 * time.Hour}}},
	}}
	r.Make(freeze)
	r.Seen(freeze)
	r.stack.Status.StackPolicies = []v1alpha1.AppliedStackPolicy{
		{Name: freeze.Name, UID: freeze.UID, Generation: freeze.Generation, Windows: 1}}
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), r.stack))
	r.Seen(r.stack)
	reports := dispatch.Reports{Client: withoutPolicies{r.Env.Client}, Live: r.Env.Live, Policies: noPolicies}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}))
	r.Seen(r.run)
	r.expectPhase(v1alpha1.PhaseAwaitingApproval, "WindowClosed")
}

// before has a Run, or a Stack, as it was before; nil for as it is.
type before struct {
	client.Client
	run   *v1alpha1.Run
	stack *v1alpha1.Stack
}

func (b before) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if run, ok := o.(*v1alpha1.Run); ok && b.run != nil {
		b.run.DeepCopyInto(run)
		return nil
	}
	if stack, ok := o.(*v1alpha1.Stack); ok && b.stack != nil {
		b.stack.DeepCopyInto(stack)
		return nil
	}
	return b.Client.Get(ctx, key, o, opts...)
}

// Another server began the attempt, and the cache of this one does not have it yet: the report is accepted.
func TestReportOfAnAttemptOfAnotherServerIsAccepted(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	old, uid := r.run.DeepCopy(), r.run.Status.Attempts[0].PodUID
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: noPolicies}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}))
	r.Seen(r.run)
	reports.Client = before{Client: r.Env.Client, run: old}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 2,
		runnerapi.Report{Done: &runnerapi.Done{}}))
	r.Seen(r.run)
	r.expectPhase(v1alpha1.PhaseSucceeded, "Applied")
}

// emptyCache has no Run.
type emptyCache struct{ client.Client }

func (u emptyCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.Run); ok {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("runs").GroupResource(), key.Name)
	}
	return u.Client.Get(ctx, key, o, opts...)
}

// A report of the first attempt of a Run that is not in the cache is accepted; one of a deleted Run is not.
func TestReportOfAnUncachedRunIsAccepted(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	key, uid := client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID
	reports := dispatch.Reports{Client: emptyCache{r.Env.Client}, Live: r.Env.Live, Policies: noPolicies}
	apiserver.Must(t, reports.Report(t.Context(), key, uid, 1, runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}))
	r.Seen(r.run)
	r.expectPhase(v1alpha1.PhaseApplying, "Applying")
	key.Name += "-gone"
	if err := reports.Report(t.Context(), key, uid, 1, runnerapi.Report{}); !errors.Is(err, dispatch.ErrNotCurrent) {
		t.Errorf("of a Run that is gone: %v", err)
	}
}

func TestReconcileDoesNotEndARunForAStaleStack(t *testing.T) {
	r := newTestEnv(t)
	r.Reconciler.Client = former{r.Env.Client}
	r.reconcile()
	r.expectAttempts("Plan")
}

// A former leader created the Run late: the Stack has named a later one, which the cache does not have yet.
func TestRunBeginsOnlyWhileItsStackNamesIt(t *testing.T) {
	r := newTestEnv(t)
	r.Reconciler.Client = before{Client: r.Env.Client, stack: r.stack.DeepCopy()}
	r.stack.Status.LastRun = "net-2"
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), r.stack))
	r.reconcile()
	if r.run.Status.Phase != v1alpha1.PhaseSuperseded || len(r.pods()) > 0 {
		t.Errorf("the Run is %s, with %d pods", r.run.Status.Phase, len(r.pods()))
	}
}

// The last report of a plan is written with the stored verdict, and the Run continues according to it.
func TestDeniedPlanFailsItsRunWhateverTheRunnerReports(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	uid := r.run.Status.Attempts[0].PodUID
	asked := ""
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live,
		Policies: func(_ context.Context, run *v1alpha1.Run, digest string) (*runnerapi.PolicyResult, bool, error) {
			asked = run.Name + " " + digest
			return &denied, true, nil
		}}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}))
	r.Seen(r.run)
	if asked != "net-1 sha256:one" {
		t.Errorf("asked about %s", asked)
	}
	s := r.run.Status
	if s.Phase != v1alpha1.PhaseFailed || s.Plan == nil || s.Plan.Policy == nil || s.Plan.Policy.Denied != 2 {
		t.Errorf("the Run is %s with plan %+v", s.Phase, s.Plan)
	}
	if c := s.Conditions; len(c) == 0 || c[0].Reason != "PolicyDenied" {
		t.Errorf("conditions %v", c)
	}
	r.expectAttempts("Plan PolicyDenied")
}

// A report whose verdict cannot be read is not written: the runner sends it again.
func TestReportWithoutAVerdictIsNotWritten(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	before, away := r.run.ResourceVersion, errors.New("the bucket is away")
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: func(context.Context, *v1alpha1.Run,
		string) (*runnerapi.PolicyResult, bool, error) {
		return nil, true, away
	}}
	err := reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1,
		runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}})
	r.Seen(r.run)
	if !errors.Is(err, away) || r.run.ResourceVersion != before {
		t.Errorf("got %v, and the Run was written: %v", err, r.run.ResourceVersion != before)
	}
}

// A Run whose runner reports a cancellation that is not recorded is retried as after a transient failure.
func TestRunnerCannotCancelItsRun(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: noPolicies}
	done := &runnerapi.Done{Failure: &runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[0].PodUID, 1,
		runnerapi.Report{Done: done}))
	r.Seen(r.run)
	r.expectAttempts("Plan Transient")
	if r.run.Status.NextAttempt == nil {
		t.Errorf("the Run is %s and will not be retried", r.run.Status.Phase)
	}
}

// noPolicies is the verdict where there are none to ask.
func noPolicies(context.Context, *v1alpha1.Run, string) (*runnerapi.PolicyResult, bool, error) {
	return nil, false, nil
}

var (
	planOne = &runnerapi.Plan{Digest: "sha256:one", Changes: true, Add: 1}
	denied  = runnerapi.PolicyResult{Checked: 2, Findings: []runnerapi.Finding{
		{Policy: "rules/a.rego", Action: runnerapi.Deny, Message: "no owner"},
		{Policy: "rules/b.rego", Action: runnerapi.Deny, Message: "no name"},
	}}
)
