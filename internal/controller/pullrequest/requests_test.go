package pullrequest

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// Requests that the life of a pull request may cost: to the API server, which are writes, and to the Git provider,
// which are changes and all together. They are sums of lifeSeeds histories, since the order of events differs in each.
var requestsOfALife = []struct {
	step                      string
	writes, changes, requests int
}{
	{"open and plan", 1389, 846, 5435},
	{"comment", 1482, 957, 5498},
	{"push", 1499, 853, 5158},
	{"close", 200, 0, 4100},
}

const lifeSeeds = 100

// A pull request that is opened, planned, planned again by a comment, changed and closed costs at most these
// requests.
func TestRequestsOfThePullRequestsLife(t *testing.T) {
	got := make([]struct{ writes, changes, requests int }, len(requestsOfALife))
	for seed := range uint64(lifeSeeds) {
		h := newHistory(2 * seed) // one process
		h.quiet = true
		p := &pullModel{
			Number: 1, Title: "Change", State: "open", User: userModel{"alice"},
			Head: refModel{Ref: "change", Repo: map[string]int{"id": 1}}, Base: refModel{Ref: "main", RepoID: 1},
		}
		push := func() {
			for again := true; again; again = len(h.git.affected(p)) < 2 || h.git.conflicts(p) {
				p.Head.SHA = h.git.commit()
			}
			p.Updated = h.now.Truncate(time.Second)
			h.git.fetch()
		}
		for i, do := range []func(){
			func() { h.git.pulls = append(h.git.pulls, p); push() },
			func() { h.git.add(p, "alice", "/cairn plan") },
			push,
			func() { p.State, p.Updated = "closed", h.now.Truncate(time.Second) },
		} {
			writes, changes, requests := h.api.writes, h.git.changes, h.git.requests
			do()
			for range 40 {
				h.settle()
				h.now = h.now.Add(30 * time.Second)
			}
			got[i].changes += h.git.changes - changes
			got[i].writes += h.api.writes - writes - (h.git.changes - changes)
			got[i].requests += h.git.requests - requests
			if i == 2 {
				h.check()
			}
		}
		h.checkKept(kept)
		pull, ok := h.api.objects[key{"PullRequest", "web", "infra-1"}].(*v1alpha1.PullRequest)
		if !ok || len(pull.Status.Stacks) != len(h.git.affected(p)) {
			t.Fatalf("seed %d: the plans of a closed pull request: %+v", 2*seed, pull)
		}
		h.now = h.now.Add(kept)
		h.settle()
		if _, left := h.api.objects[key{"PullRequest", "web", "infra-1"}].(*v1alpha1.PullRequest); left ||
			h.problem != "" {
			t.Fatalf("seed %d: PullRequest left: %t; %s", 2*seed, left, h.problem)
		}
	}
	for i, want := range requestsOfALife {
		n := got[i]
		t.Logf("%-14s %d writes, %d changes and %d requests", want.step, n.writes, n.changes, n.requests)
		if n.writes > want.writes || n.changes > want.changes || n.requests > want.requests {
			t.Errorf("%s: %+v, more than %+v", want.step, n, want)
		}
	}
}

// Requests that lifeSeeds merges of a pull request may cost, as above. The Runs of its two or three Stacks wait
// for approvals, fail and are repeated.
const writesOfMerges, changesOfMerges, requestsOfMerges = 723, 536, 900

// A merge costs the status of its commit and an edit of the comment for each change, and one comment. Once all Stacks
// have ended, their later changes cost nothing.
func TestRequestsAfterTheMerge(t *testing.T) {
	var writes, changes, requests int
	for seed := range uint64(lifeSeeds) {
		h, p := plannedHistory(seed)
		idle := h.git.requests
		h.pass(40)
		idle = h.git.requests - idle // of lists
		before := [3]int{h.api.writes - h.git.merges.writes, h.git.changes, h.git.requests}
		h.git.merge(p)
		h.pass(40)
		h.check()
		changed := h.git.changes - before[1]
		writes += h.api.writes - h.git.merges.writes - before[0] - changed
		changes, requests = changes+changed, requests+h.git.requests-before[2]-idle

		before = [3]int{h.api.writes - h.git.merges.writes, h.git.changes, h.git.requests}
		h.git.push("another change", stackNames)
		h.pass(40)
		if n := h.api.writes - h.git.merges.writes - before[0]; n != 0 || h.git.changes != before[1] ||
			h.git.requests-before[2] > idle {
			t.Fatalf("seed %d: %d writes, %d changes and %d requests after the end", 2*seed, n, h.git.changes-before[1],
				h.git.requests-before[2]-idle)
		}
		if h.problem != "" {
			t.Fatalf("seed %d: %s", 2*seed, h.problem)
		}
	}
	t.Logf("%d writes, %d changes and %d requests", writes, changes, requests)
	if writes > writesOfMerges || changes > changesOfMerges || requests > requestsOfMerges {
		t.Errorf("%d writes, %d changes and %d requests", writes, changes, requests)
	}
}
