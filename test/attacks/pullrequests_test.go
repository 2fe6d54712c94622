package attacks

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/pullrequest"
	"cairn.dev/cairn/internal/run/podspec"
)

// The author of a pull request has its code read, in the pod of the plan, the credentials of the backend and of applies,
// and prints them in a form that no redaction knows.
func TestPullRequestReadsNoCredentialsOfTheBackend(t *testing.T) {
	secret := func(name string) v1alpha1.ObjectRef { return v1alpha1.ObjectRef{Name: name} }
	fromSecret := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "stolen-env"}}}}
	backend := &v1alpha1.Backend{
		Type: "pg", Config: map[string]apiextensionsv1.JSON{"schema_name": {Raw: []byte(`"stolen-schema"`)}},
		ConfigFrom: []v1alpha1.BackendConfig{{Secret: secret("stolen-backend")}},
	}
	template := &apiextensionsv1.JSON{Raw: []byte(`{"metadata":{"annotations":{"iam.amazonaws.com/role":"stolen-role"}},
		"spec":{"nodeSelector":{"disk":"ssd"},"volumes":[{"name":"v","secret":{"secretName":"stolen-volume"}}],
		"containers":[{"name":"engine","volumeMounts":[{"name":"v","mountPath":"/v"}]}]}}`)}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "net"}, Spec: v1alpha1.StackSpec{
		Backend: backend, EnvFrom: fromSecret, Env: []corev1.EnvVar{{Name: "TOKEN", Value: "stolen-token"}},
		Runner: v1alpha1.Runner{ServiceAccountName: "stolen-account", Template: template},
	}}
	applied := inputs.Document{
		Backend: backend, EnvFrom: fromSecret, Env: stack.Spec.Env, ServiceAccountName: "stolen-account", Template: template,
	}
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}, Spec: v1alpha1.RepositorySpec{
		PullRequests: &v1alpha1.PullRequests{Runner: &v1alpha1.PullRequestRunner{ServiceAccountName: "read"}},
	}}
	of := pullrequest.Proposed(repo, stack).Spec
	set := podspec.Settings{CABundle: func() []byte { return nil }, MetadataKeys: []string{"iam.amazonaws.com/role"}}
	for name, doc := range map[string]inputs.Document{
		"a plan": {
			Backend: of.Backend, EnvFrom: of.EnvFrom, Env: of.Env, ServiceAccountName: of.Runner.ServiceAccountName, Template: of.Runner.Template,
		},
		"a plan of a destruction": pullrequest.ProposedDestroy(applied, repo, stack),
	} {
		run := &v1alpha1.Run{Spec: v1alpha1.RunSpec{PullRequest: &v1alpha1.RunPullRequest{Name: "infra-12"}}}
		pod, err := podspec.New(run, stack, doc, v1alpha1.AttemptPlan, 1, set)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{pod, doc})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "stolen") || !strings.Contains(string(text), "ssd") || pod.Spec.ServiceAccountName != "read" {
			t.Errorf("%s: %s", name, text)
		}
	}
}
