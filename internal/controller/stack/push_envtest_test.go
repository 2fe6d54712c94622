//go:build envtest

package stack

import (
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// enqueued returns the names of the Stacks that the event of a fetch enqueues.
func (g *gitTestEnv) enqueued() string {
	g.Helper()
	queue := priorityqueue.New[reconcile.Request]("moved")
	defer queue.ShutDown()
	moved(g.Env.Client, g.Code).Generic(g.Context(), repository.Event{Object: client.ObjectKeyFromObject(g.repo)},
		queue)
	var all []reconcile.Request
	for queue.Len() > 0 {
		r, _, _ := queue.GetWithPriority()
		all = append(all, r)
		queue.Done(r)
	}
	return names(g.Env, all)
}

// pushAndFetch commits files, and fetches the Repository.
func (g *gitTestEnv) pushAndFetch(message string, files map[string]string) {
	g.Helper()
	g.push(gitserver.Change{Message: message, Files: files})
	g.fetch(g.repo)
}

// newAppAfterNet applies the Stack net, and the Stack app, which reads folder app and depends on net.
func newAppAfterNet(t *testing.T) (g *gitTestEnv, app *testEnv) {
	t.Helper()
	g = newGitTestEnv(t)
	g.pushAndFetch("Add app", map[string]string{"app/main.tf": "# 1"})
	g.finishFirstApply()
	app = g.forStack(g.newGitStack("app", g.repo, "app"))
	app.updateSpec(after("net"))
	app.finishFirstApply()
	return g, app
}

// TestPushEnqueuesAStackThatADependentReadBefore checks a commit that changes a Stack and one that depends on it. The
// dependent is reconciled first, and reads the code of its dependency to decide whether it waits. The event of the
// fetch enqueues the dependency all the same.
func TestPushEnqueuesAStackThatADependentReadBefore(t *testing.T) {
	g, app := newAppAfterNet(t)
	if got := g.enqueued(); got != "" {
		t.Fatalf("without a push %q are enqueued", got)
	}
	g.pushAndFetch("Change both", map[string]string{"net/main.tf": "# 2", "app/main.tf": "# 2"})
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack net: what it reads has changed")
	if got := g.enqueued(); got != "net" {
		t.Errorf("the push enqueues %q, want net", got)
	}
}

// TestPushEnqueuesAStackWhoseCodeHasAnotherProblem checks that a Stack reports the next problem of its code once a user
// corrected the first one.
func TestPushEnqueuesAStackWhoseCodeHasAnotherProblem(t *testing.T) {
	g := newGitTestEnv(t)
	g.fetch(g.repo)
	g.reconcile()
	web := g.forStack(g.newGitStack("web", g.repo, "web"))
	web.reconcile()
	web.expectReady("False", "PathNotFound", "")
	if got := g.enqueued(); got != "" {
		t.Fatalf("without a push %q are enqueued", got)
	}
	for _, change := range []map[string]string{
		{"web/main.tf": "module \"a\" {\n  source = \"../modules/a\"\n}\n"},
		{"modules/a/main.tf": "module \"b\" {\n  source = \"../b\"\n}\n"},
	} {
		g.pushAndFetch("Correct one problem", change)
		if got := g.enqueued(); got != "web" {
			t.Errorf("the push of %v enqueues %q, want web", change, got)
		}
		web.reconcile()
		web.expectReady("False", "ModuleNotFound", "")
	}
}

// TestDependentContinuesOnceTheDependencyIsAsItWas checks a commit that changes both, and one that takes the change of
// the dependency back before the dependency is reconciled. Nothing writes the dependency then.
func TestDependentContinuesOnceTheDependencyIsAsItWas(t *testing.T) {
	g, app := newAppAfterNet(t)
	g.pushAndFetch("Change both", map[string]string{"net/main.tf": "# 2", "app/main.tf": "# 2"})
	again := app.requeues()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack net: what it reads has changed")
	g.pushAndFetch("Not this one", map[string]string{"net/main.tf": "# 1"})
	if got := g.enqueued(); again == 0 {
		t.Errorf("app is not reconciled again: the fetch enqueues %q", got)
	}
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// TestDependentContinuesOnceTheRepositoryOfItsDependencyIsFetched checks a Stack that is not from git and changes while
// the mirror of its dependency is empty, after a restart.
func TestDependentContinuesOnceTheRepositoryOfItsDependencyIsFetched(t *testing.T) {
	g := newGitTestEnv(t)
	g.fetch(g.repo)
	g.finishFirstApply()
	app := g.withStack("app", after("net"))
	app.finishFirstApply()
	app.updateSpec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })

	g.begin()
	app.Reconciler = g.Reconciler
	again := app.requeues()
	app.expectReady("Unknown", "DependencyNotReady",
		"waits for Stack net: what it reads is not known yet: waits for Repository infra")
	known := g.stack.DeepCopy()
	g.fetch(g.repo)
	g.reconcile()
	if g.Seen(g.stack); again == 0 && g.stack.ResourceVersion == known.ResourceVersion {
		t.Error("app is not reconciled again: net was not written")
	}
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// TestCommitIsAppliedInOrderAlongAChain checks a commit that changes both ends of a chain: app depends on net, which
// does not change, and net on vpc.
func TestCommitIsAppliedInOrderAlongAChain(t *testing.T) {
	g := newGitTestEnv(t)
	g.pushAndFetch("Add both ends", map[string]string{"app/main.tf": "# 1", "vpc/main.tf": "# 1"})
	vpc := g.forStack(g.newGitStack("vpc", g.repo, "vpc"))
	vpc.finishFirstApply()
	g.updateSpec(after("vpc"))
	g.finishFirstApply()
	app := g.forStack(g.newGitStack("app", g.repo, "app"))
	app.updateSpec(after("net"))
	app.finishFirstApply()

	g.pushAndFetch("Change both ends", map[string]string{"vpc/main.tf": "# 2", "app/main.tf": "# 2"})
	if again := app.requeues(); again == 0 {
		t.Error("app is not reconciled again")
	}
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: what it reads has changed")
	g.reconcile()
	g.expectReady("True", "Applied", "")
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not Ready (Running)")
	vpc.ends("vpc-2", v1alpha1.PhaseSucceeded)
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// requeues reconciles the Stack, and returns when it is reconciled again without an event.
func (r *testEnv) requeues() time.Duration {
	r.Helper()
	result, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	apiserver.Must(r.T, err)
	return result.RequeueAfter
}
