package pullrequest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// A plan of a pull request has none of the credentials of its Stack, unless the Stack declares it. The Repository sets the
// identity of Stacks in its own namespace only: to others it would be one that their owner did not choose.
func TestPullRequestHasNoCredentialsOfTheStack(t *testing.T) {
	secret := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cloud"}}}}
	for name, tt := range map[string]struct {
		namespace string
		settings  *v1alpha1.StackPullRequests
		want      string
		own       bool
	}{
		"the identity of the Repository":   {"web", nil, "read", false},
		"another namespace":                {"shop", nil, "", false},
		"the identity of the Stack":        {"shop", &v1alpha1.StackPullRequests{Runner: &v1alpha1.PullRequestRunner{ServiceAccountName: "mine"}}, "mine", false},
		"it takes precedence":              {"web", &v1alpha1.StackPullRequests{Runner: &v1alpha1.PullRequestRunner{}}, "", false},
		"the Stack shares its credentials": {"shop", &v1alpha1.StackPullRequests{UseStackCredentials: true}, "apply", true},
	} {
		repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "web"}, Spec: v1alpha1.RepositorySpec{
			PullRequests: &v1alpha1.PullRequests{Runner: &v1alpha1.PullRequestRunner{ServiceAccountName: "read"}},
		}}
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: tt.namespace}, Spec: v1alpha1.StackSpec{
			Env: []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}, EnvFrom: secret, PullRequests: tt.settings,
			Runner: v1alpha1.Runner{ServiceAccountName: "apply", Template: &apiextensionsv1.JSON{Raw: []byte(
				`{"spec":{"nodeSelector":{"disk":"ssd"},"containers":[{"name":"engine","env":[{"name":"KEY","value":"secret"}]}]}}`)}},
		}}
		got := Proposed(repo, stack).Spec
		template := string(got.Runner.Template.Raw)
		if got.Runner.ServiceAccountName != tt.want || !strings.Contains(template, "ssd") {
			t.Errorf("%s: ServiceAccount %q, template %s", name, got.Runner.ServiceAccountName, template)
		}
		if has := len(got.Env) > 0 || len(got.EnvFrom) > 0 || strings.Contains(template, "secret"); has != tt.own {
			t.Errorf("%s: env %v, envFrom %v, template %s", name, got.Env, got.EnvFrom, template)
		}
		if stack.Spec.Runner.ServiceAccountName != "apply" || len(stack.Spec.Env) != 1 {
			t.Fatal("the Stack was changed")
		}
	}
}

func TestLocate(t *testing.T) {
	for _, tt := range []struct{ remote, provider, want string }{
		{"https://git.example.com/acme/infra.git", "", "https://git.example.com acme/infra"},
		{"http://git.example.com:3000/acme/infra", "", "http://git.example.com:3000 acme/infra"},
		{"https://gitlab.com/acme/platform/infra.git", "", "https://gitlab.com acme/platform/infra"},
		{"https://example.com/gitea/acme/infra/", "https://example.com/gitea/", "https://example.com/gitea acme/infra"},
		{"git@git.example.com:acme/infra.git", "https://git.example.com", "https://git.example.com acme/infra"},
		{"git@git.example.com:acme/infra.git", "", "set spec.pullRequests.url: spec.url is no http or https URL"},
		{"ssh://git@git.example.com:2222/acme/infra.git", "", "set spec.pullRequests.url: spec.url is no http or https URL"},
		{"https://git.example.com/infra", "", "spec.url has no owner and name of a repository: https://git.example.com/infra"},
	} {
		repo := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{URL: tt.remote, PullRequests: &v1alpha1.PullRequests{URL: tt.provider}}}
		got := ""
		if base, path, err := locate(repo); err != nil {
			got = err.Error()
		} else {
			got = base.String() + " " + strings.Join(path, "/")
		}
		if got != tt.want {
			t.Errorf("%s: %s", tt.remote, got)
		}
	}
}
