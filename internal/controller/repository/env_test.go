//go:build envtest

package repository

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// env is the reconciler of Repositories between a real API server and a real git server; nothing calls it but the test.
type env struct {
	apiserver.Env
	*Reconciler
	repos *gitserver.Repos
	http  *gitserver.HTTP
	dir   string
	// ahead is how much later it is than the clock says.
	ahead time.Duration
	// stop ends the process.
	stop func()
}

func newEnv(t *testing.T) *env {
	t.Helper()
	r := &env{
		Env: apiserver.New(t,
			apiserver.Index{Of: &v1alpha1.Stack{}, Field: StackIndex, Values: IndexStack},
			apiserver.Index{Of: &v1alpha1.PullRequest{}, Field: PullRequestIndex, Values: IndexPullRequest}),
		repos: gitserver.New(t), dir: t.TempDir(),
	}
	var err error
	r.http, err = gitserver.ServeHTTP(r.repos, false)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = r.http.Close() })
	r.begin()
	t.Cleanup(func() { r.stop() })
	return r
}

// begin starts a process on the same folder.
func (r *env) begin() {
	mirrors, over := NewMirrors(r.dir), make(chan error, 1)
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-over; err != nil {
			r.Errorf("the mirrors ended with %v", err)
		}
		over <- nil
	}
	r.Reconciler = &Reconciler{
		Client: r.Env.Client, Live: r.Env.Live, Mirrors: mirrors,
		Clock: func() time.Time { return time.Now().Add(r.ahead) }, Events: events.NewFakeRecorder(1000),
	}
}

// remote makes a repository with one commit.
func (r *env) remote(name string) *gitserver.Repo {
	r.Helper()
	remote, err := r.repos.Init(name)
	apiserver.Must(r.T, err)
	r.push(remote, gitserver.Change{Message: "Begin", Files: map[string]string{"net/main.tf": "# " + name}})
	return remote
}

func (r *env) push(remote *gitserver.Repo, c gitserver.Change) string {
	r.Helper()
	id, err := remote.Commit(c)
	apiserver.Must(r.T, err)
	return id
}

// declare makes a Repository of a remote, at its main branch.
func (r *env) declare(remote *gitserver.Repo, changes ...func(*v1alpha1.Repository)) *v1alpha1.Repository {
	r.Helper()
	repo := &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "infra-"},
		Spec:       v1alpha1.RepositorySpec{URL: r.http.URL + remote.Path(), Ref: "main"},
	}
	for _, change := range changes {
		change(repo)
	}
	r.Make(repo)
	return repo
}

func withSecret(name string) func(*v1alpha1.Repository) {
	return func(repo *v1alpha1.Repository) {
		repo.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: name}}
	}
}

// stack makes a Stack that reads a folder at a ref, in a namespace.
func (r *env) stack(repo *v1alpha1.Repository, namespace, folder, ref string) *v1alpha1.Stack {
	r.Helper()
	stack := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "net-"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Git: &v1alpha1.GitSource{
			Repository: v1alpha1.RepositoryRef{Namespace: repo.Namespace, Name: repo.Name}, Path: folder, Ref: ref,
		}}},
	}
	apiserver.Must(r.T, r.Env.Client.Create(r.Context(), stack))
	r.Seen(stack)
	return stack
}

// change updates an object and waits until the cache has it.
func (r *env) change(o client.Object, change func()) {
	r.Helper()
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKeyFromObject(o), o))
	change()
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), o))
	if _, ok := o.(*corev1.Secret); !ok {
		r.Seen(o)
	}
}

// later is a pass that much later, and all that comes of it. Fetches have the real time.
func (r *env) later(repo *v1alpha1.Repository, d time.Duration) {
	r.Helper()
	r.ahead = d
	r.pass(repo)
	r.ahead = 0
	r.settle(repo)
}

// request asks for a fetch, as a user or a webhook does.
func (r *env) request(repo *v1alpha1.Repository, value string) {
	r.Helper()
	r.change(repo, func() { repo.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: value} })
}

// pass runs one pass.
func (r *env) pass(repo *v1alpha1.Repository) ctrl.Result {
	r.Helper()
	result, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(repo)})
	apiserver.Must(r.T, err)
	r.Seen(repo)
	return result
}

// settle passes until there is nothing to be done but to wait, and says for how long.
func (r *env) settle(repo *v1alpha1.Repository) time.Duration {
	r.Helper()
	for range 20 {
		before, _ := r.Mirrors.LastFetch(repo.UID)
		result := r.pass(repo)
		after, fetching := r.Mirrors.LastFetch(repo.UID)
		switch {
		case fetching:
			r.ended(repo)
		case before == after:
			return result.RequeueAfter
		}
	}
	r.Fatal("it never comes to rest")
	return 0
}

// ended waits for the end of the fetch of a Repository that is under way.
func (r *env) ended(repo *v1alpha1.Repository) {
	r.Helper()
	for late := time.After(2 * time.Minute); ; {
		select {
		case e := <-r.Mirrors.Ended():
			if e.Object == client.ObjectKeyFromObject(repo) {
				return
			}
		case <-late:
			r.Fatalf("the fetch of %s never ends", repo.Name)
		}
	}
}

// moves waits until the Stacks of a Repository are to be woken.
func (r *env) moves(repo *v1alpha1.Repository) {
	r.Helper()
	for late := time.After(2 * time.Minute); ; {
		select {
		case e := <-r.Mirrors.Moved():
			if e.Object == client.ObjectKeyFromObject(repo) {
				return
			}
		case <-late:
			r.Fatalf("no event says that %s moved", repo.Name)
		}
	}
}

// still fails the test if there is an event of a moved mirror.
func (r *env) still() {
	r.Helper()
	select {
	case e := <-r.Mirrors.Moved():
		r.Errorf("an event says that %s moved", e.Object)
	default:
	}
}

func (r *env) expect(repo *v1alpha1.Repository, ready metav1.ConditionStatus, reason string) {
	r.Helper()
	c := apimeta.FindStatusCondition(repo.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status != ready || c.Reason != reason {
		r.Errorf("the Repository is %+v, want %s %s", c, ready, reason)
	}
}

// expectRefs wants what Stacks read, "" for what is not there.
func (r *env) expectRefs(repo *v1alpha1.Repository, want map[string]string) {
	r.Helper()
	got := map[string]string{}
	for _, ref := range repo.Status.Refs {
		got[ref.Name] = ref.Revision
	}
	if len(got) != len(want) {
		r.Errorf("refs are %v, want %v", got, want)
	}
	for name, commit := range want {
		switch {
		case commit != "" && name == commit:
			commit = "sha1:" + commit
		case commit != "":
			commit = name + "@sha1:" + commit
		}
		if revision, ok := got[name]; !ok || revision != commit {
			r.Errorf("ref %s is %q, want %q", name, revision, commit)
		}
	}
}

// folders are those that are below the folder of the mirrors.
func (r *env) folders() []string {
	r.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, "*"))
	apiserver.Must(r.T, err)
	return found
}

// forgotten runs the pass after a deletion.
func (r *env) forgotten(repo *v1alpha1.Repository) {
	r.Helper()
	_, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(repo)})
	apiserver.Must(r.T, err)
}
