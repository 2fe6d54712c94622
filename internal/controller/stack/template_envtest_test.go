//go:build envtest

package stack

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

func (r *testEnv) template(text string) {
	r.Helper()
	r.spec(func(s *v1alpha1.StackSpec) { s.Runner.Template = &apiextensionsv1.JSON{Raw: []byte(text)} })
}

// TestRunnerTemplateIsAnInput checks that an invalid template stops the Stack before a Run is created, and that a
// changed template starts a Run.
func TestRunnerTemplateIsAnInput(t *testing.T) {
	r := newTestEnv(t)
	r.template(`{"spec":{"nodeSelektor":{"pool":"a<b"}}}`)
	r.reconcile()
	r.expect("False", "TemplateInvalid", "")
	if c := r.stack.Status.Conditions; !strings.Contains(c[0].Message, `unknown field "spec.nodeSelektor"`) {
		t.Errorf("the conditions are %v", c)
	}

	r.template(`{"spec":{"nodeSelector":{"pool":"a<b"}}}`)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")

	r.template(`{"spec":{"nodeSelector":{"pool":"b"}}}`)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	run := &v1alpha1.Run{}
	apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: "net-2"}, run))
	if run.Spec.Cause.Message != "spec.runner changed" {
		t.Errorf("the cause is %q", run.Spec.Cause.Message)
	}
}

// TestReferencesOfARunnerTemplate checks that referenced objects have to exist. A new version of an object in the
// environment starts a Run, one of a mounted object does not.
func TestReferencesOfARunnerTemplate(t *testing.T) {
	r := newTestEnv(t)
	r.template(`{"spec":{"volumes":[{"name":"ca","secret":{"secretName":"ca"}}],"containers":[{"name":"engine","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"login","key":"a"}}}]}]}}`)
	r.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}})
	r.reconcile()
	r.expect("False", "SecretNotFound", "")
	r.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}})
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()

	for _, tt := range []struct{ secret, reason, runs string }{{"ca", "Applied", "net-1 "},
		{"login", "Running", "net-1 net-2 "}} {
		secret := &corev1.Secret{}
		apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: tt.secret},
			secret))
		secret.StringData = map[string]string{"a": "changed"}
		apiserver.Must(t, r.Env.Client.Update(t.Context(), secret))
		r.Seen(apiserver.Metadata("Secret", secret.Namespace, secret.Name))
		r.reconcile()
		r.expect(map[bool]metav1.ConditionStatus{true: "True", false: "Unknown"}[tt.reason == "Applied"],
			tt.reason, tt.runs)
	}
}
