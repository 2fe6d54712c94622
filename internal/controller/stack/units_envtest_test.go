//go:build envtest

package stack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

const (
	appUnit = "dependency \"vpc\" {\n  config_path = \"../vpc\"\n}\ninputs = { id = dependency.vpc.outputs.id }\n"
	dnsUnit = "dependencies {\n  paths = [\"../vpc\"]\n}\n"
)

// newUnitsTestEnv returns an environment whose Repository has three units: app reads outputs of vpc, dns only runs
// after it.
func newUnitsTestEnv(t *testing.T) *gitTestEnv {
	t.Helper()
	g := newGitTestEnv(t)
	g.push(gitserver.Change{Files: map[string]string{
		"live/app/terragrunt.hcl": appUnit, "live/dns/terragrunt.hcl": dnsUnit, "live/vpc/terragrunt.hcl": "# 1\n",
	}})
	g.fetch(g.repo)
	return g
}

// unit creates a Stack that runs a unit, and returns its environment.
func (g *gitTestEnv) unit(name, folder string, changes ...func(*v1alpha1.StackSpec)) *testEnv {
	g.Helper()
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackSpec{
		Engine: v1alpha1.Engine{Name: v1alpha1.EngineTerragrunt},
		Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: g.repo.Name},
			Path: folder}},
	}}
	for _, change := range changes {
		change(&stack.Spec)
	}
	g.Make(stack)
	return g.forStack(stack)
}

func (r *testEnv) expectUnits(want ...v1alpha1.Unit) {
	r.Helper()
	r.Seen(r.stack)
	if diff := cmp.Diff(want, r.stack.Status.Units); diff != "" {
		r.Errorf("units of %s: %s", r.stack.Name, diff)
	}
}

// succeed ends a Run that is under way with success, and sets the outputs.
func (r *testEnv) succeed(run string, outputs map[string]string) {
	r.Helper()
	r.setState(1, outputs)
	r.ends(run, v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expectReady("True", "Applied", "")
}

func TestUnitRunsAfterItsDependencies(t *testing.T) {
	g := newUnitsTestEnv(t)
	app, dns, vpc := g.unit("app", "live/app"), g.unit("dns", "live/dns"), g.unit("vpc", "live/vpc/")
	g.unit("vpc-dev", "live/vpc", func(s *v1alpha1.StackSpec) { s.Source.Git.Ref = "dev" })
	g.unit("code", "live/vpc", func(s *v1alpha1.StackSpec) { s.Engine.Name = v1alpha1.EngineOpenTofu })
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not reconciled yet")
	app.expectUnits(v1alpha1.Unit{Path: "live/vpc", Outputs: true, Stacks: []string{"vpc"}})
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not Ready (Running)")
	app.expectNoRun("app-1")
	dns.reconcile()
	dns.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not Ready (Running)")

	vpc.succeed("vpc-1", map[string]string{"id": "hmac:1"})
	for _, one := range []*testEnv{app, dns} {
		one.reconcile()
		one.succeed(one.stack.Name+"-1", nil)
	}

	// Neither an apply that changes no output nor a drift check plans the dependents.
	vpc.setState(2, map[string]string{"id": "hmac:1"})
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	before := app.stack.ResourceVersion
	app.reconcile()
	app.expectReady("True", "Applied", "")
	app.expectNoRun("app-2")
	if app.stack.ResourceVersion != before {
		t.Error("reconciling without a change wrote the status")
	}

	vpc.setState(2, map[string]string{"id": "hmac:2"})
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
	want := v1alpha1.Cause{Type: v1alpha1.CauseDependency, Message: "outputs of Stack vpc changed"}
	if got := app.run("app-2").Spec.Cause; got != want {
		t.Errorf("the cause is %+v", got)
	}
	app.succeed("app-2", nil)
	dns.reconcile()
	dns.expectReady("True", "Applied", "") // it reads none of the outputs
	dns.expectNoRun("dns-2")

	// A commit to the dependency concerns both. The status of the dependency is still that of the commit before.
	g.push(gitserver.Change{Files: map[string]string{"live/vpc/terragrunt.hcl": "# 2\n"}})
	g.fetch(g.repo)
	app.reconcile()
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: what it reads has changed")
	app.expectNoRun("app-3")
	vpc.reconcile()
	vpc.succeed("vpc-2", map[string]string{"id": "hmac:3"})
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// TestUnitWithoutAStackIsNoDependency checks that a unit whose dependency has no Stack runs at once. When the Stack is
// created the unit runs again, after it.
func TestUnitWithoutAStackIsNoDependency(t *testing.T) {
	g := newUnitsTestEnv(t)
	app := g.unit("app", "live/app")
	app.reconcile()
	app.expectUnits(v1alpha1.Unit{Path: "live/vpc", Outputs: true})
	app.succeed("app-1", nil)

	vpc := g.unit("vpc", "live/vpc")
	app.reconcile()
	app.expectUnits(v1alpha1.Unit{Path: "live/vpc", Outputs: true, Stacks: []string{"vpc"}})
	app.expectReady("Unknown", "DependencyNotReady", "waits for Stack vpc: it is not reconciled yet")
	vpc.reconcile()
	vpc.succeed("vpc-1", map[string]string{"id": "hmac:1"})
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
	app.succeed("app-2", nil)
}

func TestUnitDependencyCycleAndItsCorrection(t *testing.T) {
	g := newUnitsTestEnv(t)
	app, vpc := g.unit("app", "live/app"), g.unit("vpc", "live/vpc")
	vpc.reconcile()
	vpc.Seen(vpc.stack)
	app.reconcile()
	app.Seen(app.stack)
	g.push(gitserver.Change{Files: map[string]string{"live/vpc/terragrunt.hcl": "dependencies {\n  paths = " +
		"[\"../app\"]\n}\n"}})
	g.fetch(g.repo)
	vpc.ends("vpc-1", v1alpha1.PhaseSucceeded)
	vpc.reconcile()
	vpc.expectReady("False", "DependencyCycle", "the dependencies go in a circle: vpc -> app -> vpc; take one "+
		"of them out")
	vpc.expectUnits(v1alpha1.Unit{Path: "live/app", Stacks: []string{"app"}})
	app.reconcile()
	app.expectReady("False", "DependencyCycle", "the dependencies go in a circle: app -> vpc -> app; take one "+
		"of them out")

	g.push(gitserver.Change{Files: map[string]string{"live/vpc/terragrunt.hcl": "# 3\n"}})
	g.fetch(g.repo)
	vpc.reconcile()
	vpc.expectUnits()
	vpc.expectReady("Unknown", "Running", "")
}

func TestUnitIsDestroyedBeforeItsDependencies(t *testing.T) {
	g := newUnitsTestEnv(t)
	vpc, app := g.unit("vpc", "live/vpc"), g.unit("app", "live/app")
	vpc.reconcile()
	vpc.succeed("vpc-1", nil)
	app.reconcile()
	app.succeed("app-1", nil)
	remove := func(one *testEnv) {
		t.Helper()
		apiserver.Must(t, g.Env.Client.Delete(t.Context(), one.stack))
		one.Seen(one.stack)
		one.reconcile()
	}
	remove(vpc)
	vpc.expectReady("False", "DependentsExist", "Stack app depends on this one: delete or destroy it too, or take "+
		"the dependency out of it")
	remove(app)
	app.expectReady("Unknown", "Destroying", "")
	vpc.reconcile()
	vpc.expectReady("Unknown", "Deleting", "waits for Stack app to be destroyed first: it depends on this one")
	app.setState(0, nil)
	app.ends("app-2", v1alpha1.PhaseSucceeded)
	app.reconcile()
	app.Gone(app.stack)
	vpc.reconcile()
	vpc.expectReady("Unknown", "Destroying", "")
}

func TestFolderWithATerragruntStackIsRejected(t *testing.T) {
	g := newUnitsTestEnv(t)
	g.push(gitserver.Change{Files: map[string]string{"live/prod/terragrunt.stack.hcl": "unit \"vpc\" {\n source = " +
		"\"../vpc\"\n path = \"vpc\"\n}\n"}})
	g.fetch(g.repo)
	prod := g.unit("prod", "live/prod")
	prod.reconcile()
	prod.expectReady("False", "TerragruntStackNotSupported",
		"Repository infra: Cairn does not run the terragrunt.stack.hcl in live/prod: "+
			"run `terragrunt stack generate` there, commit the units that it creates, and create a Stack for "+
			"each of them")
	if !apimeta.IsStatusConditionTrue(prod.stack.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Error("the Stack is not stalled")
	}
	prod.expectNoRun("prod-1")
}
