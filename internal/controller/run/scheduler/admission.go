package scheduler

import (
	"fmt"

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
	for _, urgent := range q.waiting[:r.Rank] {
		n += g.count(urgent)
	}
	place, same := q.place(r), q.waiting[r.Rank]
	if g != q.installation {
		return n + g.count(same[:place])
	}
	// Namespaces take turns: until both have as many running, and then the one whose first Run waits longer.
	own := r.groups.namespace
	others := own.count(same[:place])
	turn := own.running + others
	turns, earlier := map[*group]int{}, map[*group]bool{}
	for i, x := range same {
		other := x.groups.namespace
		if other == own {
			continue
		}
		earlier[other] = earlier[other] || i < place
		if at := other.running + turns[other]; at < turn || at == turn && earlier[other] {
			others++
		}
		turns[other]++
	}
	return n + others
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
