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

// afterMerge is the Stack web/net, which has read the merge and not applied it.
func afterMerge(changes ...func(*AfterStack)) AfterStack {
	s := AfterStack{
		Stack: &v1alpha1.Stack{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"},
			Status: v1alpha1.StackStatus{
				Revision: withRevision, InputsDigest: "sha256:new", AppliedInputsDigest: "sha256:old",
				History: []v1alpha1.PastRun{{
					Name: "net-1", Operation: v1alpha1.OperationApply, Applied: true,
					Details: &v1alpha1.PastDetails{Revision: oldRevision, InputsDigest: "sha256:old", Plan: &v1alpha1.Plan{Changes: true, Add: 7}},
				}},
			},
		},
		Merged: map[string]bool{withRevision: true},
	}
	ready(v1alpha1.ReasonRunning)(&s)
	for _, change := range changes {
		change(&s)
	}
	return s
}

// ready sets the reason of the Stack.
func ready(reason string) func(*AfterStack) {
	return func(s *AfterStack) {
		c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "why " + reason}
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
			Spec:       v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, Revision: revision, InputsDigest: "sha256:of-the-run"},
			Status: v1alpha1.RunStatus{Phase: phase, Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionSucceeded, Reason: reason, Message: "why " + reason},
			}},
		}
	}
}

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
	long := -time.Hour // ago
	for name, tt := range map[string]struct {
		changes []func(*AfterStack)
		// fetched is when the merge was fetched, before now.
		fetched time.Duration
		want    v1alpha1.StackApplyPhase
		// row has the Run, the reason and the changed resources.
		row string
	}{
		"a Run applied the merge": {[]func(*AfterStack){applied, past(withRevision, v1alpha1.OperationApply, true)}, 0,
			v1alpha1.StackApplyApplied, "net-2 Applied 2"},
		"a Run applied the merge, and another change waits": {[]func(*AfterStack){
			past(withRevision, v1alpha1.OperationApply, true), run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval),
		}, 0, v1alpha1.StackApplyApplied, "net-2 Applied 2"},
		"a Run found no changes": {[]func(*AfterStack){applied, past(withRevision, v1alpha1.OperationApply, false)}, 0,
			v1alpha1.StackApplyApplied, "net-2 NoChanges 0"},
		"a Run that only planned the merge": {[]func(*AfterStack){past(withRevision, v1alpha1.OperationPlan, false), ready(v1alpha1.ReasonChangesPending)}, 0,
			v1alpha1.StackApplyWaiting, " ChangesPending"},
		"a Run applied what was before the merge": {[]func(*AfterStack){past(oldRevision, v1alpha1.OperationApply, true)}, 0,
			v1alpha1.StackApplyApplying, ""},
		"a Run has a plan with changes, and applied nothing": {[]func(*AfterStack){past(withRevision, v1alpha1.OperationApply, false), func(s *AfterStack) {
			s.Stack.Status.History[1].Details.Plan.Changes = true
		}}, 0, v1alpha1.StackApplyApplying, ""},
		"the digest of the merge is applied": {[]func(*AfterStack){applied}, 0, v1alpha1.StackApplyApplied, " Applied"},
		"the Stack has another digest, and the revision of before the merge": {[]func(*AfterStack){applied, func(s *AfterStack) {
			s.Stack.Status.Revision = oldRevision
		}}, long, v1alpha1.StackApplyPending, ""},
		"the merge changes nothing for the Stack": {[]func(*AfterStack){unread(v1alpha1.ReasonApplied), applied, same}, 0,
			v1alpha1.StackApplyApplied, " NoChanges"},
		"the merge changes nothing for the Stack, whose code is not applied": {[]func(*AfterStack){
			unread(v1alpha1.ReasonRunFailed), func(s *AfterStack) { s.Stack.Status.AppliedInputsDigest = "" }, same,
		}, 0, v1alpha1.StackApplyFailed, " RunFailed"},
		"nothing was ever applied": {[]func(*AfterStack){func(s *AfterStack) {
			s.Stack.Status.InputsDigest, s.Stack.Status.AppliedInputsDigest = "", ""
		}}, 0, v1alpha1.StackApplyApplying, ""},

		"a Run is queued":  {[]func(*AfterStack){run(withRevision, "", v1alpha1.ReasonQueued)}, 0, v1alpha1.StackApplyApplying, "net-2 "},
		"a Run plans":      {[]func(*AfterStack){run(withRevision, v1alpha1.PhasePlanning, "Planning")}, 0, v1alpha1.StackApplyApplying, "net-2 "},
		"a Run is retried": {[]func(*AfterStack){run(withRevision, v1alpha1.PhasePlanning, v1alpha1.ReasonRetrying)}, 0, v1alpha1.StackApplyApplying, "net-2 "},
		"a Run waits for an approval": {[]func(*AfterStack){run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)}, 0,
			v1alpha1.StackApplyAwaitingApproval, "net-2 AwaitingApproval"},
		"a Run waits for a window": {[]func(*AfterStack){run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonWindowClosed)}, 0,
			v1alpha1.StackApplyWaiting, "net-2 WindowClosed"},
		"a Run waits for a Secret": {[]func(*AfterStack){run(withRevision, v1alpha1.PhasePlanning, v1alpha1.ReasonInputsNotFound)}, 0,
			v1alpha1.StackApplyWaiting, "net-2 InputsNotFound"},
		"a Run of the Stack that is suspended": {[]func(*AfterStack){run(withRevision, "", v1alpha1.ReasonSuspended)}, 0,
			v1alpha1.StackApplyWaiting, "net-2 Suspended"},
		"a Run failed":       {[]func(*AfterStack){run(withRevision, v1alpha1.PhaseFailed, "EngineError")}, 0, v1alpha1.StackApplyFailed, "net-2 EngineError"},
		"a Run was rejected": {[]func(*AfterStack){run(withRevision, v1alpha1.PhaseCanceled, v1alpha1.ReasonRejected)}, 0, v1alpha1.StackApplyFailed, "net-2 Rejected"},
		"a Run was superseded, and the next one is not created": {[]func(*AfterStack){run(withRevision, v1alpha1.PhaseSuperseded, v1alpha1.ReasonSuperseded)}, 0,
			v1alpha1.StackApplyApplying, "net-2 "},
		"a Run of before the merge failed": {[]func(*AfterStack){unread(v1alpha1.ReasonRunFailed), run(oldRevision, v1alpha1.PhaseFailed, "EngineError")}, long,
			v1alpha1.StackApplyPending, ""},
		"a Run of before the merge waits": {[]func(*AfterStack){run(oldRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)}, 0,
			v1alpha1.StackApplyApplying, ""},
		"a Run of the same code waits": {[]func(*AfterStack){unread(v1alpha1.ReasonAwaitingApproval), same, func(s *AfterStack) {
			run(oldRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)(s)
			s.Stack.Status.AppliedInputsDigest, s.Run.Spec.InputsDigest = "", s.Stack.Status.InputsDigest
		}}, 0, v1alpha1.StackApplyAwaitingApproval, "net-2 AwaitingApproval"},
		"a plan that a user requested failed": {[]func(*AfterStack){func(s *AfterStack) {
			run(withRevision, v1alpha1.PhaseFailed, "EngineError")(s)
			s.Run.Spec.Operation = v1alpha1.OperationPlan
		}}, 0, v1alpha1.StackApplyApplying, ""},

		"the last Run failed, and a user deleted it": {[]func(*AfterStack){ready(v1alpha1.ReasonRunFailed)}, 0, v1alpha1.StackApplyFailed, " RunFailed"},
		"an error of the code":                       {[]func(*AfterStack){ready(v1alpha1.ReasonModuleNotFound)}, 0, v1alpha1.StackApplyStopped, " ModuleNotFound"},
		"all is destroyed":                           {[]func(*AfterStack){ready(v1alpha1.ReasonDestroyed)}, 0, v1alpha1.StackApplyStopped, " Destroyed"},
		"a dependency is not ready":                  {[]func(*AfterStack){ready(v1alpha1.ReasonDependencyNotReady)}, 0, v1alpha1.StackApplyWaiting, " DependencyNotReady"},

		"not read yet": {[]func(*AfterStack){unread(v1alpha1.ReasonApplied)}, 0, v1alpha1.StackApplyPending, ""},
		"an error that the merge may correct": {[]func(*AfterStack){unread(v1alpha1.ReasonPathNotFound), read}, 0,
			v1alpha1.StackApplyPending, ""},
		"an error of which it is not known whether it is of the merge": {[]func(*AfterStack){unread(v1alpha1.ReasonPathNotFound)}, long,
			v1alpha1.StackApplyPending, ""},
		"the directory is deleted": {[]func(*AfterStack){unread(v1alpha1.ReasonPathNotFound), read}, long,
			v1alpha1.StackApplyStopped, " PathNotFound"},
		"the Stack is suspended": {[]func(*AfterStack){unread(v1alpha1.ReasonSuspended), read}, long, v1alpha1.StackApplyWaiting, " Suspended"},
		"the last Run of before the merge failed": {[]func(*AfterStack){unread(v1alpha1.ReasonRunFailed), read}, long,
			v1alpha1.StackApplyPending, ""},
		"drift of before the merge": {[]func(*AfterStack){unread(v1alpha1.ReasonDrifted), read}, long, v1alpha1.StackApplyPending, ""},
	} {
		key := Key{"web", "net"}
		after := After{InBase: true, Known: true, Stacks: map[Key]AfterStack{key: afterMerge(tt.changes...)}}
		known := &v1alpha1.PullRequestApply{
			FetchedAt: &metav1.Time{Time: noon.Add(tt.fetched)},
			Stacks:    []v1alpha1.PullRequestStackApply{{Namespace: "web", Name: "net", Phase: v1alpha1.StackApplyPending}},
		}
		got := after.next(known, noon).Stacks[0]
		row := strings.TrimSpace(got.Run + " " + got.Reason)
		if got.Plan != nil {
			row += fmt.Sprint(" ", got.Plan.Add+got.Plan.Change)
		}
		if want := strings.TrimSpace(tt.row); got.Phase != tt.want || row != want {
			t.Errorf("%s: %s %q, want %s %q", name, got.Phase, row, tt.want, want)
		}
		if hasText := got.Message != ""; hasText != (got.Reason != "" && got.Phase != v1alpha1.StackApplyApplied) {
			t.Errorf("%s: the message is %q", name, got.Message)
		}
	}
}

// A merge that is not fetched, or not known, decides nothing. One that the base lost is superseded, unless it is applied.
func TestTheBaseHasToHaveTheMerge(t *testing.T) {
	key := Key{"web", "net"}
	applied := afterMerge(past(withRevision, v1alpha1.OperationApply, true))
	fetched := &metav1.Time{Time: noon.Add(-time.Hour)}
	for name, tt := range map[string]struct {
		after   After
		fetched *metav1.Time
		before  v1alpha1.StackApplyPhase
		want    v1alpha1.StackApplyPhase
	}{
		"not fetched":              {After{Known: true, Stacks: map[Key]AfterStack{key: applied}}, nil, v1alpha1.StackApplyPending, v1alpha1.StackApplyPending},
		"not known":                {After{Stacks: map[Key]AfterStack{key: applied}}, fetched, v1alpha1.StackApplyFailed, v1alpha1.StackApplyFailed},
		"lost":                     {After{Known: true, Stacks: map[Key]AfterStack{key: applied}}, fetched, v1alpha1.StackApplyFailed, v1alpha1.StackApplySuperseded},
		"lost after the apply":     {After{Known: true, Stacks: map[Key]AfterStack{key: applied}}, fetched, v1alpha1.StackApplyApplied, v1alpha1.StackApplyApplied},
		"again in the base":        {After{InBase: true, Known: true, Stacks: map[Key]AfterStack{key: applied}}, fetched, v1alpha1.StackApplySuperseded, v1alpha1.StackApplyApplied},
		"the Stack is gone":        {After{Known: true}, fetched, v1alpha1.StackApplyFailed, v1alpha1.StackApplyDeleted},
		"the Stack is there again": {After{InBase: true, Known: true, Stacks: map[Key]AfterStack{key: applied}}, fetched, v1alpha1.StackApplyDeleted, v1alpha1.StackApplyDeleted},
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
	if len(got.Stacks) != maxApplies || got.MoreStacks != 3 || got.Stacks[0].Name != "app" || got.Stacks[2].Name != "net" ||
		got.Stacks[2].Phase != v1alpha1.StackApplyPending {
		t.Errorf("%d Stacks and %d more: %+v", len(got.Stacks), got.MoreStacks, got.Stacks[:3])
	}
}

// One Stack that failed lets the pull request fail at once. It is applied only if all Stacks are.
func TestPhaseAfterTheMerge(t *testing.T) {
	for name, tt := range map[string]struct {
		phases []v1alpha1.StackApplyPhase
		want   v1alpha1.PullRequestPhase
	}{
		"all applied":     {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplyApplied, v1alpha1.StackApplyDeleted}, v1alpha1.PullRequestApplied},
		"one pending":     {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplyApplied, v1alpha1.StackApplyPending}, v1alpha1.PullRequestApplying},
		"one in progress": {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplyApplied, v1alpha1.StackApplyApplying}, v1alpha1.PullRequestApplying},
		"one waits":       {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplyWaiting, v1alpha1.StackApplyAwaitingApproval}, v1alpha1.PullRequestApplying},
		"one failed":      {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplyFailed, v1alpha1.StackApplyPending}, v1alpha1.PullRequestApplyFailed},
		"one stopped":     {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplyStopped, v1alpha1.StackApplyApplied}, v1alpha1.PullRequestApplyFailed},
		"one superseded":  {[]v1alpha1.StackApplyPhase{v1alpha1.StackApplySuperseded, v1alpha1.StackApplyApplied}, v1alpha1.PullRequestApplyFailed},
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
