package scheduler

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Admission is the answer to a Run that asks to start.
type Admission struct {
	// Start reports whether it may, and from now on counts as running.
	Start bool
	// Why it waits. Example: "concurrency limit of namespace team-a reached (4 of 4)".
	Why string
	// Ahead is about how many Runs go before it among those that wait for the same.
	Ahead int
	// Wake names other Runs that were given a place on the occasion, as those that Set returns.
	Wake []types.NamespacedName
}

// Message is what the Run waits for, for users. It changes seldom.
func (v Admission) Message() string {
	return fmt.Sprintf("%s; %s", v.Why, Position(v.Ahead))
}

// why returns which limit a Run waits for, the narrowest of those that are reached, and how many go before it.
func (q *Queue) why(r *queued) (string, int) {
	for _, g := range []*group{r.groups.repository, r.groups.namespace, r.groups.installation} {
		if g.full() {
			return limitReached(g), q.ahead(r, g)
		}
	}
	g := r.groups.namespace
	return limitReached(g) + ", the last one is kept for a more urgent Run", q.ahead(r, g)
}

func limitReached(g *group) string {
	return fmt.Sprintf("concurrency limit %s reached (%d of %d)", g.name, g.running, g.limit)
}

// ahead is about how many Runs go before one among those that wait for the same group.
func (q *Queue) ahead(r *queued, g *group) int {
	n := 0
	for _, more := range g.waiting[:r.Rank] {
		n += more
	}
	own := 0 // of the same namespace
	for _, x := range q.lines[r.Rank][r.groups.namespace].lanes {
		own += x.before(r)
	}
	switch g {
	case r.groups.namespace:
		return n + own
	case r.groups.repository:
		for _, l := range q.lines[r.Rank] {
			for _, x := range l.lanes {
				if x.repository == g {
					n += x.before(r)
				}
			}
		}
		return n
	}
	n += own
	for _, l := range q.lines[r.Rank] {
		if l.namespace == r.groups.namespace {
			continue
		}
		turns := r.groups.namespace.running + own - l.namespace.running // until both have as many running
		if slices.ContainsFunc(l.lanes, func(x *lane) bool { return x.before(r) > 0 }) {
			turns++
		}
		n += max(0, min(turns, l.namespace.waiting[r.Rank]))
	}
	return n
}

// Position is the approximate queue position of a Run that has n ahead, so that its status changes seldom.
func Position(n int) string {
	if n <= 0 {
		return "next"
	}
	for _, of := range []int{5, 10, 25, 50, 100} {
		if n < of {
			return fmt.Sprintf("among the next %d", of)
		}
	}
	return "more than 100 ahead"
}
