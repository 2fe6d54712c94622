//go:build envtest

package repository

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

func TestFirstFetch(t *testing.T) {
	r := newEnv(t)
	repo := r.declare(r.remote("infra"))
	r.http.Hang(true)
	r.pass(repo)
	r.expect(repo, "Unknown", "Fetching")
	if repo.Status.LastFetch != nil || len(repo.Status.Refs) != 0 {
		t.Errorf("the status is not empty before the first fetch: %+v", repo.Status)
	}
	r.http.Hang(false)
	wait := r.settle(repo)
	r.expect(repo, "True", "Fetched")
	if wait < 4*time.Minute || wait > 5*time.Minute {
		t.Errorf("the next reconciliation is in %s", wait)
	}
	if repo.Status.LastFetch == nil || repo.Status.ObservedGeneration != repo.Generation {
		t.Errorf("%+v", repo.Status)
	}
	r.moves(repo)
}

func TestPushIsFetched(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote)
	r.settle(repo)
	r.moves(repo)

	second := r.push(remote, gitserver.Change{Message: "Widen", Files: map[string]string{"net/main.tf": "# 2"}})
	r.request(repo, "now")
	r.settle(repo)
	r.expectRefs(repo, map[string]string{"main": second})
	r.moves(repo)
	if !runinfo.Settled(repo.Status.LastHandledRequest, "now") {
		t.Errorf("the request that was handled is %+v", repo.Status.LastHandledRequest)
	}

	third := r.push(remote, gitserver.Change{Message: "Widen more", Files: map[string]string{"net/main.tf": "# 3"}})
	r.settle(repo)
	r.expectRefs(repo, map[string]string{"main": second})
	r.later(repo, 5*time.Minute)
	r.expectRefs(repo, map[string]string{"main": third})
	r.moves(repo)

	forced := r.push(remote, gitserver.Change{Rewrite: true, Message: "Begin anew",
		Files: map[string]string{"net/main.tf": "# other"}})
	r.request(repo, "again")
	r.settle(repo)
	r.expect(repo, "True", "Fetched")
	r.expectRefs(repo, map[string]string{"main": forced})
}

// A request that comes while a fetch is under way may come after the push it is about: it gets a fetch of its own, and
// is not said to be handled before.
func TestRequestDuringAFetchStartsAnotherFetch(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote)
	r.http.Hang(true)
	r.pass(repo)
	r.request(repo, "later")
	r.pass(repo)
	r.http.Hang(false)
	r.ended(repo)
	first, _ := r.Mirrors.LastFetch(repo.UID)
	r.pass(repo)
	if repo.Status.LastHandledRequest != nil {
		t.Error("a fetch from before the request handled it")
	}
	r.settle(repo)
	if last, _ := r.Mirrors.LastFetch(repo.UID); last == first ||
		!runinfo.Settled(repo.Status.LastHandledRequest, "later") {
		t.Errorf("the request was not handled: %+v", last)
	}
}

func TestReconcileWithoutNewCommitsWritesNothing(t *testing.T) {
	r := newEnv(t)
	repo := r.declare(r.remote("infra"))
	r.settle(repo)
	r.moves(repo)
	before := repo.ResourceVersion
	for range 3 {
		fetched, _ := r.Mirrors.LastFetch(repo.UID)
		r.later(repo, 5*time.Minute)
		if last, _ := r.Mirrors.LastFetch(repo.UID); last == fetched {
			t.Error("nothing was fetched")
		}
	}
	if repo.ResourceVersion != before {
		t.Errorf("a fetch that found nothing was written down: %+v", repo.Status)
	}
	r.still()
}

func TestCredentials(t *testing.T) {
	r := newEnv(t)
	r.http.RequireBasic("cairn", "right-one")
	remote := r.remote("infra")
	repo := r.declare(remote, withSecret("git"))
	r.settle(repo)
	r.expect(repo, "False", "CredentialsNotFound")
	if len(r.http.Requests()) != 0 {
		t.Error("the remote was asked without the credentials")
	}

	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "git"},
		StringData: map[string]string{"username": "cairn", "password": "wrong-one"},
	}
	apiserver.Must(t, r.Env.Client.Create(t.Context(), secret))
	r.settle(repo)
	r.expect(repo, "False", "AuthenticationFailed")
	r.expectSecret(repo, "wrong-one")

	r.change(secret, func() { secret.StringData = map[string]string{"password": "right-one"} })
	r.settle(repo)
	r.expect(repo, "True", "Fetched")
	r.expectSecret(repo, "right-one")
	good := repo.Status.Refs

	r.change(secret, func() { secret.Data = map[string][]byte{"username": []byte("cairn")} })
	asked := len(r.http.Requests())
	r.settle(repo)
	r.expect(repo, "False", "CredentialsInvalid")
	if len(r.http.Requests()) != asked {
		t.Error("the remote was asked with half of the credentials")
	}
	if len(repo.Status.Refs) != len(good) || repo.Status.Refs[0] != good[0] {
		t.Errorf("what was known is lost: %v", repo.Status.Refs)
	}
}

// expectSecret wants a value nowhere in the object.
func (r *env) expectSecret(repo *v1alpha1.Repository, value string) {
	r.Helper()
	text, err := json.Marshal(repo)
	apiserver.Must(r.T, err)
	if strings.Contains(string(text), value) {
		r.Errorf("%s is in the Repository: %s", value, text)
	}
}

// TestForbiddenSecretIsReported checks an operator that may not read Secrets: the Repository reports it, and is checked
// again without an event.
func TestForbiddenSecretIsReported(t *testing.T) {
	r := newEnv(t)
	repo := r.declare(r.remote("infra"), withSecret("git"))
	live := r.Reconciler.Live
	r.Reconciler.Live = forbidden{live}
	if again := r.pass(repo).RequeueAfter; again != time.Minute {
		t.Errorf("it is checked again in %s", again)
	}
	r.expect(repo, "False", "CredentialsNotFound")
	message := apimeta.FindStatusCondition(repo.Status.Conditions, v1alpha1.ConditionReady).Message
	if !strings.Contains(message, "no permission to read the Secret of spec.credentials") ||
		!strings.Contains(message, `"git" is forbidden`) {
		t.Errorf("message %q", message)
	}
}

// forbidden denies each Secret.
type forbidden struct{ client.Reader }

func (f forbidden) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("no rule"))
	}
	return f.Reader.Get(ctx, key, o, opts...)
}

func TestUnknownHostKeyIsReported(t *testing.T) {
	r := newEnv(t)
	servers := [2]*gitserver.SSH{}
	for i := range servers {
		var err error
		servers[i], err = gitserver.ServeSSH(r.repos)
		apiserver.Must(t, err)
		t.Cleanup(func() { _ = servers[i].Close() })
	}
	remote := r.remote("infra")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "git"},
		Data:       map[string][]byte{"identity": servers[0].Identity, "known_hosts": servers[1].KnownHosts},
	}
	apiserver.Must(t, r.Env.Client.Create(t.Context(), secret))
	repo := r.declare(remote, withSecret("git"), func(repo *v1alpha1.Repository) {
		repo.Spec.URL = servers[0].URL + remote.Path()
	})
	r.settle(repo)
	r.expect(repo, "False", "HostKeyUnknown")

	r.change(secret, func() { secret.Data["known_hosts"] = servers[0].KnownHosts })
	r.settle(repo)
	r.expect(repo, "True", "Fetched")
}

func TestStatusIsKeptWhenTheRemoteDisappears(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote)
	r.settle(repo)
	known := repo.Status.Refs
	apiserver.Must(t, remote.Remove())
	r.request(repo, "now")
	wait := r.settle(repo)
	r.expect(repo, "False", "RemoteNotFound")
	if wait <= 0 || wait > 10*time.Second {
		t.Errorf("it is looked for again in %s", wait)
	}
	if len(known) != 1 || len(repo.Status.Refs) != 1 || repo.Status.Refs[0] != known[0] {
		t.Errorf("refs are %v, were %v", repo.Status.Refs, known)
	}
	if _, _, err := r.Mirrors.Commit(t.Context(), repo.UID, "main"); err != nil {
		t.Errorf("the code that was fetched is lost: %v", err)
	}
}

func TestRefIsResolvedWhenItIsPushed(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote, func(repo *v1alpha1.Repository) { repo.Spec.Ref = "release" })
	r.settle(repo)
	r.expect(repo, "False", "RefNotFound")
	r.expectRefs(repo, map[string]string{"release": ""})

	id := r.push(remote, gitserver.Change{Branch: "release", Files: map[string]string{"net/main.tf": "# release"}})
	r.later(repo, 5*time.Minute)
	r.expect(repo, "True", "Fetched")
	r.expectRefs(repo, map[string]string{"release": id})
}

// A Stack may name a commit that no branch has: the head of a pull request. The Stack reports one that does not exist:
// all others go on to get what is pushed.
func TestCommitsOutsideOfBranchesAreFetched(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	loose := r.push(remote, gitserver.Change{Branch: "gone", Files: map[string]string{"net/main.tf": "# loose"}})
	apiserver.Must(t, remote.DeleteBranch("gone"))
	repo := r.declare(remote)
	nowhere := strings.Repeat("0", 39) + "1" // goes before the other
	r.stack(repo, r.Namespace, "net", nowhere)
	r.stack(repo, r.Namespace, "net", loose)
	first, err := remote.Git("rev-parse", "main")
	apiserver.Must(t, err)

	wait := r.settle(repo)
	r.expect(repo, "True", "Fetched")
	r.expectRefs(repo, map[string]string{"main": first, nowhere: "", loose: loose})
	if wait < 4*time.Minute || wait > 5*time.Minute {
		t.Errorf("the commit is looked for again in %s", wait)
	}
	if _, commit, err := r.Mirrors.Commit(t.Context(), repo.UID, loose); err != nil || commit.ID != loose {
		t.Errorf("the commit that no branch has: %+v, %v", commit, err)
	}
	r.moves(repo)

	second := r.push(remote, gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	r.request(repo, "now")
	r.settle(repo)
	r.expect(repo, "True", "Fetched")
	r.expectRefs(repo, map[string]string{"main": second, nowhere: "", loose: loose})
	r.moves(repo)
}

// Who opens a pull request from a fork decides how large its head is. The Repository and its Stacks do not depend on
// it, and the pull request reports it.
func TestTooLargeHeadOfAPullRequestDoesNotAffectTheRepository(t *testing.T) {
	r := newEnv(t)
	r.Mirrors.Limits.Repository = 2 << 20
	remote := r.remote("infra")
	data := make([]byte, 3<<20)
	_, err := rand.Read(data)
	apiserver.Must(t, err)
	large := r.push(remote, gitserver.Change{Branch: "fork",
		Files: map[string]string{"net/image": base64.StdEncoding.EncodeToString(data)}})
	_, err = remote.Git("update-ref", "refs/pull/12/head", large)
	apiserver.Must(t, err)
	apiserver.Must(t, remote.DeleteBranch("fork"))
	repo := r.declare(remote, func(repo *v1alpha1.Repository) {
		repo.Spec.PullRequests = &v1alpha1.PullRequests{
			Provider:    v1alpha1.GitProviderGitea,
			Credentials: v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "git"}},
		}
	})
	r.stack(repo, r.Namespace, "net", large)
	r.Make(&v1alpha1.PullRequest{
		ObjectMeta: metav1.ObjectMeta{Name: repo.Name + "-12"},
		Spec: v1alpha1.PullRequestSpec{
			Repository: v1alpha1.ObjectRef{Name: repo.Name}, Number: 12, State: v1alpha1.PullRequestOpen, Fork: true,
			Base: "main",
			Head: v1alpha1.PullRequestHead{Commit: large},
		},
	})

	r.settle(repo)
	r.expect(repo, "True", "Fetched")
	if _, _, err := r.Mirrors.Commit(t.Context(), repo.UID, large); git.Reason(err) != v1alpha1.ReasonMirrorTooLarge {
		t.Errorf("the Stack and the pull request report %v", err)
	}
	second := r.push(remote, gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	r.request(repo, "now")
	r.settle(repo)
	r.expect(repo, "True", "Fetched")
	r.expectRefs(repo, map[string]string{"main": second, large: ""})
}

func TestChangedURLReplacesTheMirror(t *testing.T) {
	r := newEnv(t)
	one, other := r.remote("one"), r.remote("other")
	r.push(one, gitserver.Change{Branch: "only-in-one", Files: map[string]string{"net/main.tf": "# branch"}})
	old := r.push(one, gitserver.Change{Files: map[string]string{"net/main.tf": "# one"}})
	r.push(other, gitserver.Change{Files: map[string]string{"README": ""}})
	id := r.push(other, gitserver.Change{Files: map[string]string{"net/main.tf": "# other"}})
	repo := r.declare(one)
	for _, ref := range []string{"only-in-one", old, ""} {
		r.stack(repo, r.Namespace, "net", ref)
	}
	r.settle(repo)
	read := func(ref string) (string, error) {
		mirror, commit, err := r.Mirrors.Commit(t.Context(), repo.UID, ref)
		if err == nil && r.Mirrors.URLOf(repo.UID, mirror) == "" {
			err = ErrNotFetched
		}
		return commit.ID, err
	}
	for _, ref := range []string{"only-in-one", old, "main"} {
		if _, err := read(ref); err != nil {
			t.Error(err)
		}
	}

	// Until the new one is fetched nothing is said to be its.
	r.http.Hang(true)
	r.change(repo, func() { repo.Spec.URL = r.http.URL + other.Path() })
	r.pass(repo)
	r.untilAsked(other)
	if commit, err := read("main"); err == nil {
		t.Errorf("commit %s is said to be of the new URL", commit)
	}
	r.http.Hang(false)
	r.settle(repo)
	r.expectRefs(repo, map[string]string{"main": id, "only-in-one": "", old: ""})
	for _, ref := range []string{"only-in-one", old} {
		if commit, err := read(ref); git.Reason(err) != "RefNotFound" {
			t.Errorf("what only the old one has: %s, %v", commit, err)
		}
	}
	if commit, err := read("main"); err != nil || commit != id {
		t.Errorf("got %s, %v", commit, err)
	}
	if n := len(r.folders()); n != 1 {
		t.Errorf("there are %d folders", n)
	}
}

// untilAsked waits until the server has got a request for a repository.
func (r *env) untilAsked(remote *gitserver.Repo) {
	r.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, request := range r.http.Requests() {
			if strings.HasPrefix(request.Path, remote.Path()+"/") {
				return
			}
		}
	}
	r.Fatalf("the server is never asked for %s", remote.Path())
}

// Pushes are not heard of then, and the interval would hide that.
func TestMissingWebhookSecretIsReported(t *testing.T) {
	r := newEnv(t)
	repo := r.declare(r.remote("infra"), func(repo *v1alpha1.Repository) {
		repo.Spec.Webhook = &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: "hook"}, Keys: []string{"token"}}
	})
	says := func() string {
		return apimeta.FindStatusCondition(repo.Status.Conditions, v1alpha1.ConditionReady).Message
	}
	r.settle(repo)
	r.expect(repo, "True", "Fetched")
	if !strings.Contains(says(), "Secret hook was not found") {
		t.Errorf("it says %q", says())
	}
	if got := IndexSecret(repo); !slices.Contains(got, "hook") {
		t.Errorf("the Secret is news to those that have %q", got)
	}

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "hook"},
		StringData: map[string]string{"other": "a"}}
	apiserver.Must(t, r.Env.Client.Create(t.Context(), secret))
	r.settle(repo)
	if !strings.Contains(says(), "webhooks signed with key token are denied") {
		t.Errorf("without the key it says %q", says())
	}
	secret.StringData = map[string]string{"token": "b"}
	apiserver.Must(t, r.Env.Client.Update(t.Context(), secret))
	r.settle(repo)
	if strings.Contains(says(), "hook") {
		t.Errorf("once it is there it says %q", says())
	}
}

// A Stack of a namespace that may not use a Repository does not get its refs looked up, let alone fetched.
func TestNamespacesThatAreNotAllowedAreRejected(t *testing.T) {
	r := newEnv(t)
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	apiserver.Must(t, r.Env.Client.Create(t.Context(), team))
	remote := r.remote("infra")
	id := r.push(remote, gitserver.Change{Branch: "dev", Files: map[string]string{"net/main.tf": ""}})
	first, err := remote.Git("rev-parse", "main")
	apiserver.Must(t, err)
	repo := r.declare(remote)
	r.stack(repo, team.Name, "net", "dev")
	r.settle(repo)
	r.expectRefs(repo, map[string]string{"main": first})

	r.change(repo, func() { repo.Spec.AllowedNamespaces = []string{team.Name} })
	r.settle(repo)
	r.expectRefs(repo, map[string]string{"main": first, "dev": id})
}
