package automerge

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

var (
	noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	head = strings.Repeat("a", 40)
)

// applied is a pull request of which all is applied.
func applied(changes ...func(*Facts)) Facts {
	f := Facts{
		Now: noon, Method: v1alpha1.MergeMethodSquash, Head: head, Base: "main", Open: true, Planned: true,
		Stacks:           []Stack{{Key: "web/net", Same: true}, {Key: "web/dns", Unchanged: true}},
		Holds:            []Hold{{Key: "web/net", Head: head, Branch: "main", Phase: v1alpha1.StackApplyApplied}},
		RequirementsRead: true, CommandAt: metav1.Time{Time: noon.Add(-time.Hour)},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// TestMergeWaits checks what keeps an automatic merge back. Atlantis merged after applies that failed, and with nothing
// applied (atlantis #1613, #6108, #6529).
func TestMergeWaits(t *testing.T) {
	requires := func(state v1alpha1.RequirementState) func(*Facts) {
		return func(f *Facts) {
			f.Requirements = []v1alpha1.PullRequestRequirement{{Type: v1alpha1.RequirementApproved, State: state,
				Message: "no review"}}
		}
	}
	phase := func(p v1alpha1.StackApplyPhase) func(*Facts) { return func(f *Facts) { f.Holds[0].Phase = p } }
	for name, tt := range map[string]struct {
		change func(*Facts)
		want   string
	}{
		"all is applied": {func(*Facts) {}, ""},
		"it is closed":   {func(f *Facts) { f.Open = false }, "the pull request is not open"},
		"a fork":         {func(f *Facts) { f.Fork = true }, "its head is in another repository"},
		"a draft":        {func(f *Facts) { f.Draft = true }, "it is a draft"},
		"a plan failed": {func(f *Facts) { f.Planned = false },
			"not each plan of the newest head has succeeded"},
		"requirements are met": {requires(v1alpha1.RequirementMet), ""},
		"a review was dismissed": {requires(v1alpha1.RequirementMissing),
			"the Repository requires Approved is missing: no review"},
		"a requirement is not known": {requires(v1alpha1.RequirementUnknown),
			"the Repository requires Approved is unknown: no review"},
		"requirements are not read": {func(f *Facts) { f.RequirementsRead = false },
			"what the Repository requires is not known"},
		"an apply failed": {phase(v1alpha1.StackApplyFailed),
			"Stack web/net failed: retry it, or push a correction and apply that"},
		"an apply waits": {phase(v1alpha1.StackApplyAwaitingApproval),
			"Stack web/net is not applied yet"},
		"an apply was stopped":           {phase(v1alpha1.StackApplyStopped), "Stack web/net is not applied yet"},
		"the Stack of a hold is deleted": {phase(v1alpha1.StackApplyDeleted), "Stack web/net is not applied yet"},
		"a phase of a newer version":     {phase("New"), "Stack web/net is not applied yet"},
		"a newer head": {func(f *Facts) { f.Head = strings.Repeat("b", 40) },
			"Stack web/net has head aaaaaaaaaaaa: comment /cairn apply"},
		"another base": {func(f *Facts) { f.Base = "release" },
			"Stack web/net is not applied for the base release"},
		"nothing is applied": {func(f *Facts) { f.Holds, f.Stacks = nil, f.Stacks[1:] },
			"no Stack is applied"},
		"no Stack is affected": {func(f *Facts) { f.Holds, f.Stacks = nil, nil }, "no Stack is applied"},
		"a Stack is left": {func(f *Facts) { f.Stacks[1].Unchanged = false },
			"1 of the affected Stacks not applied: web/dns"},
		"a Stack was unlocked": {func(f *Facts) { f.Holds = nil },
			"1 of the affected Stacks not applied: web/net"},
		"a Stack is applied by the merge": {func(f *Facts) {
			f.Stacks[1].AfterMerge = "it does not exist"
		}, "Stack web/dns is applied after the merge only, since it does not exist: a user has to merge"},
		"the base has newer code": {func(f *Facts) { f.Stacks[0].Same = false },
			"the base has newer code of Stack web/net than what is applied: comment /cairn apply again"},
	} {
		t.Run(name, func(t *testing.T) {
			m := Next(applied(tt.change))
			if tt.want == "" {
				if m.State != v1alpha1.AutomaticMergeMerging || m.Attempts != 1 || m.Head != head ||
					m.Method != v1alpha1.MergeMethodSquash {
					t.Errorf("got %+v", m)
				}
			} else if m.State != v1alpha1.AutomaticMergeWaiting || !strings.HasPrefix(m.Message, tt.want) ||
				m.Attempts != 0 {
				t.Errorf("got %+v, want %s", m, tt.want)
			}
		})
	}
	if m := Next(applied(func(f *Facts) { f.Method = "" })); m != nil {
		t.Errorf("without the setting: %+v", m)
	}
}

// TestMergeIsNotRepeatedForEver follows rejections: few requests, each later than the one before, and none after the
// last one until a user acts.
func TestMergeIsNotRepeatedForEver(t *testing.T) {
	f := applied()
	rejection := &pulls.Error{Kind: pulls.NotAllowed, Status: 405, Message: "a check is pending"}
	f.Known = Next(f)
	if again := Next(f); *again != *f.Known { // its answer is lost
		t.Errorf("a request in progress: %+v", again)
	}
	requests := 0
	for range 3 * 24 * 60 { // minutes
		if f.Known = Next(f); f.Known.State == v1alpha1.AutomaticMergeMerging {
			requests++
			f.Known = Result(*f.Known, f.Now, rejection)
		}
		f.Now = f.Now.Add(time.Minute)
	}
	const message = "the Git provider responded 405: a check is pending; correct that, or merge at the Git provider"
	if requests != maxAttempts || f.Known.State != v1alpha1.AutomaticMergeFailed || f.Known.NextAttemptAt != nil ||
		f.Known.Message != message {
		t.Fatalf("%d requests in three days: %+v", requests, f.Known)
	}
	for name, tt := range map[string]struct {
		change func(*Facts)
		state  v1alpha1.AutomaticMergeState
	}{
		"nothing changes": {func(*Facts) {}, v1alpha1.AutomaticMergeFailed},
		"it waited since": {func(f *Facts) { f.Known.State = v1alpha1.AutomaticMergeWaiting },
			v1alpha1.AutomaticMergeFailed},
		"another command": {func(f *Facts) { f.CommandAt = metav1.Time{Time: f.Now} }, v1alpha1.AutomaticMergeMerging},
		"another method":  {func(f *Facts) { f.Method = v1alpha1.MergeMethodMerge }, v1alpha1.AutomaticMergeMerging},
		"another head": {func(f *Facts) {
			f.Head = strings.Repeat("b", 40)
			f.Holds = []Hold{{Key: "web/net", Head: f.Head, Branch: "main", Phase: v1alpha1.StackApplyApplied}}
		}, v1alpha1.AutomaticMergeMerging},
	} {
		next := f
		next.Known = f.Known.DeepCopy()
		tt.change(&next)
		if m := Next(next); m.State != tt.state {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestAnswersToAMerge checks the state after each answer.
func TestAnswersToAMerge(t *testing.T) {
	m := *Next(applied())
	f := applied(func(f *Facts) { f.Known = Result(m, noon, nil) })
	if f.Known.State != v1alpha1.AutomaticMergeAccepted || *Next(f) != *f.Known {
		t.Errorf("an accepted merge is %+v, then %+v", f.Known, Next(f))
	}
	for kind, want := range map[pulls.Kind]string{
		pulls.Forbidden: "an administrator", pulls.Unauthorized: "an administrator", pulls.NotFound: "an administrator",
		pulls.Conflict: "apply the newest head", pulls.NotAllowed: "correct that", pulls.Invalid: "correct that",
	} {
		got := Result(m, noon, &pulls.Error{Kind: kind, Message: strings.Repeat("x", 900)})
		if !strings.Contains(got.Message, "; "+want) || len(got.Message) > maxMessage ||
			!got.NextAttemptAt.Equal(&metav1.Time{Time: noon.Add(firstDelay)}) {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	m.Attempts = maxAttempts - 1
	if got := Result(m, noon, errors.New("no")); !got.NextAttemptAt.Equal(&metav1.Time{Time: noon.Add(longestDelay)}) {
		t.Errorf("a late attempt: %+v", got)
	}
}
