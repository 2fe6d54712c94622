//go:build envtest

package run

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"k8s.io/utils/ptr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// Parts of the status of pods, in the words of a kubelet.
const (
	ready  = `{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}, {type: PodScheduled, status: "True"}`
	atWork = `initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}], containerStatuses: [{name: engine, ready: true, state: {running: {}}}]`
)

// endedAs is a pod that ended as its engine's container did.
func endedAs(terminated string) string {
	return `phase: Failed, initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}], containerStatuses: [{name: engine, state: {terminated: ` + terminated + `}}]`
}

// podOnNode returns the first pod, bound to a node and running.
func (r *testEnv) podOnNode() *corev1.Pod {
	r.Helper()
	r.reconcile()
	pod := &r.pods()[0]
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		Target: corev1.ObjectReference{Kind: "Node", Name: "node-a"}}
	apiserver.Must(r.T, r.Env.Client.SubResource("binding").Create(r.Context(), pod, binding))
	r.setPodStatus(pod, `{phase: Running, conditions: [`+ready+`], `+atWork+`}`)
	return pod
}

// setPodStatus writes the status of a pod as a kubelet or controller does.
func (r *testEnv) setPodStatus(pod *corev1.Pod, status string) {
	r.Helper()
	r.Seen(pod)
	said := corev1.PodStatus{}
	apiserver.Must(r.T, yaml.UnmarshalStrict([]byte(status), &said))
	for _, c := range pod.Status.Conditions { // it is not the kubelet's
		if c.Type == corev1.DisruptionTarget {
			said.Conditions = append(said.Conditions, c)
		}
	}
	pod.Status = said
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = metav1.Now()
		}
	}
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), pod))
	r.Seen(pod)
}

// expectCondition checks the reason of the condition of the Run, and the texts in its message.
func (r *testEnv) expectCondition(reason string, texts ...string) {
	r.Helper()
	c := r.run.Status.Conditions
	if len(c) == 0 || c[0].Reason != reason {
		r.Fatalf("the Run says %v, want %s", c, reason)
	}
	for _, text := range texts {
		if !strings.Contains(c[0].Message, text) {
			r.Errorf("the Run says %q, and not %q", c[0].Message, text)
		}
	}
}

// beginApply finishes the plan and begins the apply.
func (r *testEnv) beginApply() {
	r.updateStatus(func(s *v1alpha1.RunStatus) {
		now := metav1.NowMicro()
		s.Attempts[0].FinishedAt, s.Plan = &now, &v1alpha1.Plan{Digest: "sha256:plan", Changes: true}
	})
	r.reconcile()
	r.expectAttempts("Plan", "Apply")
}

// A node that does not respond reports nothing, so no attempt begins until another component reports that the pod is
// gone.
func TestReconcileWaitsForAnUnresponsiveNode(t *testing.T) {
	r := newTestEnv(t)
	pod := r.podOnNode()
	r.beginApply()
	r.setPodStatus(pod, `{phase: Running, conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-11-20T12:03:00Z"}, {type: ContainersReady, status: "True"}], `+atWork+`}`)
	r.reconcile()
	r.expectCondition(v1alpha1.ReasonNodeUnreachable, "node node-a does not answer since 2026-11-20 12:03:00Z",
		"the state stays locked", "kubectl delete pod net-1-plan-1 --force")

	// The taint manager deletes it, and no kubelet ends it.
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), pod))
	r.Seen(pod)
	for range 2 {
		before := r.run.ResourceVersion
		r.reconcile()
		r.expectAttempts("Plan", "Apply")
		r.expectCondition(v1alpha1.ReasonNodeUnreachable)
		if r.run.ResourceVersion != before {
			t.Error("what does not change is written again")
		}
	}
	if n := len(r.pods()); n != 1 {
		t.Errorf("there are %d pods", n)
	}

	// The node is taken for gone, and its pods with it, without a word of it.
	r.setPodStatus(pod, `{phase: Failed, conditions: [{type: Ready, status: "False"}, {type: ContainersReady, status: "True"}, {type: DisruptionTarget, status: "True", reason: DeletionByPodGC, message: "PodGC: node no longer exists"}], `+atWork+`}`)
	r.reconcile()
	r.expectAttempts("Plan", "Apply")
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	r.Gone(pod)
	r.reconcile()
	r.expectAttempts("Plan", "Apply PodLost")
	if got := runinfo.Current(&r.run.Status).Failure.Message; !strings.HasPrefix(got,
		"pod net-1-plan-1 is gone before it reported: node node-a does not answer since") {
		t.Errorf("it says %q", got)
	}
}

// A drain interrupts the runner, which reports that much; the pod says that it was a drain.
func TestReportOfADrain(t *testing.T) {
	r := newTestEnv(t)
	pod := r.podOnNode()
	apiserver.Must(t, r.Env.Client.SubResource("eviction").Create(t.Context(), pod,
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}))
	r.Seen(pod)
	r.reconcile()
	r.expectCondition(v1alpha1.ReasonPodTerminating, "pod net-1-plan-1 was evicted from node node-a through the API, "+
		"as a drain of the node does (Eviction API: evicting) and has until ")
	r.reportInterrupt()
	r.expectAttempts("Plan Transient")
	const want = "interrupted: pod net-1-plan-1 was evicted from node node-a through the API, as a drain of the node " +
		"does: Eviction API: evicting"
	if got := runinfo.Current(&r.run.Status).Failure.Message; got != want {
		t.Errorf("it says %q", got)
	}
	r.expectCondition(v1alpha1.ReasonRetrying, want)
}

// reportInterrupt reports that the runner of the current attempt was interrupted.
func (r *testEnv) reportInterrupt() {
	r.Helper()
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: noPolicies}
	done := runnerapi.Report{Done: &runnerapi.Done{Failure: &runnerapi.Failure{Class: "Transient",
		Reason: runnerapi.ReasonInterrupted, Message: runnerapi.Interrupted}}}
	a := runinfo.Current(&r.run.Status)
	apiserver.Must(r.T, reports.Report(r.Context(), client.ObjectKeyFromObject(r.run), a.PodUID, a.Number, done))
	r.Seen(r.run)
}

// A kubelet that evicts says so only once all has ended, which is after the runner's report.
func TestReconcileExplainsAnEviction(t *testing.T) {
	r := newTestEnv(t)
	pod := r.podOnNode()
	r.reportInterrupt()
	r.expectCondition(v1alpha1.ReasonRetrying, "interrupted: pod net-1-plan-1 was terminated by its node")
	r.setPodStatus(pod, `{reason: Evicted, message: "The node was low on resource: memory. ", `+
		endedAs(`{exitCode: 0, reason: Completed}`)+`}`)
	r.reconcile()
	r.expectCondition(v1alpha1.ReasonRetrying, "interrupted: pod net-1-plan-1 was evicted by node node-a: The node "+
		"was low on resource: memory.")
	before := r.run.ResourceVersion
	r.reconcile()
	if r.run.ResourceVersion != before {
		t.Error("it is explained twice")
	}
}

// A pod whose image cannot be pulled keeps its place for a limited time.
func TestReconcileEndsAPodThatDoesNotStart(t *testing.T) {
	r := newTestEnv(t)
	r.setLimits(scheduler.Limits{Namespace: 1})
	next := r.withStack("web", "")
	r.reconcile()
	next.reconcile()
	next.expectCondition(v1alpha1.ReasonQueued)
	pod := &r.pods()[0]
	r.setPodStatus(pod, `{phase: Pending, containerStatuses: [{name: engine, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "registry/tools:1"'}}}]}`)
	r.reconcile()
	r.expectCondition(v1alpha1.ReasonPodPending,
		`pod net-1-plan-1: ImagePullBackOff: Back-off pulling image "registry/tools:1"`)
	r.updateStatus(func(s *v1alpha1.RunStatus) {
		s.Attempts[0].StartedAt = metav1.NewMicroTime(s.Attempts[0].StartedAt.Add(-5 * time.Minute))
	})
	r.reconcile()
	r.expectAttempts("Plan Transient")
	r.expectCondition(v1alpha1.ReasonRetrying, "cannot start: ImagePullBackOff", "given up after 5m")
	r.expectWoken(next)
	for _, pod := range r.pods() {
		if pod.Name == "net-1-plan-1" && pod.DeletionTimestamp == nil {
			t.Error("its pod stays")
		}
	}
}

// A pod that the API server rejects is reported, requested again, and keeps no place.
func TestReconcileReportsWhyAPodIsRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		guard func(*testEnv)
		says  []string
	}{
		"a LimitRange that asks for more": {
			func(r *testEnv) { r.limitRange(corev1.LimitRangeItem{Min: memoryOf("1Gi")}) },
			[]string{"minimum memory usage per Container is 1Gi",
				"; the LimitRange asks for it: set the resources of container runner (requests cpu 10m, memory 32Mi) " +
					"in spec.runner.template, of container engine (requests cpu 100m, memory 256Mi) in " +
					"spec.runner.resources"},
		},
		"a LimitRange that lets less": {
			func(r *testEnv) { r.limitRange(corev1.LimitRangeItem{Max: memoryOf("1Mi")}) },
			[]string{"must be less than or equal to memory limit of 1Mi",
				"; a limit, which a LimitRange may have set, is below what is asked for: set the resources of " +
					"container runner (requests cpu 10m, memory 32Mi) in spec.runner.template, of container engine"},
		},
		"a webhook that is away": {
			func(r *testEnv) {
				fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
				hook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
					Name: r.Namespace}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
					Name: "pods.example.com", FailurePolicy: &fail, SideEffects: &none,
					AdmissionReviewVersions: []string{"v1"},
					ClientConfig: admissionregistrationv1.WebhookClientConfig{
						URL: ptr.To("https://127.0.0.1:1/")},
					NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{"kubernetes.io/metadata.name": r.Namespace}},
					Rules: []admissionregistrationv1.RuleWithOperations{{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"pods"}},
					}},
				}}}
				apiserver.Must(r.T, r.Env.Client.Create(r.Context(), hook))
				// its namespace is this test's alone
				r.Cleanup(func() { _ = apiserver.Kube.Delete(context.Background(), hook) })
			}, []string{`failed calling webhook "pods.example.com"`, "that webhook has to answer again"},
		},
		"a namespace that is deleted": {
			func(r *testEnv) {
				apiserver.Must(r.T,
					r.Env.Client.Delete(r.Context(),
						&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}))
			}, []string{"is being deleted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestEnv(t)
			r.setLimits(scheduler.Limits{Namespace: 1})
			tt.guard(r)
			r.expectGuard()
			r.reconcile()
			r.expectAttempts()
			r.expectCondition(v1alpha1.ReasonPodCreateFailed, append(tt.says, "the pod cannot be created")...)
			if r.run.Status.Phase != v1alpha1.PhaseQueued {
				t.Errorf("it is %s", r.run.Status.Phase)
			}
			before := r.run.ResourceVersion
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.run)})
			apiserver.Must(t, err)
			r.Seen(r.run)
			if result.RequeueAfter < minRetry || result.RequeueAfter > maxRetry || r.run.ResourceVersion != before {
				t.Errorf("it is retried after %s, and written again: %v", result.RequeueAfter,
					r.run.ResourceVersion != before)
			}
			other := r.run.DeepCopy()
			other.Name, other.UID = "web-1", "other"
			if v, err := r.Scheduler.Admit(t.Context(), other, r.stack, v1alpha1.AttemptPlan); err != nil || !v.Start {
				t.Errorf("it keeps its place: %s", v.Message())
			}
		})
	}
}

func memoryOf(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}
}

func (r *testEnv) limitRange(item corev1.LimitRangeItem) {
	r.Helper()
	item.Type = corev1.LimitTypeContainer
	apiserver.Must(r.T, r.Env.Client.Create(r.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "limits"},
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
	}))
}

// expectGuard waits until the API server rejects the pod.
func (r *testEnv) expectGuard() {
	r.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		pod := podspec.BuildPod(r.run, r.stack, inputs.Document{}, v1alpha1.AttemptPlan, 1, settings)
		if err := apiserver.Kube.Create(r.Context(), pod, client.DryRunAll); err != nil {
			return
		}
	}
	r.Fatal("nothing keeps the pod from being made")
}
