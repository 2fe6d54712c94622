//go:build envtest

package stack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
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
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// gitTestEnv is a test environment with a git server and a Stack that reads the folder net of a Repository.
type gitTestEnv struct {
	*testEnv
	repos   *gitserver.Repos
	http    *gitserver.HTTP
	remote  *gitserver.Repo
	repo    *v1alpha1.Repository
	mirrors *repository.Mirrors
}

func newGitTestEnv(t *testing.T) *gitTestEnv {
	t.Helper()
	g := &gitTestEnv{testEnv: &testEnv{Env: apiserver.New(t, indexes()...)}}
	g.testEnv.begin(memoryBucket{})
	g.repos = gitserver.New(t)
	var err error
	g.http, err = gitserver.ServeHTTP(g.repos, true)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = g.http.Close() })
	g.remote, err = g.repos.Init("infra")
	apiserver.Must(t, err)
	g.push(gitserver.Change{Message: "Begin", Files: map[string]string{"net/main.tf": "# 1"}})
	g.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string][]byte{"ca.crt": g.http.CA}})
	g.repo = g.repository("infra", false)
	g.begin()
	g.stack = g.newGitStack("net", g.repo, "net")
	return g
}

// begin starts a process that uses the same bucket and has no mirrors yet.
func (g *gitTestEnv) begin() {
	g.Helper()
	g.testEnv.begin(g.bucket)
	mirrors, over := repository.NewMirrors(g.TempDir()), make(chan error, 1)
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	packed, sources := make(chan error, 1), g.Sources
	go func() { packed <- sources.Start(ctx) }()
	g.Cleanup(func() {
		cancel()
		if err := errors.Join(<-packed, <-over); err != nil {
			g.Errorf("the mirrors ended with %v", err)
		}
	})
	g.mirrors, g.Code = mirrors, code.NewSources(g.Env.Client, g.Env.Live, code.NewCodes(mirrors))
}

func (g *gitTestEnv) repository(name string, lfs bool) *v1alpha1.Repository {
	g.Helper()
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RepositorySpec{
		URL: g.http.URL + g.remote.Path(), LFS: lfs,
		Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "ca"}},
	}}
	g.Make(repo)
	return repo
}

// newGitStack creates a Stack that reads a folder of a Repository.
func (g *gitTestEnv) newGitStack(name string, repo *v1alpha1.Repository, folder string) *v1alpha1.Stack {
	g.Helper()
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: repo.Name},
			Path: folder}},
	}}
	g.Make(stack)
	return stack
}

func (g *gitTestEnv) push(c gitserver.Change) string {
	g.Helper()
	id, err := g.remote.Commit(c)
	apiserver.Must(g.T, err)
	return id
}

// fetch fetches a Repository.
func (g *gitTestEnv) fetch(repo *v1alpha1.Repository) {
	g.Helper()
	r := &repository.Reconciler{Client: g.Env.Client, Live: g.Env.Live, Mirrors: g.mirrors,
		Events: events.NewFakeRecorder(100)}
	pass := func() {
		g.Helper()
		_, err := r.Reconcile(g.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(repo)})
		apiserver.Must(g.T, err)
		g.Seen(repo)
	}
	repo.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: time.Now().String()}
	apiserver.Must(g.T, g.Env.Client.Update(g.Context(), repo))
	g.Seen(repo)
	pass()
	select {
	case <-g.mirrors.Ended():
	case <-time.After(2 * time.Minute):
		g.Fatal("the fetch does not end")
	}
	pass()
	if !apimeta.IsStatusConditionTrue(repo.Status.Conditions, v1alpha1.ConditionReady) {
		g.Fatalf("the Repository is %+v", repo.Status.Conditions)
	}
}

// forStack returns the environment of another Stack in the same namespace.
func (g *gitTestEnv) forStack(stack *v1alpha1.Stack) *testEnv {
	other := *g.testEnv
	other.stack = stack
	return &other
}

// reconcileWhilePacking reconciles a Stack until its archive, which is created in the background, exists.
func (r *testEnv) reconcileWhilePacking() {
	r.Helper()
	r.reconcile()
	select {
	case <-r.Sources.Packed():
	case <-time.After(2 * time.Minute):
		r.Fatal("the archive is not created")
	}
	r.Seen(r.stack) // wait for the last write: reconciling an older version fails with a conflict
	r.reconcile()
}

// source returns the digest of the archive in the inputs of the Stack's current Run.
func (r *testEnv) source() string {
	r.Helper()
	r.Seen(r.stack)
	doc, err := r.Inputs.Get(r.Context(), r.stack.Status.InputsDigest)
	apiserver.Must(r.T, err)
	return doc.Source
}

// file returns the content of a file of an archive.
func (r *testEnv) file(source, name string) string {
	r.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(r.bucket["sources/"+source]))
	apiserver.Must(r.T, err)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		apiserver.Must(r.T, err)
		if header.Name == name {
			content, err := io.ReadAll(archive)
			apiserver.Must(r.T, err)
			return string(content)
		}
	}
}

func (r *testEnv) run(name string) *v1alpha1.Run {
	r.Helper()
	run := &v1alpha1.Run{}
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: name}, run))
	return run
}

func TestCommitStartsARun(t *testing.T) {
	g := newGitTestEnv(t)
	g.reconcile()
	g.expect("Unknown", "RepositoryNotReady", "")

	g.fetch(g.repo)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 ")
	if got := g.run("net-1").Spec.Revision; got != g.stack.Status.Revision || got != g.repo.Status.Refs[0].Revision {
		t.Errorf("the Run is of revision %q, the Stack of %q", got, g.stack.Status.Revision)
	}
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")

	known := g.stack.DeepCopy()
	g.push(gitserver.Change{Files: map[string]string{"README": "no code"}})
	g.fetch(g.repo)
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")
	if g.stack.ResourceVersion != known.ResourceVersion {
		t.Errorf("a commit outside of the Stack's folder writes its status: %+v", g.stack.Status)
	}

	id := g.push(gitserver.Change{Message: "Widen the subnet\n\nIt was full.",
		Files: map[string]string{"net/main.tf": "# 2"}})
	g.fetch(g.repo)
	g.reconcile()
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	want := v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: id[:7] + " Widen the subnet", By: "Alice"}
	if got := g.run("net-2").Spec.Cause; got != want {
		t.Errorf("the cause is %+v, want %+v", got, want)
	}
	if got := g.file(g.source(), "net/main.tf"); got != "# 2" {
		t.Errorf("the archive has %q", got)
	}
}

// TestStatusIsKeptUntilTheMirrorIsFetched checks that a new process, which has no mirror yet, keeps the status of the
// last one. Only a change of the spec is reported as RepositoryNotReady.
func TestStatusIsKeptUntilTheMirrorIsFetched(t *testing.T) {
	g := newGitTestEnv(t)
	g.fetch(g.repo)
	g.reconcile()
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")
	known := g.stack.DeepCopy()

	g.begin()
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")
	if g.stack.ResourceVersion != known.ResourceVersion {
		t.Errorf("the status was written: %+v", g.stack.Status)
	}

	g.stack.Spec.Source.Git.Path = "nets"
	apiserver.Must(t, g.Env.Client.Update(t.Context(), g.stack))
	g.Seen(g.stack)
	g.reconcile()
	g.expect("Unknown", "RepositoryNotReady", "net-1 ")
	if g.stack.Status.InputsDigest != known.Status.InputsDigest || g.stack.Status.Revision != known.Status.Revision {
		t.Errorf("the fields of the last process are lost: %+v", g.stack.Status)
	}

	g.fetch(g.repo)
	g.reconcile()
	g.expect("False", "PathNotFound", "net-1 ")
}

// TestForbiddenRepositoryIsReportedAsNotFound checks that the message does not reveal whether a Repository exists that
// does not allow the Stack's namespace.
func TestForbiddenRepositoryIsReportedAsNotFound(t *testing.T) {
	g := newGitTestEnv(t)
	other := newGitTestEnv(t)
	other.fetch(other.repo)
	var messages []string
	for _, name := range []string{"infra", "none"} {
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "uses-" + name}, Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{
				Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: other.Namespace, Name: name},
					Path: "net"}},
		}}
		g.Make(stack)
		r := g.forStack(stack)
		r.Code = other.Code // the mirrors are shared in a process
		r.reconcile()
		r.expect("False", "RepositoryNotFound", "")
		c := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
		messages = append(messages, strings.ReplaceAll(c.Message, "/"+name, "/x"))
	}
	if messages[0] != messages[1] {
		t.Errorf("%q reveals more than %q", messages[0], messages[1])
	}

	other.repo.Spec.AllowedNamespaces = []string{g.Namespace}
	apiserver.Must(t, g.Env.Client.Update(t.Context(), other.repo))
	g.Seen(other.repo)
	r := g.forStack(&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: "uses-infra"}})
	r.Code = other.Code
	r.reconcile()
	r.expect("Unknown", "Running", "uses-infra-1 ")
}

func TestStacksOfTheSameCodeShareAnArchive(t *testing.T) {
	g := newGitTestEnv(t)
	g.fetch(g.repo)
	g.reconcile()
	twin := g.forStack(g.newGitStack("twin", g.repo, "net"))
	counter := &countingBucket{memoryBucket: g.bucket}
	twin.Sources.Bucket = counter
	twin.reconcile()
	if twin.source() != g.source() || counter.sources != 0 {
		t.Errorf("two Stacks of the same code have %s and %s, and %d archives were created", twin.source(), g.source(),
			counter.sources)
	}

	// A new process reads the archive from the bucket.
	g.begin()
	g.fetch(g.repo)
	g.Sources.Bucket = counter
	third := g.forStack(g.newGitStack("third", g.repo, "net"))
	third.reconcile()
	if third.source() != g.source() || counter.sources != 0 {
		t.Errorf("after a restart it is %s, was %s, and %d archives were created", third.source(), g.source(),
			counter.sources)
	}
}

// countingBucket counts the archives that are written to it.
type countingBucket struct {
	memoryBucket
	sources int
}

func (m *countingBucket) PutOnce(ctx context.Context, key string, data []byte) error {
	if strings.HasPrefix(key, "sources/") {
		m.sources++
	}
	return m.memoryBucket.PutOnce(ctx, key, data)
}

// TestArchivesWithLFSAreNotShared checks that an archive with LFS files is only used by the Repository whose
// credentials fetched them.
func TestArchivesWithLFSAreNotShared(t *testing.T) {
	g := newGitTestEnv(t)
	pointer := g.http.PutLFS("a secret of one team")
	g.push(gitserver.Change{Files: map[string]string{
		"net/main.tf": "# 1", "net/secret.bin": pointer,
		"net/.gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
	}})
	g.fetch(g.repo)
	g.reconcile()
	if got := g.file(g.source(), "net/secret.bin"); got != pointer {
		t.Errorf("without LFS the archive has %q", got)
	}

	g.repo.Spec.LFS = true
	apiserver.Must(t, g.Env.Client.Update(t.Context(), g.repo))
	g.Seen(g.repo)
	g.fetch(g.repo)
	if !g.moved() {
		t.Error("the Stack does not reconcile after spec.lfs was set")
	}
	owner := g.forStack(g.newGitStack("owner", g.repo, "net"))
	owner.reconcileWhilePacking()
	if got := owner.file(owner.source(), "net/secret.bin"); got != "a secret of one team" {
		t.Errorf("with LFS the archive has %q", got)
	}

	g.http.SpoilLFS("wrong content")
	thief := g.repository("thief", true)
	g.fetch(thief)
	r := g.forStack(g.newGitStack("thief", thief, "net"))
	r.reconcileWhilePacking()
	r.Seen(r.stack)
	if got := r.stack.Status.InputsDigest; got != "" {
		t.Errorf("a Repository without access to the LFS file has inputs %s", got)
	}
}

// TestContentThatCannotBeArchived checks that code which no archive can contain is reported on the Stack.
func TestContentThatCannotBeArchived(t *testing.T) {
	g := newGitTestEnv(t)
	g.push(gitserver.Change{Links: map[string]string{"net/passwd": "../../etc/passwd"}})
	g.fetch(g.repo)
	g.reconcile()
	g.expect("False", "ContentInvalid", "")
}

// TestUnavailableBucketDoesNotChangeTheStatus checks that no archive is created again and that the Stack reports no
// error.
func TestUnavailableBucketDoesNotChangeTheStatus(t *testing.T) {
	g := newGitTestEnv(t)
	g.fetch(g.repo)
	away := errors.New("away")
	g.Sources.Bucket = unavailableBucket{away}
	_, err := g.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(g.stack)})
	if !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	g.Seen(g.stack)
	if len(g.stack.Status.Conditions) != 0 {
		t.Errorf("the status is written: %+v", g.stack.Status)
	}
}

type unavailableBucket struct{ err error }

func (b unavailableBucket) PutOnce(context.Context, string, []byte) error      { return b.err }
func (b unavailableBucket) Get(context.Context, string, int64) ([]byte, error) { return nil, b.err }
func (b unavailableBucket) Renew(context.Context, string) error                { return b.err }
func (b unavailableBucket) Verify(context.Context, string) error               { return b.err }

// moved waits for the notification that a Repository changed, which one fetch may send twice. It returns whether the
// code of the Stack changed.
func (g *gitTestEnv) moved() bool {
	g.Helper()
	select {
	case <-g.mirrors.Moved():
	case <-time.After(2 * time.Minute):
		g.Fatal("no Stack is notified")
	}
	for len(g.mirrors.Moved()) > 0 {
		<-g.mirrors.Moved()
	}
	return g.Code.Changed(g.Context(), g.repo, g.stack)
}

// TestSubmodulesAreFetchedOnceAllowed checks that a change of spec.submodules starts a fetch, and that a requested
// fetch repeats one that failed.
func TestSubmodulesAreFetchedOnceAllowed(t *testing.T) {
	g := newGitTestEnv(t)
	module, err := g.repos.Init("module")
	apiserver.Must(t, err)
	commit, err := module.Commit(gitserver.Change{Files: map[string]string{"main.tf": "# 2"}})
	apiserver.Must(t, err)
	_, err = g.remote.AddSubmodule("net/module", "../later", commit)
	apiserver.Must(t, err)
	g.fetch(g.repo)
	g.reconcile()
	g.expect("False", "ContentInvalid", "")
	g.moved()

	g.repo.Spec.Submodules = true
	apiserver.Must(t, g.Env.Client.Update(t.Context(), g.repo))
	g.Seen(g.repo)
	g.reconcile() // the change of the spec wakes it before the fetch
	g.expect("False", "ContentInvalid", "")
	g.fetch(g.repo)
	if !g.moved() {
		t.Fatal("the Stack does not reconcile after spec.submodules was set")
	}
	g.reconcileWhilePacking()
	g.expect("Unknown", "SourceNotReady", "")

	later, err := g.repos.Init("later")
	apiserver.Must(t, err)
	_, err = later.Commit(gitserver.Change{Files: map[string]string{"main.tf": "# 2"}})
	apiserver.Must(t, err)
	g.fetch(g.repo)
	if !g.moved() {
		t.Fatal("the Stack does not reconcile after a request on the Repository")
	}
	g.reconcileWhilePacking()
	g.expect("Unknown", "Running", "net-1 ")
	if got := g.file(g.source(), "net/module/main.tf"); got != "# 2" {
		t.Errorf("the archive has %q", got)
	}
}

// TestConditionWhenEveryCommitPlansTheStack checks that a condition explains it, and that it is written once.
func TestConditionWhenEveryCommitPlansTheStack(t *testing.T) {
	g := newGitTestEnv(t)
	g.push(gitserver.Change{Files: map[string]string{
		"net/main.tf": "variable \"v\" {}\nmodule \"x\" { source = var.v }"}})
	g.fetch(g.repo)
	g.reconcile()
	g.Seen(g.stack)
	c := apimeta.FindStatusCondition(g.stack.Status.Conditions, v1alpha1.ConditionWholeRepository)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, `net/main.tf:2: module "x"`) ||
		!strings.Contains(c.Message, "every commit to Repository infra plans this Stack") {
		t.Fatalf("%+v", c)
	}
	g.reconcile()
	g.Seen(g.stack)
	known := g.stack.ResourceVersion
	g.reconcile()
	g.begin() // a process that has not read the code yet leaves it
	g.reconcile()
	if g.Seen(g.stack); g.stack.ResourceVersion != known {
		t.Errorf("the status is written again: %+v", g.stack.Status)
	}

	g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "module \"x\" { source = \"../x\" }",
		"x/main.tf": "# x"}})
	g.fetch(g.repo)
	g.reconcile()
	g.Seen(g.stack)
	if c := apimeta.FindStatusCondition(g.stack.Status.Conditions, v1alpha1.ConditionWholeRepository); c != nil {
		t.Errorf("the condition remains: %+v", c)
	}
}
