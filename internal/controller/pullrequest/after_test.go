package pullrequest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

const (
	oldRevision  = "main@sha1:0000000000000000000000000000000000000001"
	withRevision = "main@sha1:0000000000000000000000000000000000000002"
)

// Short names for tables.
type (
	facts  []func(*AfterStack)
	phases []v1alpha1.StackApplyPhase
)

const (
	isPending          = v1alpha1.StackApplyPending
	isApplying         = v1alpha1.StackApplyApplying
	isAwaitingApproval = v1alpha1.StackApplyAwaitingApproval
	isWaiting          = v1alpha1.StackApplyWaiting
	isApplied          = v1alpha1.StackApplyApplied
	isFailed           = v1alpha1.StackApplyFailed
	isStopped          = v1alpha1.StackApplyStopped
	isSuperseded       = v1alpha1.StackApplySuperseded
	isDeleted          = v1alpha1.StackApplyDeleted

	opApply = v1alpha1.OperationApply
	opPlan  = v1alpha1.OperationPlan
)

// afterMerge is the Stack web/net, which has read the merge and not applied it.
func afterMerge(changes ...func(*AfterStack)) AfterStack {
	s := AfterStack{
		Stack: &v1alpha1.Stack{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"},
			Status: v1alpha1.StackStatus{
				Revision: withRevision, InputsDigest: "sha256:new", AppliedInputsDigest: "sha256:old",
				History: []v1alpha1.PastRun{{
					Name: "net-1", Operation: opApply, Applied: true,
					Details: &v1alpha1.PastDetails{Revision: oldRevision, InputsDigest: "sha256:old",
						Plan: &v1alpha1.Plan{Changes: true, Add: 7}},
				}},
			},
		},
		Merged: map[string]bool{withRevision: true},
	}
	ready("Running")(&s)
	for _, change := range changes {
		change(&s)
	}
	return s
}

// ready sets the reason of the Stack.
func ready(reason string) func(*AfterStack) {
	return func(s *AfterStack) {
		c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason,
			Message: "why " + reason}
		s.Stack.Status.Conditions = []metav1.Condition{c}
	}
}

// unread lets the Stack have the status of before the merge, with a reason.
func unread(reason string) func(*AfterStack) {
	return func(s *AfterStack) {
		ready(reason)(s)
		s.Stack.Status.Revision, s.Stack.Status.InputsDigest = oldRevision, "sha256:old"
	}
}

// run sets the Run net-2 of a revision.
func run(revision string, phase v1alpha1.RunPhase, reason string) func(*AfterStack) {
	return func(s *AfterStack) {
		s.Run = &v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net-2"},
			Spec:       v1alpha1.RunSpec{Operation: opApply, Revision: revision, InputsDigest: "sha256:of-the-run"},
			Status: v1alpha1.RunStatus{Phase: phase, Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionSucceeded, Reason: reason, Message: "why " + reason},
			}},
		}
	}
}

// opens sets when the window of the Run opens.
func opens(s *AfterStack) { s.Run.Status.WindowOpensAt = &metav1.Time{Time: noon.Add(time.Hour)} }

// past appends the Run net-2 to the history.
func past(revision string, operation v1alpha1.Operation, applied bool) func(*AfterStack) {
	return func(s *AfterStack) {
		s.Stack.Status.History = append(s.Stack.Status.History, v1alpha1.PastRun{
			Name: "net-2", Operation: operation, Applied: applied,
			Details: &v1alpha1.PastDetails{Revision: revision, Plan: &v1alpha1.Plan{Changes: applied}},
		})
		if applied {
			s.Stack.Status.History[1].Details.Plan.Change = 2
		}
	}
}

// What a Stack did with a merge follows from its commits and digests. What is not known is pending, and never applied.
func TestWhatAStackDidWithAMerge(t *testing.T) {
	applied := func(s *AfterStack) { s.Stack.Status.AppliedInputsDigest = s.Stack.Status.InputsDigest }
	same := func(s *AfterStack) { s.Same = true }
	read := func(s *AfterStack) { s.Read = true }
	released := func(s *AfterStack) {
		s.Stack.Status.Release = &v1alpha1.StackRelease{Pipeline: "shop", Stage: "production", Commit: oldRevision[10:]}
	}
	long := -time.Hour // ago
	for name, tt := range map[string]struct {
		changes facts
		// fetched is when the merge was fetched, before now.
		fetched time.Duration
		want    v1alpha1.StackApplyPhase
		// row has the Run, the reason and the changed resources.
		row string
	}{
		"a Run applied the merge": {facts{applied, past(withRevision, opApply, true)}, 0,
			isApplied, "net-2 Applied 2"},
		"a Run applied the merge, and another change waits": {facts{
			past(withRevision, opApply, true), run(withRevision, v1alpha1.PhaseAwaitingApproval, "AwaitingApproval"),
		}, 0, isApplied, "net-2 Applied 2"},
		"a Run found no changes": {facts{applied, past(withRevision, opApply, false)}, 0,
			isApplied, "net-2 NoChanges 0"},
		"a Run that only planned the merge": {facts{past(withRevision, opPlan, false), ready("ChangesPending")}, 0,
			isWaiting, " ChangesPending"},
		"a Run applied what was before the merge": {facts{past(oldRevision, opApply, true)}, 0,
			isApplying, ""},
		"a Run has a plan with changes, and applied nothing": {facts{past(withRevision, opApply, false),
			func(s *AfterStack) {
				s.Stack.Status.History[1].Details.Plan.Changes = true
			}}, 0, isApplying, ""},
		"the digest of the merge is applied": {facts{applied}, 0, isApplied, " Applied"},
		"the Stack has another digest, and the revision of before the merge": {facts{applied, func(s *AfterStack) {
			s.Stack.Status.Revision = oldRevision
		}}, long, isPending, ""},
		"the merge changes nothing for the Stack": {facts{unread("Applied"), applied, same}, 0,
			isApplied, " NoChanges"},
		"the merge changes nothing for the Stack, whose code is not applied": {facts{
			unread("RunFailed"), func(s *AfterStack) { s.Stack.Status.AppliedInputsDigest = "" }, same,
		}, 0, isFailed, " RunFailed"},
		"nothing was ever applied": {facts{func(s *AfterStack) {
			s.Stack.Status.InputsDigest, s.Stack.Status.AppliedInputsDigest = "", ""
		}}, 0, isApplying, ""},

		"a Run is queued":  {facts{run(withRevision, "", "Queued")}, 0, isApplying, "net-2 "},
		"a Run plans":      {facts{run(withRevision, v1alpha1.PhasePlanning, "Planning")}, 0, isApplying, "net-2 "},
		"a Run is retried": {facts{run(withRevision, v1alpha1.PhasePlanning, "Retrying")}, 0, isApplying, "net-2 "},
		"a Run waits for an approval": {facts{run(withRevision, v1alpha1.PhaseAwaitingApproval, "AwaitingApproval")}, 0,
			isAwaitingApproval, "net-2 AwaitingApproval"},
		"a Run waits for a window": {facts{run(withRevision, v1alpha1.PhaseAwaitingApproval, "WindowClosed")}, 0,
			isWaiting, "net-2 WindowClosed"},
		"a Run waits for a window whose time is known": {facts{run(withRevision, v1alpha1.PhaseAwaitingApproval,
			"WindowClosed"), opens}, 0,
			isWaiting, "net-2 WindowClosed 2026-11-27T13:00:00Z"},
		"a Run waits for a Secret, and waited for a window before": {facts{run(withRevision, v1alpha1.PhasePlanning,
			"InputsNotFound"), opens}, 0,
			isWaiting, "net-2 InputsNotFound"},
		"a Run waits for a Secret": {facts{run(withRevision, v1alpha1.PhasePlanning, "InputsNotFound")}, 0,
			isWaiting, "net-2 InputsNotFound"},
		"a Run of the Stack that is suspended": {facts{run(withRevision, "", "Suspended")}, 0,
			isWaiting, "net-2 Suspended"},
		"a Run failed": {facts{run(withRevision, v1alpha1.PhaseFailed, "EngineError")}, 0, isFailed,
			"net-2 EngineError"},
		"a Run was rejected": {facts{run(withRevision, v1alpha1.PhaseCanceled, "Rejected")}, 0, isFailed,
			"net-2 Rejected"},
		"a Run was superseded, and the next one is not created": {facts{run(withRevision, v1alpha1.PhaseSuperseded,
			"Superseded")}, 0,
			isApplying, "net-2 "},
		"a Run of before the merge failed": {facts{unread("RunFailed"),
			run(oldRevision, v1alpha1.PhaseFailed, "EngineError")}, long,
			isPending, ""},
		"a Run of before the merge waits": {facts{run(oldRevision, v1alpha1.PhaseAwaitingApproval, "AwaitingApproval")},
			0,
			isApplying, ""},
		"a Run of the same code waits": {facts{unread("AwaitingApproval"), same, func(s *AfterStack) {
			run(oldRevision, v1alpha1.PhaseAwaitingApproval, "AwaitingApproval")(s)
			s.Stack.Status.AppliedInputsDigest, s.Run.Spec.InputsDigest = "", s.Stack.Status.InputsDigest
		}}, 0, isAwaitingApproval, "net-2 AwaitingApproval"},
		"a plan that a user requested failed": {facts{func(s *AfterStack) {
			run(withRevision, v1alpha1.PhaseFailed, "EngineError")(s)
			s.Run.Spec.Operation = opPlan
		}}, 0, isApplying, ""},

		"the last Run failed, and a user deleted it": {facts{ready("RunFailed")}, 0, isFailed, " RunFailed"},
		"an error of the code":                       {facts{ready("ModuleNotFound")}, 0, isStopped, " ModuleNotFound"},
		"all is destroyed":                           {facts{ready("Destroyed")}, 0, isStopped, " Destroyed"},
		"a dependency is not ready": {facts{ready("DependencyNotReady")}, 0, isWaiting,
			" DependencyNotReady"},

		"not read yet": {facts{unread("Applied")}, 0, isPending, ""},
		"an error that the merge may correct": {facts{unread("PathNotFound"), read}, 0,
			isPending, ""},
		"an error of which it is not known whether it is of the merge": {facts{unread("PathNotFound")}, long,
			isPending, ""},
		"the directory is deleted": {facts{unread("PathNotFound"), read}, long,
			isStopped, " PathNotFound"},
		"the Stack is suspended": {facts{unread("Suspended"), read}, long, isWaiting, " Suspended"},
		"the last Run of before the merge failed": {facts{unread("RunFailed"), read}, long,
			isPending, ""},
		"its stage has an earlier release": {facts{unread("Applied"), released, read}, 0,
			isWaiting, " AwaitingRelease"},
		"its stage has an earlier release, and it has not read the base": {facts{unread("Applied"), released}, long,
			isPending, ""},
		"its stage has an earlier release with the same code": {facts{unread("Applied"), applied, same, released, read},
			long,
			isApplied, " NoChanges"},
		"its stage has the merge":   {facts{released, read}, long, isApplying, ""},
		"drift of before the merge": {facts{unread("Drifted"), read}, long, isPending, ""},
	} {
		key := Key{"web", "net"}
		after := After{InBase: true, Known: true, Stacks: map[Key]AfterStack{key: afterMerge(tt.changes...)}}
		known := &v1alpha1.PullRequestApply{
			FetchedAt: &metav1.Time{Time: noon.Add(tt.fetched)},
			Stacks:    []v1alpha1.PullRequestStackApply{{Namespace: "web", Name: "net", Phase: isPending}},
		}
		got := after.next(known, noon).Stacks[0]
		row := strings.TrimSpace(got.Run + " " + got.Reason)
		if got.OpensAt != nil {
			row += " " + got.OpensAt.UTC().Format(time.RFC3339)
		}
		if got.Plan != nil {
			row += fmt.Sprint(" ", got.Plan.Add+got.Plan.Change)
		}
		if want := strings.TrimSpace(tt.row); got.Phase != tt.want || row != want {
			t.Errorf("%s: %s %q, want %s %q", name, got.Phase, row, tt.want, want)
		}
		if hasText := got.Message != ""; hasText != (got.Reason != "" && got.Phase != isApplied) {
			t.Errorf("%s: the message is %q", name, got.Message)
		}
	}
}

// A merge that is not fetched, or not known, decides nothing. One that the base lost is superseded, unless it is
// applied.
func TestTheBaseHasToHaveTheMerge(t *testing.T) {
	key := Key{"web", "net"}
	applied := afterMerge(past(withRevision, opApply, true))
	fetched := &metav1.Time{Time: noon.Add(-time.Hour)}
	for name, tt := range map[string]struct {
		after   After
		fetched *metav1.Time
		before  v1alpha1.StackApplyPhase
		want    v1alpha1.StackApplyPhase
	}{
		"not fetched": {After{Known: true, Stacks: map[Key]AfterStack{key: applied}}, nil, isPending,
			isPending},
		"not known": {After{Stacks: map[Key]AfterStack{key: applied}}, fetched, isFailed, isFailed},
		"lost": {After{Known: true, Stacks: map[Key]AfterStack{key: applied}}, fetched, isFailed,
			isSuperseded},
		"lost after the apply": {After{Known: true, Stacks: map[Key]AfterStack{key: applied}}, fetched, isApplied,
			isApplied},
		"again in the base": {After{InBase: true, Known: true, Stacks: map[Key]AfterStack{key: applied}},
			fetched, isSuperseded, isApplied},
		"the Stack is gone": {After{Known: true}, fetched, isFailed, isDeleted},
		"the Stack is there again": {After{InBase: true, Known: true, Stacks: map[Key]AfterStack{key: applied}},
			fetched, isDeleted, isDeleted},
	} {
		known := &v1alpha1.PullRequestApply{FetchedAt: tt.fetched, Stacks: []v1alpha1.PullRequestStackApply{
			{Namespace: "web", Name: "net", Phase: tt.before},
		}}
		got := tt.after.next(known, noon)
		if got.Stacks[0].Phase != tt.want {
			t.Errorf("%s: %s", name, got.Stacks[0].Phase)
		}
		if known.Stacks[0].Phase != tt.before || (got.FetchedAt == nil) != (tt.fetched == nil && !tt.after.InBase) {
			t.Errorf("%s: %+v from %+v", name, got, known)
		}
	}
}

func TestAffectedStacksAreThoseOfTheLastPlan(t *testing.T) {
	if got := affectedStacks(&v1alpha1.PullRequestStatus{}); got != nil {
		t.Errorf("without Stacks: %+v", got)
	}
	s := &v1alpha1.PullRequestStatus{
		Stacks:  []v1alpha1.PullRequestStack{{Namespace: "web", Name: "net", Phase: v1alpha1.PhasePlanning}},
		Skipped: []string{"api/app", "web/db"},
	}
	for range maxApplies {
		s.Skipped = append(s.Skipped, fmt.Sprintf("z/%d", len(s.Skipped)))
	}
	got := affectedStacks(s)
	if len(got.Stacks) != maxApplies || got.MoreStacks != 3 || got.Stacks[0].Name != "app" ||
		got.Stacks[2].Name != "net" ||
		got.Stacks[2].Phase != isPending {
		t.Errorf("%d Stacks and %d more: %+v", len(got.Stacks), got.MoreStacks, got.Stacks[:3])
	}
}

// One Stack that failed lets the pull request fail at once. It is applied only if all Stacks are.
func TestPhaseAfterTheMerge(t *testing.T) {
	for name, tt := range map[string]struct {
		phases phases
		want   v1alpha1.PullRequestPhase
	}{
		"all applied":     {phases{isApplied, isDeleted}, v1alpha1.PullRequestApplied},
		"one pending":     {phases{isApplied, isPending}, v1alpha1.PullRequestApplying},
		"one in progress": {phases{isApplied, isApplying}, v1alpha1.PullRequestApplying},
		"one waits":       {phases{isWaiting, isAwaitingApproval}, v1alpha1.PullRequestApplying},
		"one failed":      {phases{isFailed, isPending}, v1alpha1.PullRequestApplyFailed},
		"one stopped":     {phases{isStopped, isApplied}, v1alpha1.PullRequestApplyFailed},
		"one superseded":  {phases{isSuperseded, isApplied}, v1alpha1.PullRequestApplyFailed},
	} {
		a := &v1alpha1.PullRequestApply{}
		for _, phase := range tt.phases {
			a.Stacks = append(a.Stacks, v1alpha1.PullRequestStackApply{Phase: phase})
		}
		if got, message := applyPhase(a); got != tt.want || !strings.Contains(message, "of 2 affected Stacks") {
			t.Errorf("%s: %s: %s", name, got, message)
		}
	}
}
