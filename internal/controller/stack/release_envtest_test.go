//go:build envtest

package stack

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// inPipeline labels the Stack, and creates a Pipeline whose stage selects it.
func (g *gitTestEnv) inPipeline(name string) *v1alpha1.Pipeline {
	g.Helper()
	g.stack.Labels = map[string]string{"env": "prod"}
	apiserver.Must(g.T, g.Env.Client.Update(g.Context(), g.stack))
	g.Seen(g.stack)
	p := &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.PipelineSpec{
		Repository: v1alpha1.RepositoryRef{Name: g.repo.Name},
		Stages: []v1alpha1.PipelineStage{{
			Name: "production", Stacks: metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}},
		}},
	}}
	g.Make(p)
	return p
}

// promote has the stage have a commit, as the controller of Pipelines writes it.
func (g *gitTestEnv) promote(p *v1alpha1.Pipeline, commit string) {
	g.Helper()
	stage := v1alpha1.StageStatus{
		Name: "production", Release: commit, Promotion: 1, State: v1alpha1.StageProgressing, Since: metav1.Now(),
	}
	if known := p.Stage("production"); known != nil {
		stage.Promotion = known.Promotion + 1
	}
	p.Status = v1alpha1.PipelineStatus{ObservedGeneration: p.Generation, Stages: []v1alpha1.StageStatus{stage}}
	apiserver.Must(g.T, g.Env.Client.Status().Update(g.Context(), p))
	g.Seen(p)
}

// TestStackHasTheReleaseOfItsStage follows a Stack into a stage, through promotions and a rollback, and out of it:
// commits of the branch are never applied meanwhile, and afterwards only with an approval.
func TestStackHasTheReleaseOfItsStage(t *testing.T) {
	g := newGitTestEnv(t)
	first := g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1"}})
	g.fetch(g.repo)
	g.reconcile()
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")

	p := g.inPipeline("shop")
	second := g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 3"}})
	g.fetch(g.repo)
	g.reconcile()
	g.expect("Unknown", "AwaitingRelease", "net-1 ")

	g.promote(p, second)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	if run := g.run("net-2"); run.Spec.Revision != "main@sha1:"+second || run.Spec.AfterHold != "" {
		t.Errorf("the Run is %+v", run.Spec)
	}
	if got := g.file(g.source(), "net/main.tf"); got != "# 2" {
		t.Errorf("the archive has %q", got)
	}
	g.ends("net-2", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 ")
	want := v1alpha1.StackRelease{Pipeline: "shop", UID: p.UID, Stage: "production", Commit: second, Promotion: 1}
	if s := g.stack.Status; s.Release == nil || *s.Release != want || s.AppliedInputsDigest != s.InputsDigest {
		t.Errorf("the status is %+v", s)
	}

	// A rollback to the first commit is a Run like that of each other release.
	g.promote(p, first)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	if got := g.file(g.source(), "net/main.tf"); got != "# 1" {
		t.Errorf("the archive has %q", got)
	}
	g.ends("net-3", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 net-3 ")
	known := g.stack.DeepCopy()
	g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 4"}})
	g.fetch(g.repo)
	g.reconcile()
	if g.stack.ResourceVersion != known.ResourceVersion {
		t.Errorf("a commit writes the status: %+v", g.stack.Status)
	}

	// The Pipeline is deleted: what the branch has is planned, and waits for an approval.
	apiserver.Must(t, g.Env.Client.Delete(t.Context(), p))
	g.Gone(p)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 net-3 net-4 ")
	const left = "stage production of Pipeline shop, which does not select the Stack any more"
	if run := g.run("net-4"); run.Spec.AfterHold != left || g.stack.Status.Release == nil {
		t.Errorf("the Run after the Pipeline is %+v", run.Spec)
	}
	g.ends("net-4", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 net-3 net-4 ")
	if g.stack.Status.Release != nil {
		t.Errorf("the release stays: %+v", g.stack.Status.Release)
	}
}

// TestStageChecksDriftAfterTheApply checks that a Stack of a stage that verifies drift is checked at once after its
// apply, once, and that its status has the Run that did.
func TestStageChecksDriftAfterTheApply(t *testing.T) {
	g := newGitTestEnv(t)
	commit := g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1"}})
	g.fetch(g.repo)
	g.stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: 12 * time.Hour}}
	p := g.inPipeline("shop")
	p.Spec.Stages[0].Verify = &v1alpha1.StageVerification{Drift: &v1alpha1.DriftVerification{}}
	apiserver.Must(t, g.Env.Client.Update(t.Context(), p))
	g.promote(p, commit)
	g.reconcile()
	g.Make(&v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Name: g.stack.Name}})
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 ")
	const want = "check for drift after the apply, for stage production of Pipeline shop"
	if run := g.run("net-2"); run.Spec.Operation != v1alpha1.OperationPlan || run.Spec.Cause.Message != want {
		t.Errorf("the Run is %+v", run.Spec)
	}
	if d := g.stack.Status.Drift; d == nil || d.CheckedBy != "" {
		t.Errorf("before the check, the drift is %+v", d)
	}
	run := g.run("net-2")
	run.Status = v1alpha1.RunStatus{
		Phase: v1alpha1.PhaseSucceeded, Plan: &v1alpha1.Plan{}, FinishedAt: &metav1.Time{Time: g.Now()},
	}
	apiserver.Must(t, g.Env.Client.Status().Update(t.Context(), run))
	g.Seen(run)
	g.reconcile()
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 ")
	if d := g.stack.Status.Drift; d == nil || d.CheckedBy != "net-2" || d.Since != nil {
		t.Errorf("after the check, the drift is %+v", d)
	}
}

// TestStackOfTwoStagesStops checks that a Stack which two stages select starts no Run.
func TestStackOfTwoStagesStops(t *testing.T) {
	g := newGitTestEnv(t)
	commit := g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1"}})
	g.fetch(g.repo)
	p, other := g.inPipeline("shop"), g.inPipeline("web")
	g.promote(p, commit)
	g.promote(other, commit)
	g.reconcile()
	g.expect("False", "PipelineConflict", "")
	if m := g.stack.Status.Conditions[0].Message; !strings.Contains(
		m, "stage production of Pipeline shop, stage production of Pipeline web") {
		t.Errorf("the message is %q", m)
	}
}

// TestRunNeedsTheReleaseOfTheAPIServer checks that a Stack with an old cache starts no Run with a release that its
// stage does not have any more, nor with the branch if a Pipeline selects it.
func TestRunNeedsTheReleaseOfTheAPIServer(t *testing.T) {
	for name, change := range map[string]func(g *gitTestEnv, p *v1alpha1.Pipeline){
		"another release": func(g *gitTestEnv, p *v1alpha1.Pipeline) {
			p.Status.Stages[0].Promotion++
			apiserver.Must(g.T, g.Env.Client.Status().Update(g.Context(), p))
		},
		"no Pipeline": func(g *gitTestEnv, p *v1alpha1.Pipeline) {
			apiserver.Must(g.T, g.Env.Client.Delete(g.Context(), p))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitTestEnv(t)
			commit := g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1"}})
			g.fetch(g.repo)
			p := g.inPipeline("shop")
			g.promote(p, commit)
			w, err := g.testEnv.Gather(t.Context(), g.stack, decision.Reservation{})
			apiserver.Must(t, err)
			apiserver.Must(t, g.testEnv.CheckEffective(t.Context(), w))
			change(g, p)
			if err := g.testEnv.CheckEffective(t.Context(), w); !apierrors.IsConflict(err) {
				t.Errorf("the error is %v, want a conflict", err)
			}
		})
	}
}

// TestDependentOfAStackWithARelease checks that Stacks which depend on one of a stage are applied once that one has its
// release, although the branch has other code.
func TestDependentOfAStackWithARelease(t *testing.T) {
	g := newGitTestEnv(t)
	first := g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1"}})
	g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	g.fetch(g.repo)
	p := g.inPipeline("shop")
	g.promote(p, first)
	app := g.withStack("app", after("net"))
	g.reconcile()
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")
	app.reconcile()
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}
