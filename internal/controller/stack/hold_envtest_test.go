//go:build envtest

package stack

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// applyPull creates a PullRequest that is applied to the Stack before its merge.
func (g *gitTestEnv) applyPull(head, base string) *v1alpha1.PullRequest {
	g.Helper()
	pull := &v1alpha1.PullRequest{ObjectMeta: metav1.ObjectMeta{Name: "infra-12"}, Spec: v1alpha1.PullRequestSpec{
		Repository: v1alpha1.ObjectRef{Name: g.repo.Name}, Number: 12, State: v1alpha1.PullRequestOpen,
		Head: v1alpha1.PullRequestHead{Branch: "wider", Commit: head}, Base: "main",
	}}
	g.Make(pull)
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base})
	return pull
}

func (g *gitTestEnv) setHold(pull *v1alpha1.PullRequest, h v1alpha1.PullRequestHold) {
	g.Helper()
	h.Namespace, h.Name, h.Phase = g.stack.Namespace, g.stack.Name, v1alpha1.StackApplyPending
	h.By, h.At = "gitea:git.example.com:bob", metav1.Now()
	pull.Status = v1alpha1.PullRequestStatus{Phase: v1alpha1.PullRequestPlanned, Holds: []v1alpha1.PullRequestHold{h}}
	apiserver.Must(g.T, g.Env.Client.Status().Update(g.Context(), pull))
	g.Seen(pull)
}

// newHeldTestEnv has a Stack that is applied, and a pull request that widens the subnet.
func newHeldTestEnv(t *testing.T) (g *gitTestEnv, base, head string) {
	g = newGitTestEnv(t)
	base = g.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1", "net/b.tf": "# base"}})
	head = g.push(gitserver.Change{
		Branch: "wider", Onto: base, Author: "Carol <carol@example.org>",
		Files: map[string]string{"net/main.tf": "# wide"},
	})
	g.fetch(g.repo)
	g.reconcile()
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")
	return g, base, head
}

// TestPullRequestIsAppliedBeforeItsMerge follows a pull request that is applied, while the base gets another commit,
// and then merged: nothing is applied twice, and what waited is applied after it.
func TestPullRequestIsAppliedBeforeItsMerge(t *testing.T) {
	g, base, head := newHeldTestEnv(t)
	pull := g.applyPull(head, base)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	run := g.run("net-2")
	if run.Spec.Revision != "pull/12@sha1:"+head || run.Spec.Cause.Type != v1alpha1.CauseCommit ||
		run.Spec.AfterHold != "" {
		t.Errorf("the Run is %+v", run.Spec)
	}
	if got := g.file(g.source(), "net/main.tf"); got != "# wide" {
		t.Errorf("the archive has %q", got)
	}
	g.ends("net-2", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 ")
	if h := g.stack.Status.Hold; h == nil || h.Head != head || h.By != "gitea:git.example.com:bob" {
		t.Errorf("the hold is %+v", h)
	}

	// A commit of the base is not applied, and neither is a push to the branch.
	g.push(gitserver.Change{Files: map[string]string{"net/b.tf": "# of another pull request"}})
	g.push(gitserver.Change{Branch: "wider", Files: map[string]string{"net/main.tf": "# wider still"}})
	g.fetch(g.repo)
	known := g.stack.DeepCopy()
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 ")
	if g.stack.ResourceVersion != known.ResourceVersion {
		t.Errorf("a commit writes the status: %+v", g.stack.Status)
	}

	g.push(gitserver.Change{Message: "Squash", Files: map[string]string{"net/main.tf": "# wide"}})
	g.fetch(g.repo)
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base, Released: v1alpha1.HoldMerged})
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	if run := g.run("net-3"); run.Spec.AfterHold != "" || !strings.HasPrefix(run.Spec.Revision, "main@") {
		t.Errorf("the Run of what waited is %+v", run.Spec)
	}
	if got := g.file(g.source(), "net/b.tf"); got != "# of another pull request" {
		t.Errorf("the archive has %q", got)
	}
}

// requiresApproval are settings by which a pull request is applied before its merge, if a review approves it.
func requiresApproval() *v1alpha1.PullRequests {
	return &v1alpha1.PullRequests{
		Provider:    v1alpha1.GitProviderGitea,
		Credentials: v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "pulls"}},
		Apply:       v1alpha1.ApplyBeforeMerge, Requirements: []v1alpha1.Requirement{v1alpha1.RequirementApproved},
	}
}

// TestRunOfAHoldHasItsRequirements checks that the Run has what the Repository requires, and that it cannot be changed.
func TestRunOfAHoldHasItsRequirements(t *testing.T) {
	g, base, head := newHeldTestEnv(t)
	g.repo.Spec.PullRequests = requiresApproval()
	apiserver.Must(t, g.Env.Client.Update(t.Context(), g.repo))
	g.Seen(g.repo)
	g.applyPull(head, base)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	run := g.run("net-2")
	if r := run.Spec.Requirements; r == nil || len(r.Types) != 1 || r.PullRequest.Name != "infra-12" ||
		r.PullRequest.Number != 12 {
		t.Fatalf("the Run requires %+v", r)
	}
	run.Spec.Requirements = nil
	if err := g.Env.Client.Update(t.Context(), run); err == nil ||
		!strings.Contains(err.Error(), "a Run's requirements cannot change") {
		t.Errorf("they are removed: %v", err)
	}
}

// TestRunAfterAClosedHoldHasNoRequirements checks that the base gets a Run of its own if it has the code of a pull
// request which is closed: the requirements of that can never be met.
func TestRunAfterAClosedHoldHasNoRequirements(t *testing.T) {
	g, base, head := newHeldTestEnv(t)
	g.repo.Spec.PullRequests = requiresApproval()
	apiserver.Must(t, g.Env.Client.Update(t.Context(), g.repo))
	g.Seen(g.repo)
	pull := g.applyPull(head, base)
	g.reconcile()
	g.push(gitserver.Change{Message: "The same change", Files: map[string]string{"net/main.tf": "# wide"}})
	g.fetch(g.repo)
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base, Released: v1alpha1.HoldClosed})
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	run := g.run("net-2")
	if s := g.stack.Status; s.Hold != nil || s.InputsDigest != run.Spec.InputsDigest || s.EndedHold == nil ||
		s.EndedHold.Number != run.Spec.Requirements.PullRequest.Number { // on which the Run ends
		t.Fatalf("after the close: %+v", s)
	}
	g.ends("net-2", v1alpha1.PhaseSuperseded)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	if next := g.run("net-3").Spec; next.Requirements != nil || next.AfterHold != "pull request 12, which was closed "+
		"without a merge" {
		t.Errorf("the next Run is %+v", next)
	}
}

// TestMergedHoldStartsNoRun checks that a merge of what is applied plans nothing.
func TestMergedHoldStartsNoRun(t *testing.T) {
	g, base, head := newHeldTestEnv(t)
	pull := g.applyPull(head, base)
	g.reconcile()
	g.ends("net-2", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.push(gitserver.Change{Message: "Squash", Files: map[string]string{"net/main.tf": "# wide"}})
	g.fetch(g.repo)
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base, Released: v1alpha1.HoldMerged})
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 ")
	if s := g.stack.Status; s.Hold != nil || s.EndedHold != nil || !strings.HasPrefix(s.Revision, "main@") {
		t.Errorf("after the merge: hold %+v, ended %+v, revision %s", s.Hold, s.EndedHold, s.Revision)
	}
}

// TestClosedHoldReturnsAfterAnApproval checks that the way back to the base waits for an approval, whatever spec.apply
// is, also if the PullRequest was deleted, and that its commit is not needed for that.
func TestClosedHoldReturnsAfterAnApproval(t *testing.T) {
	for name, end := range map[string]func(g *gitTestEnv, pull *v1alpha1.PullRequest, head, base string){
		"closed without a merge": func(g *gitTestEnv, pull *v1alpha1.PullRequest, head, base string) {
			g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base, Released: v1alpha1.HoldClosed})
		},
		"deleted": func(g *gitTestEnv, pull *v1alpha1.PullRequest, _, _ string) {
			apiserver.Must(g.T, g.Env.Client.Delete(g.Context(), pull))
			g.Gone(pull)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, base, head := newHeldTestEnv(t)
			pull := g.applyPull(head, base)
			g.reconcile()
			g.ends("net-2", v1alpha1.PhaseSucceeded)
			g.reconcile()
			end(g, pull, head, base)
			g.reconcile()
			g.expect("Unknown", "Running", "net-1 net-2 net-3 ")
			if got, want := g.run("net-3").Spec.AfterHold, "pull request 12, which was "+name; got != want {
				t.Errorf("afterHold is %q, want %q", got, want)
			}
			if got := g.file(g.source(), "net/main.tf"); got != "# 1" {
				t.Errorf("the archive has %q", got)
			}
			g.ends("net-3", v1alpha1.PhaseSucceeded)
			g.reconcile()
			g.expect("True", "Applied", "net-1 net-2 net-3 ")
			if g.stack.Status.EndedHold != nil {
				t.Errorf("after the return: %+v", g.stack.Status.EndedHold)
			}
		})
	}
}

// TestHoldEndsAtItsDeadline checks that a Stack leaves a pull request that is not merged in time, by a plan that waits
// for an approval, and that it does not while that is applied.
func TestHoldEndsAtItsDeadline(t *testing.T) {
	g, base, head := newHeldTestEnv(t)
	pull := g.applyPull(head, base)
	passed := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	later := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base, Deadline: &later})
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	if h := g.stack.Status.Hold; h == nil || !h.Deadline.Equal(&later) {
		t.Fatalf("the hold is %+v", h)
	}
	run := g.run("net-2")
	run.Status.Phase = v1alpha1.PhaseApplying
	apiserver.Must(t, g.Env.Client.Status().Update(t.Context(), run))
	g.Seen(run)
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base, Deadline: &passed})
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	if g.stack.Status.Hold == nil {
		t.Fatal("it ends during an apply")
	}
	g.ends("net-2", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	if got := g.run("net-3").Spec.AfterHold; got != "pull request 12, which was not merged before its deadline" {
		t.Errorf("afterHold is %q", got)
	}
	if s := g.stack.Status; s.Hold != nil || s.EndedHold.Reason != v1alpha1.HoldExpired {
		t.Errorf("the hold is %+v, the ended one %+v", s.Hold, s.EndedHold)
	}
	g.ends("net-3", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.expect("True", "Applied", "net-1 net-2 net-3 ")
}

// TestHeldCommitIsLost checks that a Stack stays as it is when the repository lost the commit that it has.
func TestHeldCommitIsLost(t *testing.T) {
	g, base, _ := newHeldTestEnv(t)
	g.applyPull(strings.Repeat("b", 40), base)
	g.reconcile()
	g.expectReady("Unknown", "HeldCodeNotFound",
		"pull request 12 is applied before its merge, and Repository infra does not have its commit bbbbbbbbbbbb, "+
			"or the base "+
			base[:12]+", any more: comment /cairn apply there again, or /cairn unlock")
	g.expectNoRun("net-2")
}

// TestHoldOfAnotherRepositoryDoesNotCount checks that a PullRequest of another Repository changes nothing in a Stack.
func TestHoldOfAnotherRepositoryDoesNotCount(t *testing.T) {
	g, base, head := newHeldTestEnv(t)
	other := g.repository("other", false)
	pull := &v1alpha1.PullRequest{ObjectMeta: metav1.ObjectMeta{Name: "other-12"}, Spec: v1alpha1.PullRequestSpec{
		Repository: v1alpha1.ObjectRef{Name: other.Name}, Number: 12, State: v1alpha1.PullRequestOpen,
		Head: v1alpha1.PullRequestHead{Commit: head}, Base: "main",
	}}
	g.Make(pull)
	g.setHold(pull, v1alpha1.PullRequestHold{Head: head, Base: base})
	g.reconcile()
	g.expect("True", "Applied", "net-1 ")
	if g.stack.Status.Hold != nil {
		t.Errorf("the hold is %+v", g.stack.Status.Hold)
	}
}
