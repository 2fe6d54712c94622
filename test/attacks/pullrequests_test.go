package attacks

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// The author of a pull request has its code read, in the pod of the plan, the credentials of the backend and of
// applies, and prints them in a form that no redaction knows.
func TestPullRequestReadsNoCredentialsOfTheBackend(t *testing.T) {
	secret := func(name string) v1alpha1.ObjectRef { return v1alpha1.ObjectRef{Name: name} }
	fromSecret := []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "stolen-env"}}}}
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
		Backend: backend, EnvFrom: fromSecret, Env: stack.Spec.Env, ServiceAccountName: "stolen-account",
		Template: template,
	}
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}, Spec: v1alpha1.RepositorySpec{
		PullRequests: &v1alpha1.PullRequests{Runner: &v1alpha1.PullRequestRunner{ServiceAccountName: "read"}},
	}}
	of := pullrequest.Proposed(repo, stack).Spec
	set := podspec.Settings{CABundle: func() []byte { return nil }, MetadataKeys: []string{"iam.amazonaws.com/role"}}
	for name, doc := range map[string]inputs.Document{
		"a plan": {
			Backend: of.Backend, EnvFrom: of.EnvFrom, Env: of.Env, ServiceAccountName: of.Runner.ServiceAccountName,
			Template: of.Runner.Template,
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
		if strings.Contains(string(text), "stolen") || !strings.Contains(string(text), "ssd") ||
			pod.Spec.ServiceAccountName != "read" {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// The author of a fork, which a user with the verb plan allows, pushes another head before the comment is read, or one
// whose ID begins in the same way.
func TestForkCannotSwapItsHeadUnderACommand(t *testing.T) {
	const read, pushed = "1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012345", "1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012346"
	stack := command.Stack{Namespace: "prod", Name: "net", Affected: true, Verbs: []string{"plan"}}
	for body, want := range map[string]bool{
		"/cairn plan": false, "/cairn plan " + read: false, "/cairn plan " + pushed[:12]: false, "/cairn plan " +
			pushed: true,
	} {
		parsed, err := command.Parse(command.Comment{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		d := command.Decide(command.Snapshot{
			Command: *parsed, User: "gitea:git.example.com:alice", Head: pushed, Restricted: true,
			Stacks: []command.Stack{stack},
		})
		if d.Allowed() != want {
			t.Errorf("%s: allowed %t: %s", body, d.Allowed(), d.Text())
		}
	}
}

// A user without the verb plan pushes a commit to the branch of a pull request that a user with the verb opened.
func TestCommitOfAnotherUserIsNotPlannedWithoutACommand(t *testing.T) {
	// The Git provider has the users of commits; those that it does not know are unknown, and not the author.
	for body, want := range map[string][]string{
		`[{"sha":"h","author":{"login":"mallory"},"committer":{"login":"alice"}}]`: {"alice", "mallory"},
		`[{"sha":"h","author":null,"committer":null}]`:                             {""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Total-Count", "1")
			_, _ = w.Write([]byte(body))
		}))
		client := pulls.NewGitea(pulls.GiteaOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		got, err := client.(pulls.Committers).Committers(t.Context(), 12, "h")
		server.Close()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}
