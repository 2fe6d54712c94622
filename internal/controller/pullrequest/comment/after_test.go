package comment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

const mergeCommit = "9a8b7c6d5e4f30212233445566778899aabbccdd"

// after returns a pull request that is merged, with what each Stack did.
func after(stacks ...Applied) PullRequest {
	pr := of(stack("net", plans(v1alpha1.Plan{Add: 3}, "  + aws_vpc.net will be created\n")))
	pr.Phase, pr.After = v1alpha1.PullRequestApplying, &After{Commit: mergeCommit, Stacks: stacks}
	return pr
}

// did returns a Stack with the Run name-8.
func did(name string, phase v1alpha1.StackApplyPhase, reason, message string) Applied {
	s := Applied{PullRequestStackApply: v1alpha1.PullRequestStackApply{Namespace: "web", Name: name, Phase: phase,
		Reason: reason, Message: message}}
	s.Run, s.URL = name+"-8", "https://cairn.example.com/runs/web/"+name+"-8"
	return s
}

func with(s Applied, p v1alpha1.Plan) Applied {
	p.Changes, p.Digest = true, "sha256:1f3c"
	s.Plan = &p
	return s
}

// allPhases is one Stack, or more, in each phase after a merge.
func allPhases() PullRequest {
	without := func(name string, phase v1alpha1.StackApplyPhase, reason, message string) Applied {
		s := did(name, phase, reason, message)
		s.Run, s.URL = "", ""
		return s
	}
	return after(
		with(did("net", v1alpha1.StackApplyApplied, v1alpha1.ReasonApplied, ""), v1alpha1.Plan{Add: 3, Change: 1}),
		did("same", v1alpha1.StackApplyApplied, v1alpha1.ReasonNoChanges, ""),
		without("gone", v1alpha1.StackApplyDeleted, "", ""),
		did("cdn", v1alpha1.StackApplyApplying, "", ""),
		without("slow", v1alpha1.StackApplyPending, "", ""),
		with(did("db", v1alpha1.StackApplyAwaitingApproval, v1alpha1.ReasonAwaitingApproval,
			"1 to destroy; approve it"), v1alpha1.Plan{Destroy: 1}),
		opening(did("night", v1alpha1.StackApplyWaiting, v1alpha1.ReasonWindowClosed, "no window allows Apply now")),
		without("paused", v1alpha1.StackApplyWaiting, v1alpha1.ReasonSuspended, "spec.suspend is true"),
		without("later", v1alpha1.StackApplyWaiting, v1alpha1.ReasonDependencyNotReady, "waits for Stack net"),
		did("dns", v1alpha1.StackApplyFailed, "EngineError", "Error: Invalid zone\n\n  on main.tf line 3:\n   3:   "+
			"zone = \"a|b\"\n"),
		did("mail", v1alpha1.StackApplyFailed, v1alpha1.ReasonRejected, "bob rejected the plan: not on a Friday"),
		without("old", v1alpha1.StackApplyStopped, v1alpha1.ReasonPathNotFound,
			"the repository has no directory stacks/old"),
		without("lab", v1alpha1.StackApplyStopped, v1alpha1.ReasonDestroyed, "all resources are destroyed"),
		without("lost", v1alpha1.StackApplySuperseded, "", ""),
	)
}

// opening lets a Stack wait for a window.
func opening(s Applied) Applied {
	s.OpensAt = &metav1.Time{Time: time.Date(2026, 12, 7, 9, 0, 0, 0, time.FixedZone("CET", 3600))}
	return s
}

// hostileAfter has text of others in each field that can have it.
func hostileAfter() PullRequest {
	pr := hostilePullRequest()
	pr.Phase, pr.After = v1alpha1.PullRequestApplyFailed, &After{Commit: hostile}
	for _, phase := range append(groups, v1alpha1.StackApplyPhase(hostile)) {
		s := did(hostile, phase, hostile, hostile)
		s.Namespace, s.URL = hostile, "https://cairn.example.com/"+hostile
		pr.After.Stacks = append(pr.After.Stacks, s)
	}
	return pr
}

// A Stack that needs a user has the command, and which verb it requires in which namespace.
func TestNextStepsAfterTheMerge(t *testing.T) {
	text := Render(allPhases(), GitHub)
	for _, want := range []string{
		"`cairn -n web approve db-8`, by a user with the verb `approve` on Runs in the namespace `web`",
		"`cairn -n web retry dns`", "`cairn -n web apply mail`", "`cairn -n web resume paused`",
		"`cairn -n web describe old`",
		"`cairn -n web apply lab`", "does not have the merge any more", "Applied: 3 added, 1 changed",
		"Applied: no changes",
		"It continues at 2026-12-07 08:00 UTC, when the window opens",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if first, last := strings.Index(text, "`web/dns`"), strings.Index(text, "`web/same`"); first < 0 || first > last {
		t.Error("what failed is first")
	}
}

// The status of the merge commit is pending until each Stack has ended, and a failure as soon as one failed.
func TestStatusOfTheMergeCommit(t *testing.T) {
	applied := with(did("net", v1alpha1.StackApplyApplied, v1alpha1.ReasonApplied, ""), v1alpha1.Plan{Add: 3})
	waits, failed := did("db", v1alpha1.StackApplyAwaitingApproval, "", ""), did("dns", v1alpha1.StackApplyFailed,
		"EngineError", hostile)
	for name, tt := range map[string]struct {
		pr   PullRequest
		want string
	}{
		"applied": {after(applied, applied), "success 2 of 2 Stacks applied: 6 added."},
		"unchanged": {after(did("net", v1alpha1.StackApplyApplied, v1alpha1.ReasonNoChanges, "")),
			"success 1 of 1 Stack applied."},
		"one deleted": {after(applied, did("gone", v1alpha1.StackApplyDeleted, "", "")),
			"success 1 of 2 Stacks applied: 3 added, 1 deleted."},
		"one waits": {after(applied, waits), "pending 1 of 2 Stacks applied, 1 waits for an approval."},
		"one failed": {after(failed, applied, waits), "failure 1 of 3 Stacks applied, 1 failed, 1 waits for " +
			"an approval."},
		"in progress": {after(did("a", v1alpha1.StackApplyPending, "", ""),
			did("b", v1alpha1.StackApplyApplying, "", "")), "pending 0 of 2 Stacks applied, 2 in progress."},
		"lost": {after(did("a", v1alpha1.StackApplySuperseded, "", "")), "failure 0 of 1 Stack applied, 1 superseded."},
		"expired": {func() PullRequest {
			pr := after(waits)
			pr.After.Expired, pr.After.More = true, 2
			return pr
		}(), "failure 0 of 1 Stack applied, 1 waits for an approval. Cairn does not report what follows. Cairn does " +
			"not report 2 more Stacks."},
	} {
		got := ApplyStatus(tt.pr, ApplyContext("infra"))
		if text := string(got.State) + " " + got.Description; text != tt.want || got.Context != "infra/apply" ||
			got.URL != tt.pr.URL {
			t.Errorf("%s: %+v, want %s", name, got, tt.want)
		}
	}
}

// The comment with the result is another one than that with the plans, and has none of them.
func TestResultIsAnotherComment(t *testing.T) {
	pr := allPhases()
	plans, result := Render(pr, GitHub), Render(Result(pr), GitHub)
	if ours.IsMarked(result) || !Result(pr).ID.IsMarked(result) || Result(pr).ID.IsMarked(plans) ||
		!ours.IsMarked(plans) {
		t.Errorf("the marker of %.200s", result)
	}
	if strings.Contains(result, "aws_vpc") || !strings.Contains(plans, "aws_vpc") ||
		!strings.Contains(result, "`web/dns`") {
		t.Error(result)
	}
}

// The table of many Stacks is cut as that of plans.
func TestManyStacksAfterTheMerge(t *testing.T) {
	pr := after()
	for n := range 500 {
		pr.After.Stacks = append(pr.After.Stacks, did(fmt.Sprintf("stack-%d", n), v1alpha1.StackApplyFailed,
			"EngineError", strings.Repeat("long ", 90)))
	}
	for _, f := range []Format{GitHub, Bitbucket, {Limit: 700}, {Limit: 100}} {
		text := Render(pr, f)
		check(t, text, pr, f)
		if f.Limit > 1000 && !strings.Contains(text, "more Stacks: see the") {
			t.Errorf("limit %d: %.300s", f.Limit, text)
		}
	}
}

// TestCommentHasTheDeadlineOfAHold checks that the comment has the time until which a Stack is held, and that one that
// ended then does not count as applied.
func TestCommentHasTheDeadlineOfAHold(t *testing.T) {
	held := did("net", v1alpha1.StackApplyApplied, v1alpha1.ReasonApplied, "")
	held.Deadline = &metav1.Time{Time: time.Date(2026, 12, 3, 10, 0, 0, 0, time.UTC)}
	pr := of(stack("net", plans(v1alpha1.Plan{Add: 3}, "  + aws_vpc.net will be created\n")))
	pr.Held = []Applied{held}
	render := func() string { return Render(pr, Format{Limit: 65_536}) }
	if got := render(); !strings.Contains(got, "| Applied (`Applied`). Held until 2026-12-03 10:00 UTC |") {
		t.Errorf("the comment is\n%s", got)
	}
	if s := ApplyBeforeStatus(pr, "cairn/apply", true); s.State != Success {
		t.Errorf("the status is %+v", s)
	}
	pr.Held[0].Expired = true
	if got := render(); !strings.Contains(got, "| Not merged before 2026-12-03 10:00 UTC: the Stack goes back to the "+
		"base, by a plan that waits for an approval | `/cairn apply` again, or merge |") {
		t.Errorf("the comment is\n%s", got)
	}
	if s := ApplyBeforeStatus(pr, "cairn/apply", true); s.State != Pending {
		t.Errorf("the status is %+v", s)
	}
}
