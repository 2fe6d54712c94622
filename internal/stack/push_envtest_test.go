//go:build envtest

package stack

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/test/gitserver"
)

// enqueued returns the names of the Stacks that the event of a fetch enqueues.
func (g *gitTestEnv) enqueued() string {
	g.Helper()
	queue := priorityqueue.New[reconcile.Request]("moved")
	defer queue.ShutDown()
	moved(g.Env.Client, g.Code).Generic(g.Context(), repository.Event{Object: client.ObjectKeyFromObject(g.repo)}, queue)
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
// dependent is reconciled first, and reads the code of its dependency to decide whether it waits. The event of the fetch
// enqueues the dependency all the same.
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
