//go:build envtest

package pullrequest

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// provider is the API of a Gitea with some pull requests. Its real behavior is tested in test/gitea.
type provider struct {
	pulls    []map[string]any
	broken   atomic.Bool
	requests atomic.Int32
}

func giteaPull(number int, state, commit string) map[string]any {
	return map[string]any{
		"number": number, "title": "Change", "state": state, "user": map[string]any{"login": "alice"},
		"updated_at": "2026-11-27T12:00:00Z",
		"merged":     state == "closed",
		"head":       map[string]any{"ref": "change", "sha": commit, "repo": map[string]any{"id": 1}},
		"base":       map[string]any{"ref": "main", "sha": headTwo, "repo_id": 1, "repo": map[string]any{"id": 1}},
	}
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	if p.broken.Load() {
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
		return
	}
	var open []map[string]any
	for _, pull := range p.pulls {
		if strings.HasSuffix(r.URL.Path, fmt.Sprintf("/pulls/%d", pull["number"])) {
			_ = json.NewEncoder(w).Encode(pull) // the client reports it
			return
		}
		if pull["state"] == "open" {
			open = append(open, pull)
		}
	}
	w.Header().Set("X-Total-Count", fmt.Sprint(len(open)))
	_ = json.NewEncoder(w).Encode(open) // the client reports it
}

// discovered is a Discovery between a real API server and a Git provider.
type discovered struct {
	apiserver.Env
	*Discovery
	provider *provider
	repo     *v1alpha1.Repository
}

func newDiscovered(t *testing.T, pulls ...map[string]any) *discovered {
	d := &discovered{
		Env: apiserver.New(t, apiserver.Index{Of: &v1alpha1.PullRequest{}, Field: repository.PullRequestIndex,
			Values: repository.IndexPullRequest}),
		provider: &provider{pulls: pulls},
	}
	server := httptest.NewServer(d.provider)
	t.Cleanup(server.Close)
	d.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pulls"}, Data: map[string][]byte{"token": []byte("t")}})
	d.repo = &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{
		URL: server.URL + "/acme/infra.git", PullRequests: &v1alpha1.PullRequests{
			Provider:    v1alpha1.GitProviderGitea,
			Credentials: v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "pulls"}},
		},
	}}
	d.Make(d.repo)
	d.Discovery = &Discovery{Client: d.Env.Client,
		Provider: (&Providers{Live: d.Env.Live, Web: func(*x509.CertPool) *http.Client {
			return http.DefaultClient
		}}).Of}
	return d
}

// look lists the pull requests as soon as that is due.
func (d *discovered) look() ctrl.Result {
	d.Helper()
	key := client.ObjectKeyFromObject(d.repo)
	if last, ok := d.lists.get(key); ok {
		last.at = time.Time{}
		d.lists.add(key, last)
	}
	result, err := d.Reconcile(d.Context(), ctrl.Request{NamespacedName: key})
	apiserver.Must(d.T, err)
	return result
}

// known are the PullRequests by number.
func (d *discovered) known() map[int64]v1alpha1.PullRequest {
	d.Helper()
	var list v1alpha1.PullRequestList
	apiserver.Must(d.T, d.Env.Live.List(d.Context(), &list, client.InNamespace(d.Namespace)))
	all := map[int64]v1alpha1.PullRequest{}
	for _, pull := range list.Items {
		all[pull.Spec.Number] = pull
		d.Seen(&pull)
	}
	return all
}

func (d *discovered) condition() string {
	d.Helper()
	repo := &v1alpha1.Repository{}
	apiserver.Must(d.T, d.Env.Live.Get(d.Context(), client.ObjectKeyFromObject(d.repo), repo))
	d.Seen(repo)
	if c := apimeta.FindStatusCondition(repo.Status.Conditions, v1alpha1.ConditionPullRequests); c != nil {
		return c.Reason
	}
	return ""
}

// An unchanged list costs one request and no write, also with a pull request that the API server rejects, such as one
// without commits.
func TestDiscovery(t *testing.T) {
	d := newDiscovered(t, giteaPull(1, "open", headOne), giteaPull(2, "open", ""), giteaPull(3, "open", headTwo))
	if result := d.look(); result.RequeueAfter != time.Minute {
		t.Errorf("again after %s", result.RequeueAfter)
	}
	first := d.known()
	if len(first) != 2 || first[1].Spec.Head.Commit != headOne ||
		!strings.HasPrefix(first[1].Spec.Author, "gitea:127.0.0.1:") || d.condition() != v1alpha1.ReasonListed {
		t.Fatalf("%+v, %s", first, d.condition())
	}
	before := d.provider.requests.Load()
	d.look()
	second := d.known()
	if n := d.provider.requests.Load() - before; n != 1 || second[1].ResourceVersion != first[1].ResourceVersion {
		t.Errorf("an unchanged list: %d requests, version %s after %s", n, second[1].ResourceVersion,
			first[1].ResourceVersion)
	}
	d.provider.pulls[0] = giteaPull(1, "closed", headOne)
	d.provider.pulls[2] = giteaPull(3, "open", headOne)
	d.look()
	third := d.known()
	if third[1].Spec.State != v1alpha1.PullRequestMerged || third[3].Spec.Head.Commit != headOne {
		t.Errorf("%+v", third)
	}
}

// Of two Repositories with the same statuses of the same pull requests the last one would count, also a success after a
// failure.
func TestTwoRepositoriesDoNotShareAStatusContext(t *testing.T) {
	d := newDiscovered(t, giteaPull(1, "open", headOne))
	d.look()
	if d.condition() != v1alpha1.ReasonListed {
		t.Fatal(d.condition())
	}
	first := d.repo
	d.repo = &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: *first.Spec.DeepCopy()}
	d.repo.Spec.URL = strings.Replace(first.Spec.URL, "/acme/infra.git", "/Acme/infra", 1)
	d.Make(d.repo)
	mine := func() int {
		all, n := d.known(), 0
		for _, pull := range all {
			if pull.Spec.Repository.Name == "second" {
				n++
			}
		}
		return n
	}
	if d.look(); d.condition() != v1alpha1.ReasonStatusContextInUse || mine() > 0 {
		t.Errorf("the same statuses: %s, %d PullRequests", d.condition(), mine())
	}
	second := d.repo
	d.repo = first
	if d.look(); d.condition() != v1alpha1.ReasonListed {
		t.Errorf("the first one: %s", d.condition())
	}
	apiserver.Must(t, d.Env.Live.Get(t.Context(), client.ObjectKeyFromObject(second), second))
	second.Spec.PullRequests.StatusContext = "cairn-eu"
	apiserver.Must(t, d.Env.Client.Update(t.Context(), second))
	d.repo = second
	d.Seen(second)
	if d.look(); d.condition() != v1alpha1.ReasonListed {
		t.Errorf("statuses of its own: %s", d.condition())
	}
}

// A provider that fails is reported and asked less and less often; nothing is deleted. burrito #333: a failure was not
// reported.
func TestDiscoveryReportsFailures(t *testing.T) {
	d := newDiscovered(t, giteaPull(1, "open", headOne))
	d.look()
	d.known()
	d.provider.broken.Store(true)
	var waits []time.Duration
	for range 3 {
		waits = append(waits, d.look().RequeueAfter)
	}
	if waits[0] != 10*time.Second || waits[1] != 20*time.Second || waits[2] != 40*time.Second ||
		d.condition() != v1alpha1.ReasonProviderFailed {
		t.Errorf("%v, %s", waits, d.condition())
	}
	if len(d.known()) != 1 {
		t.Error("the PullRequest was deleted")
	}
	d.provider.broken.Store(false)
	if d.look(); d.condition() != v1alpha1.ReasonListed {
		t.Error(d.condition())
	}
	apiserver.Must(t, d.Env.Client.Delete(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "pulls"}}))
	if d.look(); d.condition() != v1alpha1.ReasonCredentialsNotFound {
		t.Error(d.condition())
	}
}

// A closed pull request whose commits are gone ends, and holds up no other. Bitbucket Cloud has no commits of a deleted
// fork.
func TestAClosedPullRequestWithoutCommitsEnds(t *testing.T) {
	d := newDiscovered(t, giteaPull(1, "open", headOne))
	d.look()
	d.known()
	d.provider.pulls[0] = giteaPull(1, "closed", "")
	d.look()
	if got := d.known()[1].Spec; got.State != v1alpha1.PullRequestMerged || got.Head.Commit != headOne {
		t.Errorf("%+v", got)
	}
}

// An automatic merge needs an apply before the merge, and a request that names the head.
func TestSettingsOfAnAutomaticMerge(t *testing.T) {
	env := apiserver.New(t)
	method := func(m v1alpha1.MergeMethod) *v1alpha1.AutomaticMerge { return &v1alpha1.AutomaticMerge{Method: m} }
	for name, tt := range map[string]struct {
		settings v1alpha1.PullRequests
		want     string
	}{
		"gitea": {v1alpha1.PullRequests{Provider: "Gitea", Apply: "BeforeMerge", AutomaticMerge: method("Rebase")},
			""},
		"after": {v1alpha1.PullRequests{Provider: "Gitea", Apply: "AfterMerge", AutomaticMerge: method("Merge")},
			"requires apply: BeforeMerge"},
		"unset": {v1alpha1.PullRequests{Provider: "Gitea", AutomaticMerge: method("Merge")},
			"requires apply: BeforeMerge"},
		"cloud": {v1alpha1.PullRequests{Provider: "Bitbucket", Apply: "BeforeMerge", AutomaticMerge: method("Merge")},
			"not supported for Bitbucket Cloud"},
		"gitlab": {v1alpha1.PullRequests{Provider: "GitLab", Apply: "BeforeMerge", AutomaticMerge: method("Squash")},
			""},
		"rebase": {v1alpha1.PullRequests{Provider: "GitLab", Apply: "BeforeMerge", AutomaticMerge: method("Rebase")},
			"of GitLab is Merge or Squash"},
		"other": {v1alpha1.PullRequests{Provider: "Gitea", Apply: "BeforeMerge", AutomaticMerge: method("Octopus")},
			"Unsupported value"},
	} {
		tt.settings.Credentials.Secret.Name = "pulls"
		repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name},
			Spec: v1alpha1.RepositorySpec{
				URL: "https://git.example.com/acme/infra.git", PullRequests: &tt.settings,
			}}
		err := env.Client.Create(t.Context(), repo)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
