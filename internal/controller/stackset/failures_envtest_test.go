//go:build envtest

package stackset

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	webhookv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// TestStackSetReportsRejectedStacks checks a quota: the other Stacks are written, the message has what to do, and the
// Stack is created once the quota permits it.
func TestStackSetReportsRejectedStacks(t *testing.T) {
	e := newEnv(t)
	const counted = corev1.ResourceName("count/stacks.cairn.dev")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}}
	raise := func(to string) { // as the controller of quotas does, which does not run here
		quota.Spec.Hard = corev1.ResourceList{counted: resource.MustParse(to)}
		if quota.UID == "" {
			quota.Namespace = e.Namespace
			apiserver.Must(t, e.Env.Client.Create(t.Context(), quota))
		}
		quota.Status.Hard = quota.Spec.Hard
		quota.Status.Used = corev1.ResourceList{counted: resource.MustParse("0")}
		apiserver.Must(t, e.Env.Client.Status().Update(t.Context(), quota))
		apiserver.Must(t, e.Env.Live.Get(t.Context(), client.ObjectKeyFromObject(quota), quota))
	}
	raise("0")
	e.expect("apply dev-app, apply dev-net, apply prod-net", v1alpha1.ReasonStackRejected)
	c := e.ready()
	for _, part := range []string{"Stack dev-app (Create)", "exceeded quota: few",
		"change what forbids it: a ResourceQuota", "and 2 more"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("message %q lacks %q", c.Message, part)
		}
	}
	if !apimeta.IsStatusConditionTrue(e.set.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("conditions %+v", e.set.Status.Conditions)
	}
	e.expect("", v1alpha1.ReasonStackRejected) // not at once again
	raise("10")
	e.ahead = 2 * firstRetry
	e.expect("apply dev-app, apply dev-net, apply prod-net", v1alpha1.ReasonRollingOut)
	if len(e.set.Status.Conditions) != 1 {
		t.Errorf("conditions %+v", e.set.Status.Conditions)
	}
}

// webhook is an admission webhook of Stacks in a namespace.
type webhook struct{ fails atomic.Bool }

func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if h.fails.Load() || json.NewDecoder(r.Body).Decode(review) != nil {
		http.Error(w, "the database is down", http.StatusInternalServerError)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(w).Encode(review)
}

// serve begins to fail, and waits until the API server calls it.
func (h *webhook) serve(e *env) {
	e.Helper()
	h.fails.Store(true)
	server := httptest.NewTLSServer(h)
	e.Cleanup(server.Close)
	config := &webhookv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}
	config.Webhooks = []webhookv1.ValidatingWebhook{{
		Name: "stacks.example.com", AdmissionReviewVersions: []string{"v1"},
		SideEffects: new(webhookv1.SideEffectClassNone), FailurePolicy: new(webhookv1.Fail),
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Namespace}},
		Rules: []webhookv1.RuleWithOperations{{
			Operations: []webhookv1.OperationType{webhookv1.Create, webhookv1.Update},
			Rule: webhookv1.Rule{APIGroups: []string{"cairn.dev"}, APIVersions: []string{"*"},
				Resources: []string{"stacks"}},
		}},
		ClientConfig: webhookv1.WebhookClientConfig{URL: &server.URL, CABundle: pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
	}}
	apiserver.Must(e.T, e.Env.Client.Create(e.Context(), config))
	e.Cleanup(func() { _ = e.Env.Client.Delete(e.Context(), config) })
	probe := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "probe"}}
	probe.Spec.Source.Inline = map[string]string{"main.tf": ""}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := client.NewDryRunClient(e.Env.Client).Create(e.Context(), probe.DeepCopy())
		if err != nil && strings.Contains(err.Error(), "stacks.example.com") {
			return
		}
		if time.Now().After(end) {
			e.Fatalf("the webhook is not called: %v", err)
		}
	}
}

// TestStackSetReportsStacksThatCannotBeWritten checks an admission webhook that answers 500: it is in the condition,
// tried again at growing intervals, and cleared once it works.
func TestStackSetReportsStacksThatCannotBeWritten(t *testing.T) {
	e, hook := newEnv(t), &webhook{}
	hook.serve(e)
	const all = "apply dev-app, apply dev-net, apply prod-net"
	e.expect(all, v1alpha1.ReasonStackWriteFailed)
	c := e.ready()
	for _, part := range []string{"Stack dev-app cannot be written (Create)", "stacks.example.com",
		"check the API server", "tried again", "and 2 more"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("message %q lacks %q", c.Message, part)
		}
	}
	if c.Status != metav1.ConditionFalse || len(e.set.Status.Conditions) != 1 { // it ends without a user
		t.Errorf("conditions %+v", e.set.Status.Conditions)
	}
	e.expect("", v1alpha1.ReasonStackWriteFailed)
	e.ahead = firstRetry
	e.expect(all, v1alpha1.ReasonStackWriteFailed)
	e.ahead = 2 * firstRetry // the second interval is longer
	e.expect("", v1alpha1.ReasonStackWriteFailed)
	hook.fails.Store(false)
	e.ahead = 4 * firstRetry
	e.expect(all, v1alpha1.ReasonRollingOut)
	e.apply("dev-app", "dev-net", "prod-net")
	e.expect("", v1alpha1.ReasonComplete)

	// A Stack that exists and cannot be changed is reported too.
	hook.fails.Store(true)
	e.declare(func(s *v1alpha1.StackSet) {
		s.Spec.Template = parse(t, strings.ReplaceAll(template, "value: eu", "value: us"))
	})
	e.expect(all, v1alpha1.ReasonStackWriteFailed)
	if c := e.ready(); !strings.Contains(c.Message, "Stack dev-app cannot be written (Change)") {
		t.Errorf("message %q", c.Message)
	}
}
