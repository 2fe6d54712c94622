//go:build envtest

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// memory is a bucket for inputs documents.
type memory map[string][]byte

func (m memory) Renew(context.Context, string) error                      { return nil }
func (m memory) Verify(context.Context, string) error                     { return nil }
func (m memory) PutOnce(_ context.Context, key string, data []byte) error { m[key] = data; return nil }
func (m memory) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	data, ok := m[key]
	if !ok {
		return nil, fmt.Errorf("read %s: %w", key, bucket.ErrNotFound)
	}
	return data, nil
}

// testEnv is a Run reconciler connected to an API server. Only the test calls it.
type testEnv struct {
	apiserver.Env
	*Reconciler
	run   *v1alpha1.Run
	stack *v1alpha1.Stack
}

var settings = podspec.Settings{
	ServerURL: "https://server:8443", CABundle: func() []byte { return []byte("PEM") },
	RunnerImage: "cairn:1", RunnerCommand: "/usr/local/bin/cairn-runner", EngineImage: "cairn-tools:1",
}

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// newTestEnv creates a Stack with its first Run.
func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	return newTestEnvFor(t, v1alpha1.OperationApply)
}

// newTestEnvFor is newTestEnv for a Run of another operation than an apply.
func newTestEnvFor(t *testing.T, operation v1alpha1.Operation) *testEnv {
	t.Helper()
	r := &testEnv{Env: apiserver.New(t,
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.StackField, Values: index.StackNames},
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.PodField, Values: index.PodUIDs},
	)}
	r.Reconciler = &Reconciler{
		Client: r.Env.Client, Live: r.Env.Live, Inputs: inputs.NewStore(memory{}), Pods: settings,
		Scheduler: scheduler.New(scheduler.NewQueue(scheduler.Limits{}, time.Now), r.Env.Client),
	}
	digest, err := r.Inputs.Put(t.Context(), inputs.Document{Source: "sha256:code"})
	apiserver.Must(t, err)
	r.stack = &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
			Apply: v1alpha1.ApplyAutomatic, Timeout: &metav1.Duration{Duration: time.Hour}},
	}
	r.Make(r.stack)
	r.stack.Status.InputsDigest, r.stack.Status.LastRun = digest, "net-1"
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.run = &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{
			Name: "net-1",
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(r.stack, v1alpha1.GroupVersion.WithKind("Stack"))},
		},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: operation,
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: digest,
		},
	}
	r.Make(r.run)
	return r
}

// reconcile runs one pass and gives the Run after it.
func (r *testEnv) reconcile() *v1alpha1.Run {
	r.Helper()
	_, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.run)})
	apiserver.Must(r.T, err)
	r.Seen(r.run)
	return r.run
}

func (r *testEnv) pods() []corev1.Pod {
	r.Helper()
	var pods corev1.PodList
	apiserver.Must(r.T, r.Env.Live.List(r.Context(), &pods, client.InNamespace(r.run.Namespace)))
	return pods.Items
}

func (r *testEnv) expectAttempts(want ...string) {
	r.Helper()
	var got []string
	for _, a := range r.run.Status.Attempts {
		text := string(a.Phase)
		if a.Failure != nil {
			text += " " + string(a.Failure.Class)
		}
		got = append(got, text)
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		r.Errorf("attempts are %q, want %q", got, want)
	}
}

func TestReconcileCreatesOnePod(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.reconcile()
	r.expectAttempts("Plan")
	if pods := r.pods(); len(pods) != 1 || pods[0].Name != "net-1-plan-1" ||
		pods[0].UID != r.run.Status.Attempts[0].PodUID {
		t.Errorf("pods are %v", pods)
	}
}

// A Stack was deleted and recreated while a Run of the first one still exists: that Run does not belong to the second
// one.
func TestRunBelongsToTheStackThatCreatedIt(t *testing.T) {
	r := newTestEnv(t)
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.stack.ObjectMeta = metav1.ObjectMeta{Namespace: r.run.Namespace, Name: r.stack.Name}
	apiserver.Must(t, r.Env.Client.Create(t.Context(), r.stack))
	stack, err := index.StackOf(t.Context(), r.Env.Live, r.Env.Live, r.run)
	if err != nil || stack != nil {
		t.Errorf("the Run belongs to %v, %v", stack, err)
	}
}

// The operator crashed after it created the pod and before it recorded that: the next one adopts the pod.
func TestReconcileAdoptsAPodCreatedBeforeACrash(t *testing.T) {
	r := newTestEnv(t)
	pod, err := r.pod(t.Context(), r.run, r.stack, decision.Decision{Begin: v1alpha1.AttemptPlan}, 1)
	apiserver.Must(t, err)
	r.reconcile()
	r.expectAttempts("Plan")
	if got := r.run.Status.Attempts[0].PodUID; got != pod.UID {
		t.Errorf("the attempt names pod %s, not the one that was there, %s", got, pod.UID)
	}
	if n := len(r.pods()); n != 1 {
		t.Errorf("there are %d pods", n)
	}
}

// Two operators act on the same view: one pod is created, and the write of one operator is rejected.
func TestConcurrentOperatorsBeginOneAttempt(t *testing.T) {
	r := newTestEnv(t)
	stale := r.run.DeepCopy()
	r.reconcile()
	pod, err := r.pod(t.Context(), stale, r.stack, decision.Decision{Begin: v1alpha1.AttemptPlan}, 1)
	apiserver.Must(t, err)
	late := decision.Begin(stale.Status, decision.Decision{Begin: v1alpha1.AttemptPlan, Phase: v1alpha1.PhasePlanning,
		Reason: "Planning"}, 1, pod.Name, pod.UID, time.Now())
	if err := r.report(t.Context(), stale, late); err == nil {
		t.Error("the write of the operator that came late was accepted")
	}
	r.reconcile()
	r.expectAttempts("Plan")
	if n := len(r.pods()); n != 1 {
		t.Errorf("there are %d pods", n)
	}
}

func TestReconcileRejectsThePodOfAnotherOwner(t *testing.T) {
	r := newTestEnv(t)
	other := podspec.BuildPod(r.run, r.stack, inputs.Document{}, v1alpha1.AttemptPlan, 1, settings)
	other.OwnerReferences = nil
	apiserver.Must(t, r.Env.Client.Create(t.Context(), other))
	r.reconcile()
	r.expectAttempts()
	if c := r.run.Status.Conditions; len(c) == 0 || c[0].Reason != v1alpha1.ReasonPodCreateFailed ||
		!strings.Contains(c[0].Message, "is not of this Run") {
		t.Errorf("got %v", c)
	}
}

// Only the API server decides whether a pod is gone, not a cache.
func TestReconcileCountsAPodAsLostOnlyWhenItIsGone(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.reconcile()
	r.expectAttempts("Plan")
	pod := r.pods()[0]
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)))
	r.Gone(&pod)
	r.reconcile()
	r.expectAttempts("Plan PodLost")
	if r.run.Status.NextAttempt == nil {
		t.Error("no next try is planned")
	}
}

// A last report moves the Run to its next phase in one write. Sent again, it is accepted and changes nothing. A report
// of an attempt that has ended is rejected.
func TestReports(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	uid := r.run.Status.Attempts[0].PodUID
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: noPolicies}
	done := runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: "sha256:plan", Changes: true, Add: 1}}}

	if err := reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 2, done); !errors.Is(err,
		dispatch.ErrNotCurrent) {
		t.Errorf("a report on an attempt that is not: %v", err)
	}
	if err := reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), "another", 1, done); !errors.Is(err,
		dispatch.ErrNotCurrent) {
		t.Errorf("a report of another pod: %v", err)
	}
	before := r.run.ResourceVersion
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 1, done))
	r.Seen(r.run)
	if r.run.Status.Phase != v1alpha1.PhaseApplying || r.run.ResourceVersion == before {
		t.Errorf("the Run is %s", r.run.Status.Phase)
	}
	r.expectAttempts("Plan", "Apply")
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 1, done))
	after := r.run.ResourceVersion
	r.Seen(r.run)
	if r.run.ResourceVersion != after {
		t.Error("a report that was sent twice was written twice")
	}

	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 2,
		runnerapi.Report{Done: &runnerapi.Done{}}))
	r.Seen(r.run)
	if r.run.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Errorf("the Run is %s", r.run.Status.Phase)
	}
	if err := reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), uid, 2, runnerapi.Report{}); !errors.Is(
		err, dispatch.ErrNotCurrent) {
		t.Errorf("a late report: %v", err)
	}
}
