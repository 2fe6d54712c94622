package pullrequest

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
)

const (
	headOne = "1111111111111111111111111111111111111111"
	headTwo = "2222222222222222222222222222222222222222"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// pull is an open pull request whose merge affects the Stacks net and app.
func pull(changes ...func(*Snapshot)) Snapshot {
	w := Snapshot{
		Now: noon, Settings: &v1alpha1.PullRequests{Drafts: v1alpha1.DraftsSkip, MaxStacks: ptr.To(int32(50))},
		PullRequest: &v1alpha1.PullRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "infra-12", UID: "pull", Generation: 3},
			Spec: v1alpha1.PullRequestSpec{
				Number: 12, State: v1alpha1.PullRequestOpen, Head: v1alpha1.PullRequestHead{Commit: headOne},
				Base:      "main",
				UpdatedAt: metav1.NewTime(noon),
			},
		},
		Merge: &Merge{
			PullRequestMerge: v1alpha1.PullRequestMerge{Head: headOne, Base: headTwo, Tree: headOne},
			Affected: []Affected{
				{Key: Key{"web", "app"}, InputsDigest: "sha256:app"},
				{Key: Key{"web", "net"}, InputsDigest: "sha256:net"},
			},
		},
	}
	for _, change := range changes {
		change(&w)
	}
	return w
}

// restrictedTo lets all Stacks but some wait for a command.
func restrictedTo(allowed ...string) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Restricted = "a fork"
		for i, a := range w.Merge.Affected {
			if !slices.Contains(allowed, a.Name) {
				w.Merge.Affected[i].Restricted = w.Restricted
			}
		}
	}
}

// next decides, and lets the result be the status of the next snapshot.
func next(w *Snapshot) v1alpha1.PullRequestStatus {
	w.PullRequest.Status = w.status()
	return w.PullRequest.Status
}

// There may be no event when what a plan waits for exists.
func TestPlanThatWaitsIsCheckedAgain(t *testing.T) {
	w := pull(func(w *Snapshot) {
		w.Merge.Affected = []Affected{{Key: Key{"web", "app"}, Problem: "waits for Stack net", Waits: true}}
	})
	w.Repository = repositoryOf()
	next(&w)
	w.CommentedAt = noon.Add(2 * time.Hour) // the comment is due later
	for waited, want := range map[time.Duration]time.Duration{0: fetchFirst, 5 * time.Second: 5 * time.Second,
		time.Hour: fetchLongest} {
		w.Now = noon.Add(waited)
		if d := Decide(w); d.Again != want {
			t.Errorf("after %s: again in %s", waited, d.Again)
		}
	}
	w.ReadAgain = time.Second
	if d := Decide(w); d.Again != time.Second {
		t.Errorf("comments are read again in %s", d.Again)
	}
}

// There is no event when a permission is granted, or an output or a Secret exists.
func TestWhatNeedsAUserIsCheckedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Snapshot)
		want   time.Duration
	}{
		"a permission": {restrictedTo(), fetchLongest},
		"a permission for one Stack, while another one is planned": {restrictedTo("app"), fetchFirst},
		"an output": {func(w *Snapshot) {
			w.Merge.Affected = []Affected{{Key: Key{"web", "app"}, Problem: "Stack net has no output vpc"}}
		}, fetchLongest},
		"nothing": {func(w *Snapshot) { w.Merge.Affected = nil }, 0},
	} {
		w := pull(tt.change)
		w.Repository, w.CommentedAt = repositoryOf(), noon.Add(-time.Hour)
		if d := Decide(w); d.Again != tt.want {
			t.Errorf("%s: again in %s", name, d.Again)
		}
	}
}

// A plan that waits for something is in progress, and not a failure. It starts once its inputs are known.
func TestPlanThatWaitsIsNotAFailure(t *testing.T) {
	w := pull(func(w *Snapshot) {
		w.Merge.Affected[0] = Affected{Key: Key{"web", "app"},
			Problem: "waits for Stack net: it is not Ready (Running)", Waits: true}
	})
	waits := next(&w)
	if s := waits.Stacks[0]; s.Phase != v1alpha1.PhaseQueued || s.Run != "" ||
		s.Message != w.Merge.Affected[0].Problem {
		t.Errorf("a Stack that waits: %+v", s)
	}
	if c := waits.Conditions[0]; c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonPullRequestPlanning {
		t.Errorf("Ready while a Stack waits: %+v", c)
	}
	w.Merge.Affected[0] = Affected{Key: Key{"web", "app"}, InputsDigest: "sha256:app"}
	if s := next(&w).Stacks[0]; s.Phase != v1alpha1.PhaseQueued || s.Run == "" || s.Message != "" {
		t.Errorf("a Stack that waited: %+v", s)
	}
}

func TestPhase(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Snapshot)
		want   v1alpha1.PullRequestPhase
		reason string
		// stacks of the status, and those with a Run.
		stacks, runs int
	}{
		"planned": {func(*Snapshot) {}, v1alpha1.PullRequestPlanned, v1alpha1.ReasonPullRequestPlanning, 2, 2},
		"nothing affected": {func(w *Snapshot) { w.Merge.Affected = nil }, v1alpha1.PullRequestPlanned,
			v1alpha1.ReasonNotAffected, 0, 0},
		"a base that no Stack reads": {func(w *Snapshot) {
			w.Merge.Affected, w.Merge.Unread = nil, true
		}, v1alpha1.PullRequestPlanned, v1alpha1.ReasonBaseNotRead, 0, 0},
		"not merged yet": {func(w *Snapshot) { w.Merge = nil }, v1alpha1.PullRequestMerging, v1alpha1.ReasonMerging, 0,
			0},
		"conflict": {func(w *Snapshot) { w.Merge.Conflicts = []string{"main.tf"} }, v1alpha1.PullRequestConflict,
			v1alpha1.ReasonMergeConflict, 0, 0},
		"problem": {func(w *Snapshot) { w.Merge, w.Problem = nil, "submodules" }, v1alpha1.PullRequestFailed,
			v1alpha1.ReasonMergeFailed, 0, 0},
		"draft": {func(w *Snapshot) { w.PullRequest.Spec.Draft = true }, v1alpha1.PullRequestDraft,
			v1alpha1.ReasonDraft, 0, 0},
		"draft that is planned": {func(w *Snapshot) {
			w.PullRequest.Spec.Draft, w.Settings.Drafts = true, v1alpha1.DraftsPlan
		}, v1alpha1.PullRequestPlanned, v1alpha1.ReasonPullRequestPlanning, 2, 2},
		"merged": {func(w *Snapshot) {
			w.PullRequest.Spec.State = v1alpha1.PullRequestMerged
		}, v1alpha1.PullRequestEnded, v1alpha1.ReasonClosed, 0, 0},
		"off": {func(w *Snapshot) { w.Settings = nil }, v1alpha1.PullRequestEnded,
			v1alpha1.ReasonClosed, 0, 0},
		"restricted": {restrictedTo(), v1alpha1.PullRequestAwaitingCommand,
			v1alpha1.ReasonAwaitingCommand, 2, 0},
		"restricted, one Stack is allowed": {restrictedTo("net"), v1alpha1.PullRequestPlanned,
			v1alpha1.ReasonPullRequestPlanning, 2, 1},
		"restricted, all are allowed": {
			restrictedTo("net", "app"), v1alpha1.PullRequestPlanned, v1alpha1.ReasonPullRequestPlanning, 2, 2,
		},
		"restricted, nothing affected": {func(w *Snapshot) {
			w.Restricted, w.Merge.Affected = "a fork", nil
		}, v1alpha1.PullRequestPlanned, v1alpha1.ReasonNotAffected, 0, 0},
		"more than maxStacks": {func(w *Snapshot) { w.Settings.MaxStacks = ptr.To(int32(1)) },
			v1alpha1.PullRequestPlanned, v1alpha1.ReasonPullRequestPlanning, 1, 1},
		"more than maxStacks, requested": {func(w *Snapshot) {
			w.Settings.MaxStacks, w.PullRequest.Status.Commands.Requested = ptr.To(int32(1)), []string{"web/net"}
		}, v1alpha1.PullRequestPlanned, v1alpha1.ReasonPullRequestPlanning, 2, 2},
		"a Stack that cannot be planned": {func(w *Snapshot) {
			w.Merge.Affected = []Affected{{Key: Key{"web", "app"}, Problem: "no such module"}}
		}, v1alpha1.PullRequestPlanned, v1alpha1.ReasonPullRequestPlanFailed, 1, 0},
	} {
		got := pull(tt.change).status()
		runs := 0
		for _, s := range got.Stacks {
			if s.Run != "" {
				runs++
			}
		}
		if got.Phase != tt.want || got.Conditions[0].Reason != tt.reason || len(got.Stacks) != tt.stacks ||
			runs != tt.runs {
			t.Errorf("%s: %s %s, %d Stacks, %d Runs", name, got.Phase, got.Conditions[0].Reason, len(got.Stacks), runs)
		}
	}
}

// A plan stays as long as its inputs do: a new head or base plans only the Stacks whose code the merge changes.
func TestOnlyOtherInputsArePlannedAgain(t *testing.T) {
	w := pull()
	first := next(&w)
	w.Runs = map[Key]*v1alpha1.Run{
		{"web", first.Stacks[0].Run}: {Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseSucceeded,
			Plan: &v1alpha1.Plan{Digest: "plan"}}}}
	next(&w)
	w.Runs = nil
	w.PullRequest.Spec.Head.Commit = headTwo
	w.Merge.Affected[1].InputsDigest = "sha256:other"
	second := next(&w)
	if second.Stacks[0].Run != first.Stacks[0].Run || second.Stacks[0].Phase != v1alpha1.PhaseSucceeded ||
		second.Stacks[0].Plan == nil {
		t.Errorf("the plan of the same inputs: %+v", second.Stacks[0])
	}
	if second.Stacks[1].Run == first.Stacks[1].Run || second.Stacks[1].Phase != v1alpha1.PhaseQueued {
		t.Errorf("the plan of other inputs: %+v", second.Stacks[1])
	}
	w.PullRequest.Status.Stacks[0].Run = "" // as a command does
	if third := next(&w); third.Stacks[0].Run == first.Stacks[0].Run || third.Stacks[0].Plan != nil {
		t.Errorf("the plan that a comment requests: %+v", third.Stacks[0])
	}
}

// The comment has the texts of findings, also those of warnings. The cache has none, so the Run is read from the API
// server.
func TestFindingsOfPoliciesAreShown(t *testing.T) {
	w := pull()
	w.Repository, w.Settings = repositoryOf(), repositoryOf().Spec.PullRequests
	name := next(&w).Stacks[0].Run
	findings := []v1alpha1.PolicyFinding{{Policy: "rules/cost.rego", Action: "RequireApproval",
		Message: "more than 100 EUR"}}
	for range 10 {
		findings = append(findings, v1alpha1.PolicyFinding{Policy: "rules/tags.rego", Action: "Warn",
			Message: strings.Repeat("no tag ", 100)})
	}
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name},
		Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseSucceeded, Plan: &v1alpha1.Plan{
			Policy: &v1alpha1.PolicyResult{Checked: 2, ApprovalRequired: 1, Warned: 10, Findings: findings},
		}},
	}
	h := newHistory(2)
	h.quiet = true
	h.api.put(clone(run))
	inCache := run.DeepCopy()
	inCache.Status.Plan.Policy.Findings = nil
	cached := &kube{history: h, cache: map[key]client.Object{keyOf(run): inCache}}
	r := &Reconciler{Client: cached, Live: &kube{history: h}}
	if err := r.gatherRuns(t.Context(), &w); err != nil {
		t.Fatal(err)
	}
	got := next(&w).Stacks[0].Plan.Policy
	if got.Warned != 10 || len(got.Findings) != 5 || len(got.Findings[1].Message) > 310 {
		t.Fatalf("%+v", got)
	}
	if text := comment.Render(w.reportOf(&w.PullRequest.Status), comment.Format{Limit: 65_536}); !strings.Contains(text,
		"more than 100 EUR") {
		t.Error(text)
	}
}

// The name of a Run never is that of a Run of a Stack, which ends with a number.
func TestRunNamesHaveNoNumber(t *testing.T) {
	w := pull()
	for _, s := range next(&w).Stacks {
		suffix := s.Run[strings.LastIndexByte(s.Run, '-')+1:]
		if !strings.HasPrefix(s.Run, s.Name+"-pr12-") || strings.ContainsAny(suffix, "0123456789") {
			t.Errorf("the name %s", s.Run)
		}
	}
}

// A head is known since the time of the update with which it was seen first.
func TestHeadIsKnownSinceItsUpdate(t *testing.T) {
	w := pull()
	w.PullRequest.Status.Commands.Answer = "an answer about another head"
	if s := next(&w); !s.HeadSince.Time.Equal(noon) || s.Commands.Answer != "" {
		t.Errorf("%+v", s)
	}
	w.PullRequest.Spec.UpdatedAt = metav1.NewTime(noon.Add(time.Hour)) // a comment
	if s := next(&w); !s.HeadSince.Time.Equal(noon) {
		t.Errorf("after a comment the head is known since %s", s.HeadSince)
	}
	w.PullRequest.Spec.Head.Commit = headTwo
	if s := next(&w); !s.HeadSince.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("after a push the head is known since %s", s.HeadSince)
	}
}

func TestReady(t *testing.T) {
	for name, tt := range map[string]struct {
		phases [2]v1alpha1.RunPhase
		want   string
		ready  metav1.ConditionStatus
	}{
		"one in progress": {[2]v1alpha1.RunPhase{v1alpha1.PhaseSucceeded, v1alpha1.PhasePlanning},
			v1alpha1.ReasonPullRequestPlanning, metav1.ConditionUnknown},
		"one failed": {[2]v1alpha1.RunPhase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed},
			v1alpha1.ReasonPullRequestPlanFailed, metav1.ConditionFalse},
		"one canceled": {[2]v1alpha1.RunPhase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseCanceled},
			v1alpha1.ReasonPullRequestPlanFailed, metav1.ConditionFalse},
		"all planned": {[2]v1alpha1.RunPhase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseSucceeded},
			v1alpha1.ReasonPullRequestPlanned, metav1.ConditionTrue},
	} {
		w := pull()
		next(&w)
		w.Runs = map[Key]*v1alpha1.Run{}
		for i, phase := range tt.phases {
			w.Runs[Key{"web", w.PullRequest.Status.Stacks[i].Run}] = &v1alpha1.Run{
				Status: v1alpha1.RunStatus{Phase: phase}}
		}
		if c := next(&w).Conditions[0]; c.Reason != tt.want || c.Status != tt.ready {
			t.Errorf("%s: %s %s", name, c.Status, c.Reason)
		}
	}
}

// One Stack that waits for a command keeps no other one back: that is planned, and the result is pending until all are.
func TestAStackThatWaitsForACommandKeepsNoOtherBack(t *testing.T) {
	w := pull(restrictedTo("net"))
	w.Repository, w.Settings = repositoryOf(), repositoryOf().Spec.PullRequests
	first := next(&w)
	if app, net := first.Stacks[0], first.Stacks[1]; !app.AwaitsCommand || app.Run != "" || net.AwaitsCommand ||
		net.Run == "" ||
		!strings.Contains(app.Message, "comment /cairn plan "+headOne) {
		t.Fatalf("%+v", first.Stacks)
	}
	w.Runs = map[Key]*v1alpha1.Run{
		{"web", first.Stacks[1].Run}: {Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseSucceeded,
			Plan: &v1alpha1.Plan{}}}}
	s := next(&w)
	if c := s.Conditions[0]; c.Reason != v1alpha1.ReasonAwaitingCommand ||
		c.Message != "1 of 2 affected Stacks await a comment /cairn plan" {
		t.Errorf("%+v", c)
	}
	statuses := comment.Statuses(w.reportOf(&s), "cairn", 20, nil)
	if got := statuses[0]; got.State != comment.Pending ||
		got.Description != "1 of 2 Stacks planned, 1 waits for a command." {
		t.Errorf("%+v", got)
	}
	if got := statuses[1]; got.State != comment.Pending || statuses[2].State != comment.Success {
		t.Errorf("%+v", statuses)
	}
	w.Merge.Affected[0].Restricted = ""
	if s := next(&w); s.Stacks[0].Run == "" || s.Stacks[0].AwaitsCommand || s.Stacks[1].Run != first.Stacks[1].Run {
		t.Errorf("after a command: %+v", s.Stacks)
	}
	w.Merge.Affected[0].Restricted, w.Merge.Affected[0].InputsDigest = "a fork", "" // the verb is revoked
	if s := next(&w); s.Stacks[0].Run != "" || !s.Stacks[0].AwaitsCommand {
		t.Errorf("after the verb is revoked: %+v", s.Stacks[0])
	}
}
