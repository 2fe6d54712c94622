package pullrequest

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
)

// heldSnapshot has pull request 12, which is applied to Stack web/net, and the Stack with that code applied.
func heldSnapshot(changes ...func(*Snapshot, *v1alpha1.Stack)) Snapshot {
	head := strings.Repeat("a", 40)
	pull := &v1alpha1.PullRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "infra-12", UID: "of 12"}}
	pull.Spec.Number, pull.Spec.State, pull.Spec.Head.Commit = 12, v1alpha1.PullRequestOpen, head
	pull.Status.Holds = []v1alpha1.PullRequestHold{{
		PullRequestStackApply: v1alpha1.PullRequestStackApply{Namespace: "web", Name: "net"}, Head: head,
	}}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"}}
	stack.Status.Hold = &v1alpha1.StackHold{UID: "of 12", Number: 12, Head: head}
	stack.Status.Revision = "pull/12@sha1:" + head
	stack.Status.InputsDigest, stack.Status.AppliedInputsDigest = "sha256:a", "sha256:a"
	w := Snapshot{PullRequest: pull, Settings: &v1alpha1.PullRequests{Apply: v1alpha1.ApplyBeforeMerge}}
	w.Held = map[Key]AfterStack{{"web", "net"}: {
		Stack: stack, Read: true, Merged: map[string]bool{stack.Status.Revision: true},
	}}
	for _, change := range changes {
		change(&w, stack)
	}
	return w
}

// atDeadline sets the clock to some time after the deadline of the hold.
func atDeadline(after time.Duration) func(*Snapshot, *v1alpha1.Stack) {
	return func(w *Snapshot, _ *v1alpha1.Stack) {
		hold := &w.PullRequest.Status.Holds[0]
		hold.At, w.Settings.HoldTimeout = metav1.NewTime(noon), &metav1.Duration{Duration: time.Hour}
		w.Now = noon.Add(time.Hour + after)
	}
}

// TestDeadlineOfAHold checks that a command decides the deadline once, that a merge ends it, and when it is read.
func TestDeadlineOfAHold(t *testing.T) {
	w := heldSnapshot(atDeadline(-time.Minute))
	want := metav1.NewTime(noon.Add(time.Hour))
	holds := w.nextHolds()
	if !holds[0].Deadline.Equal(&want) || w.nextDeadline(holds) != time.Minute {
		t.Fatalf("%v, again after %s", holds[0].Deadline, w.nextDeadline(holds))
	}
	w.PullRequest.Status.Holds, w.Settings.HoldTimeout = holds, nil
	if holds = w.nextHolds(); !holds[0].Deadline.Equal(&want) {
		t.Errorf("after a change of the Repository: %v", holds[0].Deadline)
	}
	holds[0].Deadline = nil
	w.PullRequest.Status.Holds = holds
	if want := metav1.NewTime(noon.Add(72 * time.Hour)); !w.nextHolds()[0].Deadline.Equal(&want) {
		t.Errorf("the default is %v", w.nextHolds()[0].Deadline)
	}
	w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit = v1alpha1.PullRequestMerged, strings.Repeat("c", 40)
	if holds = w.nextHolds(); holds[0].Deadline != nil || w.nextDeadline(holds) != 0 {
		t.Errorf("after the merge: %v", holds[0].Deadline)
	}
	holds[0].Released, holds[0].Deadline = v1alpha1.HoldExpired, &want
	w = heldSnapshot()
	w.PullRequest.Status.Holds = holds
	report := w.holdsOf(&w.PullRequest.Status, "")
	if len(report) != 1 || !report[0].Expired || !report[0].Deadline.Equal(&want) {
		t.Errorf("the comment has %+v", report)
	}
}

// TestOtherPullRequestsShowAHold checks what the merge of a pull request does while another one holds a Stack.
func TestOtherPullRequestsShowAHold(t *testing.T) {
	hold := &v1alpha1.StackHold{UID: "of 13", Number: 13, Deadline: &metav1.Time{Time: noon}}
	planned := v1alpha1.PullRequestStack{
		Namespace: "web", Name: "net", Phase: v1alpha1.PhaseSucceeded, Plan: &v1alpha1.Plan{Changes: true},
	}
	key := Key{"web", "net"}
	w := heldSnapshot()
	w.Merge = &Merge{Affected: []Affected{
		{Key: key, Rules: &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyManual}}}}}
	w.Holders = map[Key]*v1alpha1.StackHold{key: hold}
	stacks := []v1alpha1.PullRequestStack{planned}
	w.setOnMerge(stacks)
	const want = "pull request 13 is applied to it until it is merged or closed, or until 2026-11-27 12:00 " +
		"UTC; spec.apply"
	if next := stacks[0].OnMerge; next.Action != v1alpha1.StackMergeWait || !strings.HasPrefix(next.Message, want) ||
		len(next.Rules) != 1 {
		t.Errorf("it has %+v", next)
	}
	w.Merge.Affected[0].Rules.Spec.Suspend = true
	if w.setOnMerge(stacks); stacks[0].OnMerge.Action != v1alpha1.StackMergeStop {
		t.Errorf("a suspended Stack has %+v", stacks[0].OnMerge)
	}
}

func TestHoldsOfAPullRequest(t *testing.T) {
	in := func(state v1alpha1.PullRequestState) func(*Snapshot, *v1alpha1.Stack) {
		return func(w *Snapshot, _ *v1alpha1.Stack) {
			w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit = state, strings.Repeat("c", 40)
		}
	}
	for name, tt := range map[string]struct {
		w        Snapshot
		phase    v1alpha1.StackApplyPhase
		released v1alpha1.HoldEnd
	}{
		"it is applied": {heldSnapshot(), v1alpha1.StackApplyApplied, ""},
		"it is not applied yet": {heldSnapshot(func(_ *Snapshot, s *v1alpha1.Stack) {
			s.Status.AppliedInputsDigest = "sha256:before"
		}), v1alpha1.StackApplyPending, ""},
		"another pull request is applied": {heldSnapshot(func(_ *Snapshot, s *v1alpha1.Stack) {
			s.Status.Hold = &v1alpha1.StackHold{UID: "of 13", Number: 13}
		}), v1alpha1.StackApplyWaiting, ""},
		"it is merged, and the base is not fetched": {heldSnapshot(in(v1alpha1.PullRequestMerged)),
			v1alpha1.StackApplyApplied, ""},
		"it is merged, and the base has it": {heldSnapshot(in(v1alpha1.PullRequestMerged),
			func(w *Snapshot, _ *v1alpha1.Stack) {
				w.MergeInBase = true
			}), v1alpha1.StackApplyApplied, v1alpha1.HoldMerged},
		// Whether the base has it cannot be found: what leaves it has to be approved.
		"it is merged without a known commit": {heldSnapshot(in(v1alpha1.PullRequestMerged),
			func(w *Snapshot, _ *v1alpha1.Stack) {
				w.PullRequest.Spec.MergeCommit = ""
			}), v1alpha1.StackApplyApplied, v1alpha1.HoldClosed},
		"it is merged into another branch": {heldSnapshot(in(v1alpha1.PullRequestMerged),
			func(w *Snapshot, _ *v1alpha1.Stack) {
				w.MergeInBase, w.PullRequest.Spec.Base, w.PullRequest.Status.Holds[0].Branch = true, "release", "main"
			}), v1alpha1.StackApplyApplied, v1alpha1.HoldClosed},
		"it is merged into the branch": {heldSnapshot(in(v1alpha1.PullRequestMerged),
			func(w *Snapshot, _ *v1alpha1.Stack) {
				w.MergeInBase, w.PullRequest.Spec.Base, w.PullRequest.Status.Holds[0].Branch = true, "main", "main"
			}), v1alpha1.StackApplyApplied, v1alpha1.HoldMerged},
		"it is closed": {heldSnapshot(in(v1alpha1.PullRequestClosed)), v1alpha1.StackApplyApplied, v1alpha1.HoldClosed},
		"the Stack is deleted": {heldSnapshot(func(w *Snapshot, _ *v1alpha1.Stack) {
			w.Held = nil
		}), v1alpha1.StackApplyDeleted, v1alpha1.HoldClosed},
		"the deadline is a second later": {heldSnapshot(atDeadline(-time.Second)), v1alpha1.StackApplyApplied, ""},
		// The Stack decides that, and not while an apply is in progress.
		"the deadline has passed, and the Stack has its code": {heldSnapshot(atDeadline(0)), v1alpha1.StackApplyApplied,
			""},
		"the deadline has passed, and the Stack has left it": {heldSnapshot(atDeadline(0),
			func(_ *Snapshot, s *v1alpha1.Stack) {
				s.Status.Hold = nil
			}), v1alpha1.StackApplyApplied, v1alpha1.HoldExpired},
		"the deadline has passed, and another pull request is applied": {heldSnapshot(atDeadline(0),
			func(_ *Snapshot, s *v1alpha1.Stack) {
				s.Status.Hold = &v1alpha1.StackHold{UID: "of 13", Number: 13}
			}), v1alpha1.StackApplyWaiting, v1alpha1.HoldExpired},
		"it is merged, and the deadline would have passed": {heldSnapshot(in(v1alpha1.PullRequestMerged), atDeadline(0),
			func(_ *Snapshot, s *v1alpha1.Stack) {
				s.Status.Hold = nil
			}), v1alpha1.StackApplyApplied, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.w.nextHolds()[0]
			if got.Phase != tt.phase || got.Released != tt.released {
				t.Errorf("got %q, released %q; want %q, %q: %+v", got.Phase, got.Released, tt.phase, tt.released, got)
			}
		})
	}
}

// TestCommandsHoldAndUnlock checks what the commands write: the commits that the user has read, and of another command
// for the same Stack nothing twice.
func TestCommandsHoldAndUnlock(t *testing.T) {
	w := heldSnapshot()
	w.PullRequest.Status.Holds = nil
	w.Merge = &Merge{PullRequestMerge: v1alpha1.PullRequestMerge{Base: "base one"}}
	w.PullRequest.Spec.Base = "main"
	result := func(reason command.Reason) command.Decision {
		return command.Decision{Stacks: []command.Result{{
			Stack: command.Ref{Namespace: "web", Name: "net"}, Reason: reason, Head: "head one",
		}}}
	}
	w.hold(result(command.Forbidden), command.Snapshot{User: "bob"})
	if len(w.PullRequest.Status.Holds) > 0 {
		t.Fatalf("a denied command: %+v", w.PullRequest.Status.Holds)
	}
	w.hold(result(command.Allowed), command.Snapshot{User: "bob"})
	w.hold(result(command.Allowed), command.Snapshot{User: "carol"})
	holds := w.PullRequest.Status.Holds
	if len(holds) != 1 || holds[0].Base != "base one" || holds[0].Branch != "main" || holds[0].Head != "head one" ||
		holds[0].By != "carol" {
		t.Fatalf("two commands: %+v", holds)
	}
	w.unlock(result(command.Forbidden))
	if !w.isHeld(Key{"web", "net"}) {
		t.Error("a denied command unlocks")
	}
	w.unlock(result(command.Allowed))
	if w.isHeld(Key{"web", "net"}) || len(IndexApplies(w.PullRequest)) > 0 {
		t.Errorf("unlocked: %+v", w.PullRequest.Status.Holds)
	}
	w.hold(result(command.Allowed), command.Snapshot{User: "bob"})
	if !w.isHeld(Key{"web", "net"}) || len(w.PullRequest.Status.Holds) != 1 {
		t.Errorf("applied again: %+v", w.PullRequest.Status.Holds)
	}
}

// TestRevisionOfAHead checks that neither a branch with the same commit nor another pull request counts.
func TestRevisionOfAHead(t *testing.T) {
	w := heldSnapshot()
	head := w.PullRequest.Spec.Head.Commit
	for revision, want := range map[string]bool{
		"pull/12@sha1:" + head: true, "main@sha1:" + head: false, "pull/1@sha1:" + head: false, "pull/123@sha1:" +
			head: false,
		"pull/12@sha1:" + strings.Repeat("b", 40): false, "": false,
	} {
		if got := w.isOf(revision, head); got != want {
			t.Errorf("%s: %t", revision, got)
		}
	}
}

// TestPlansThatCanBeApplied checks for which pull requests the comment offers the command.
func TestPlansThatCanBeApplied(t *testing.T) {
	planned := func(s v1alpha1.PullRequestStack) *v1alpha1.PullRequestStatus {
		s.Phase, s.Plan = v1alpha1.PhaseSucceeded, &v1alpha1.Plan{Changes: true}
		return &v1alpha1.PullRequestStatus{Phase: v1alpha1.PullRequestPlanned, Stacks: []v1alpha1.PullRequestStack{s}}
	}
	open := heldSnapshot()
	if !open.isAppliable(planned(v1alpha1.PullRequestStack{})) {
		t.Error("a plan with changes is not offered")
	}
	for name, change := range map[string]func(*Snapshot){
		"a draft":          func(w *Snapshot) { w.PullRequest.Spec.Draft = true },
		"a fork":           func(w *Snapshot) { w.PullRequest.Spec.Fork = true },
		"after the merge":  func(w *Snapshot) { w.Settings.Apply = v1alpha1.ApplyAfterMerge },
		"without settings": func(w *Snapshot) { w.Settings = nil },
	} {
		w := heldSnapshot()
		change(&w)
		if w.isAppliable(planned(v1alpha1.PullRequestStack{})) {
			t.Errorf("%s is offered", name)
		}
	}
	for _, s := range []v1alpha1.PullRequestStack{{New: true}, {DeletedDirectory: "net"}} {
		if open.isAppliable(planned(s)) {
			t.Errorf("%+v is offered", s)
		}
	}
}

// onlyVerb allows one verb, on Stacks or on Runs.
type onlyVerb struct{ stacks, runs string }

func (v onlyVerb) Allows(_ context.Context, _ string, _ []string, verb string, _ Key) (bool, error) {
	return verb == v.stacks, nil
}

func (v onlyVerb) AllowsRun(_ context.Context, _ string, _ []string, verb string, run Key) (bool, error) {
	return verb == v.runs && run.Name == "", nil
}

// TestVerbsOfCommands checks which verb each command requires, and that no other one is enough.
func TestVerbsOfCommands(t *testing.T) {
	for verb, needs := range map[command.Verb]onlyVerb{
		command.Plan: {stacks: "plan"}, command.Apply: {stacks: "apply"}, command.Unlock: {stacks: "apply"},
		command.Approve: {runs: "approve"}, command.Reject: {runs: "reject"},
	} {
		for _, has := range []onlyVerb{{stacks: "plan"}, {stacks: "apply"}, {runs: "approve"}, {runs: "reject"},
			{runs: "apply"}} {
			r := &Reconciler{Access: has}
			facts := command.Snapshot{Command: command.Command{Verb: verb}}
			got, err := r.verbsOf(t.Context(), "bob", nil, facts, Key{"web", "net"})
			if err != nil || len(got) > 0 != (has == needs) {
				t.Errorf("%s with %+v: %v, %v", verb, has, got, err)
			}
		}
	}
}

// TestAStackOfAStageIsAppliedAfterTheMerge checks what depends on the stage of a Pipeline that selects a Stack.
func TestAStackOfAStageIsAppliedAfterTheMerge(t *testing.T) {
	_, status := decided(t, stackCase{name: "net", plan: v1alpha1.Plan{Changes: true, Change: 1},
		stack: func(s *v1alpha1.Stack) {
			s.Status.Release = &v1alpha1.StackRelease{Pipeline: "shop", Stage: "production"}
		}})
	if stage := status.Stacks[0].OnMerge.Stage; stage != "shop/production" {
		t.Errorf("its stage is %q", stage)
	}
	if why := afterMergeOnly(status.Stacks[0]); why != "it has the release of the stage shop/production" {
		t.Errorf("a command to apply it is rejected with %q", why)
	}
}
