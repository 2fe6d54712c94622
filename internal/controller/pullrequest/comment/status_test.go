package comment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

const page = "https://cairn.example.com/pullrequests/web/infra-12"

// The aggregate status is fit to be a required check: a success when nothing is affected or all is planned, and only
// then.
func TestAggregateStatus(t *testing.T) {
	planned, creates := stack("same"), stack("net", plans(v1alpha1.Plan{Add: 2}, ""))
	denied := stack("db", policy(v1alpha1.PolicyResult{Checked: 1, Denied: 2}))
	skipped := of(planned)
	skipped.Skipped = []string{"web/z"}
	unread := of()
	unread.Unread = true
	later := stack("a", phase(""))
	later.Deferred, later.Failure = true, "planned after web/net is applied (nat)"
	deferred, alone := of(planned, later), of(later)
	deferred.Later, alone.Later = "1 Stack is deferred until an output exists", "1 Stack is deferred until an "+
		"output exists"
	for name, tt := range map[string]struct {
		pr          PullRequest
		state       State
		description string
	}{
		"a Stack is deferred": {deferred, Success, "1 Stack planned: no changes. 1 Stack is deferred until " +
			"an output exists."},
		"all are deferred":         {alone, Success, "1 Stack is deferred until an output exists."},
		"before anything is known": {in(Merging, ""), Pending, "Cairn computes the merge and the affected Stacks."},
		"nothing is affected":      {of(), Success, "No Stack is affected."},
		"all are planned":          {of(planned, creates), Success, "2 Stacks planned: 2 to add."},
		"no plan has changes":      {of(planned), Success, "1 Stack planned: no changes."},
		"a plan that waits is a plan": {of(stack("a", func(s *Stack) {
			s.Phase = v1alpha1.PhaseAwaitingApproval
		})), Success, "1 Stack planned: no changes."},
		"only outputs change": {of(stack("a", plans(v1alpha1.Plan{}, ""))), Success,
			"1 Stack planned: only outputs change."},
		"only the state changes": {
			of(stack("a", plans(v1alpha1.Plan{StateOnly: true}, ""))), Success,
			"1 Stack planned: only the state changes.",
		},
		"a Run is queued": {of(planned, stack("a", phase(v1alpha1.PhaseQueued))), Pending,
			"1 of 2 Stacks planned."},
		"a Run is applied": {of(stack("a", phase(v1alpha1.PhaseApplying))), Pending,
			"0 of 1 Stack planned."},
		"there is no Run yet": {of(stack("a", phase(""))), Pending, "0 of 1 Stack planned."},
		"one failed while another runs": {of(stack("a", failed("x")), stack("b", phase("Planning"))), Pending,
			"0 of 2 Stacks planned, 1 failed."},
		"a policy denies a plan": {of(planned, denied), Failure, "1 of 2 Stacks failed."},
		"it conflicts": {in(Conflict, "main.tf"), Failure,
			"Nothing is planned: the head conflicts with the base."},
		"a Stack beyond maxStacks is unplanned": {skipped, Failure, "1 affected Stack is not planned."},
		"a fork": {in(AwaitingCommand, ""), Pending,
			"Nothing is planned: a user with the verb plan has to comment /cairn plan and the head."},
		// burrito #333, #218: a failed plan or merge was not reported.
		"a plan failed":      {of(planned, stack("a", failed("boom"))), Failure, "1 of 2 Stacks failed."},
		"the merge failed":   {in(Failed, "boom"), Failure, "Nothing is planned: Cairn cannot compute the merge."},
		"a Run was canceled": {of(stack("a", phase("Canceled"))), Failure, "1 of 1 Stack failed."},
		"a Run was replaced": {of(stack("a", phase("Superseded"))), Failure, "1 of 1 Stack failed."},
		// Once it is ready, it can be merged before Cairn detects that.
		"a draft":                    {in(Draft, ""), Pending, "Nothing is planned: the pull request is a draft."},
		"a base that no Stack reads": {unread, Success, "Nothing is planned: no Stack reads the base."},
		// atlantis #6529: what was not planned yet counted as "0/0 succeeded".
		"a Run without a plan": {of(stack("a", phase("Succeeded"))), Failure, "1 of 1 Stack failed."},
	} {
		t.Run(name, func(t *testing.T) {
			want := []Status{{"cairn", tt.state, tt.description, page}}
			if diff := cmp.Diff(want, Statuses(tt.pr, "cairn", 0, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusesOfStacks(t *testing.T) {
	pr := of(stack("net", plans(v1alpha1.Plan{Add: 2, Destroy: 1}, "")), stack("dns", failed("Error: a\nb")),
		stack("cdn", phase("Planning")),
		stack("db", policy(v1alpha1.PolicyResult{Checked: 1, Denied: 2})))
	run := func(name string) string { return "https://cairn.example.com/runs/web/" + name + "-7" }
	want := []Status{
		{"infra/web/cdn", Pending, "not planned yet", run("cdn")},
		{"infra/web/db", Failure, "denied by 2 policy findings", run("db")},
		{"infra/web/dns", Failure, `the plan failed: Error: a\nb`, run("dns")},
		{"infra/web/net", Success, "2 to add, 1 to destroy", run("net")},
	}
	got := Statuses(pr, "infra", 20, nil)
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Error(diff)
	}
	for _, s := range Statuses(in(Conflict, "", func(c *PullRequest) { c.Stacks = pr.Stacks }), "infra", 20, nil) {
		if s.State != Failure {
			t.Errorf("of a conflict: %+v", s)
		}
	}
}

// atlantis #2125, #5944, tofu-controller #1730: a status remained pending when all had ended. Here the affected Stacks
// change between two calls.
func TestStatusOfADeferredStack(t *testing.T) {
	later := stack("a", phase(""))
	later.Deferred, later.Failure = true, "planned after web/net is applied (nat)"
	got := Statuses(of(later), "cairn", 5, nil)[1]
	if got.State != Success || got.Description != "deferred: planned after web/net is applied (nat)" {
		t.Errorf("%+v", got)
	}
}

func TestNoStatusRemainsPending(t *testing.T) {
	running := of()
	for n := range 30 {
		running.Stacks = append(running.Stacks, stack(fmt.Sprintf("s%02d", n), phase(v1alpha1.PhasePlanning)))
	}
	var earlier []string
	for _, s := range Statuses(running, "cairn", 20, nil) {
		earlier = append(earlier, s.Context)
	}
	if len(earlier) != 21 {
		t.Fatalf("%d statuses", len(earlier))
	}
	ended := of(stack("a"), stack("b", failed("x")), stack("s01"), stack("s03", phase(v1alpha1.PhaseCanceled)))
	ended.Skipped = []string{"web/s02"}
	for n := range 20 {
		ended.Stacks = append(ended.Stacks, stack(fmt.Sprintf("c%02d", n)))
	}
	for name, pr := range map[string]PullRequest{
		"other Stacks are affected": ended, "none is": of(), "it conflicts": in(Conflict, ""),
		"the merge fails": in(Failed, ""),
	} {
		t.Run(name, func(t *testing.T) {
			got := Statuses(pr, "cairn", 20, append(earlier, "cairn-old", "cairn-old/web/x"))
			at := map[string]Status{}
			for _, s := range got {
				if s.State == Pending {
					t.Errorf("%+v", s)
				}
				if _, twice := at[s.Context]; twice {
					t.Errorf("twice: %+v", s)
				}
				at[s.Context] = s
			}
			for _, c := range append(earlier, "cairn-old", "cairn-old/web/x") { // the context was cairn-old
				if _, ok := at[c]; !ok {
					t.Errorf("%s is forgotten", c)
				}
			}
			if pr.Phase != Planned || len(pr.Stacks) == 0 {
				return
			}
			for c, want := range map[string]State{"cairn/web/s00": Success, "cairn/web/s01": Success,
				"cairn/web/s02": Failure, "cairn/web/s03": Failure} {
				if at[c].State != want {
					t.Errorf("%+v, want %s", at[c], want)
				}
			}
		})
	}
}

// atlantis #6541: a context of more than 255 characters was rejected. Two long names remain two contexts.
func TestLengthsOfStatuses(t *testing.T) {
	long := strings.Repeat("n", 250)
	pr := of(stack(long+"a", failed(strings.Repeat("é", 1000))), stack(long+"b"))
	pr.Stacks[0].Namespace, pr.Stacks[1].Namespace = strings.Repeat("m", 63), strings.Repeat("m", 63)
	got := Statuses(pr, "cairn", 20, nil)
	var contexts []string
	for _, s := range got {
		if contexts = append(contexts, s.Context); len(s.Context) > 255 || size(s.Description) > 140 {
			t.Errorf("%d, %d: %+v", len(s.Context), size(s.Description), s)
		}
	}
	slices.Sort(contexts)
	if len(slices.Compact(contexts)) != 3 {
		t.Error(contexts)
	}
}
