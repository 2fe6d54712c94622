package pullrequest

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress/egresstest"
)

// A plan of a pull request has none of the credentials of its Stack, unless the Stack declares it. The Repository sets
// the identity of Stacks in its own namespace only: to others it would be one that their owner did not choose.
func TestPullRequestHasNoCredentialsOfTheStack(t *testing.T) {
	secret := []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cloud"}}}}
	for name, tt := range map[string]struct {
		namespace string
		settings  *v1alpha1.StackPullRequests
		want      string
		own       bool
	}{
		"the identity of the Repository": {"web", nil, "read", false},
		"another namespace":              {"shop", nil, "", false},
		"the identity of the Stack": {"shop",
			&v1alpha1.StackPullRequests{Runner: &v1alpha1.PullRequestRunner{ServiceAccountName: "mine"}},
			"mine", false},
		"it takes precedence": {"web", &v1alpha1.StackPullRequests{Runner: &v1alpha1.PullRequestRunner{}},
			"", false},
		"the Stack shares its credentials": {"shop", &v1alpha1.StackPullRequests{UseStackCredentials: true},
			"apply", true},
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

// secrets are the Secrets of a namespace.
type secrets map[string]map[string][]byte

func (s secrets) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	data, ok := s[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o.SetName(key.Name)
	o.(*corev1.Secret).Data = data
	return nil
}

func (secrets) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// atlantis #1742: git trusted the authority of a company, and the client of the API did not.
func TestTheClientOfTheAPITrustsTheAuthorityOfTheSecret(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Total-Count", "0")
		_, _ = w.Write([]byte("[]")) // the client reports it
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	token := []byte("t")
	for name, tt := range map[string]struct {
		secrets secrets
		want    string
	}{
		"in the Secret of pull requests": {secrets{"pulls": {"token": token, "ca.crt": ca}, "git": {}}, ""},
		"in the Secret of git":           {secrets{"pulls": {"token": token}, "git": {"ca.crt": ca}}, ""},
		"in none":                        {secrets{"pulls": {"token": token}, "git": {}}, "unknown authority"},
		"without a Secret of git":        {secrets{"pulls": {"token": token}}, "unknown authority"},
		"no certificate": {secrets{"pulls": {"token": token, "ca.crt": token}},
			"ca.crt has no certificate in it"},
	} {
		providers := &Providers{Live: tt.secrets, Web: func(trusted *x509.CertPool) *http.Client {
			return &http.Client{Transport: download.Trusting(egresstest.Loopback(), time.Minute, trusted)}
		}}
		repo := repositoryOf()
		repo.Spec.URL, repo.Spec.Credentials = server.URL+"/acme/infra.git",
			&v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "git"}}
		repo.Spec.PullRequests.Credentials.Secret.Name = "pulls"
		provider, err := providers.Of(t.Context(), repo)
		if err == nil {
			_, _, err = provider.Open(t.Context(), "")
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
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
		{"ssh://git@git.example.com:2222/acme/infra.git", "",
			"set spec.pullRequests.url: spec.url is no http or https URL"},
		{"https://git.example.com/infra", "",
			"spec.url has no owner and name of a repository: https://git.example.com/infra"},
	} {
		repo := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{URL: tt.remote,
			PullRequests: &v1alpha1.PullRequests{URL: tt.provider}}}
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
