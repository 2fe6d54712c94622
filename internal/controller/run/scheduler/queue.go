package scheduler

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Rank is how urgent a Run is; a smaller one goes first.
type Rank int

// Ranks.
const (
	// RankApply is for applies of approved plans, and for destroys.
	RankApply Rank = iota
	// RankPlan is for plans that users wait for.
	RankPlan
	// RankPullRequest is for plans that show what a pull request would do.
	RankPullRequest
	// RankDrift is for drift checks, and for plans that one object causes for many Stacks: those of changed
	// VariableSets and StackPolicies, and the first ones of Stacks that a StackSet created.
	RankDrift

	ranks
)

// Limits are how many Runs may run at once. 0 is no limit.
type Limits struct {
	// Installation is for all Runs together.
	Installation int
	// Namespace is for each namespace.
	Namespace int
	// Repository returns the limit of a Repository, by namespace/name; nil is no limit for any. It is asked, under the
	// Queue's lock, each time one of the Repository's Runs is set or asks to be admitted, so it has to be quick.
	Repository func(key string) int
}

// Entry is what the Queue knows of a Run that runs or waits for a place.
type Entry struct {
	// Key of the Run.
	Key types.NamespacedName
	// UID of the Run; one of the same name with another UID takes its place.
	UID types.UID
	// Rank decides who goes first.
	Rank Rank
	// Repository that the Run's code is from, by namespace/name; empty when from none.
	Repository string
	// Since is when it began to wait. Of two it is the earlier one that goes first.
	Since time.Time
	// Running reports whether it has an attempt under way; otherwise it waits for a place.
	Running bool
}

// Queue decides which Runs may start: never more than the limits allow, the most urgent first and, of those, the one
// whose namespace has the fewest running, then the one that waits longest. A Run that its own namespace or Repository
// holds up holds up no others, with one exception: one that is five minutes old and now waits for nothing but its
// Repository keeps the last place of its namespace free from lower ranks, which otherwise could keep it from starting
// by turns.
//
//	        Set, Admit               a place is free                Set: it runs
//	(none) ────────────► waiting ─────────────────────► granted ─────────────────► running
//	   ▲                    │ Remove                       │ Remove, or a minute      │ Remove
//	   └────────────────────┴──────────────────────────────┴──────────────────────────┘   Set: it waits ──► waiting
//
// How to use it:
//
//   - Call Set with what is true of a Run whenever it is reconciled while it runs or waits to, Remove when it is
//     finished, gone, or waits for another reason such as an approval. After a restart call Set for all that run before
//     anything that waits; the Queue knows nothing else of the time before.
//   - Call Admit right before an attempt is begun in a new pod, from the Run's own reconcile: that is one at a time for
//     a Run, and reads its own writes. Admit's yes is good for a minute. If nothing is begun after all, call Remove.
//   - Wake the Runs that are returned. Each was given a place, which its Admit will confirm; or it lost one, because
//     for a minute its object did not show that it runs, and has to call Set or Admit again. That a Run waits does not
//     take a grant back, since that may be known from before the grant; only Remove and the minute do.
//   - Call Reclaim every few seconds, for grants to be taken back although nothing else happens.
//
// All calls take time in proportion to the number of Runs that wait, a millisecond for 10,000. It is safe for
// concurrent use.
type Queue struct {
	limits Limits
	now    func() time.Time

	mu           sync.Mutex
	runs         map[types.NamespacedName]*queued
	grants       map[types.NamespacedName]*queued // those of runs that are granted
	installation *group
	namespaces   map[string]*group
	repositories map[string]*group
	unlimited    *group           // counts Runs without a Repository
	waiting      [ranks][]*queued // by Since
}

// NewQueue creates a Queue. now is its clock.
func NewQueue(limits Limits, now func() time.Time) *Queue {
	return &Queue{
		limits: limits, now: now,
		runs: map[types.NamespacedName]*queued{}, grants: map[types.NamespacedName]*queued{},
		installation: &group{name: "of this installation", limit: limits.Installation},
		namespaces:   map[string]*group{}, repositories: map[string]*group{}, unlimited: &group{},
	}
}

// Set returns what is true of a Run, and returns the Runs to wake, the next one first. It may be among them itself.
func (q *Queue) Set(e Entry) []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	var granted time.Time
	if r := q.admitted(e); r != nil {
		granted = r.granted
	}
	q.put(e, granted)
	return q.next()
}

// Remove forgets a Run, and returns the Runs to wake, the next one first. One that is not known is no error.
func (q *Queue) Remove(key types.NamespacedName) []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(key)
	return q.next()
}

// Reclaim takes back the places of Runs that did not start, asks for the limits of Repositories, and returns the Runs
// to wake.
func (q *Queue) Reclaim() []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, g := range q.repositories {
		g.limit = q.limits.Repository(key)
	}
	return q.next()
}

// Admit reports whether a Run may start now. If so it counts as running, and asking again gets the same answer; if not
// it waits. One that runs already may continue.
func (q *Queue) Admit(e Entry) Admission {
	q.mu.Lock()
	defer q.mu.Unlock()
	var granted time.Time
	if q.admitted(e) != nil {
		granted = q.now()
	}
	q.put(e, granted)
	wake := slices.DeleteFunc(q.next(), func(key types.NamespacedName) bool { return key == e.Key })
	r := q.runs[e.Key]
	v := Admission{Start: !r.waits, Wake: wake}
	if !v.Start {
		v.Why, v.Ahead = q.why(r)
	}
	return v
}

// admitted is a Run if it has a place now; nil otherwise.
func (q *Queue) admitted(e Entry) *queued {
	if r := q.runs[e.Key]; r != nil && r.UID == e.UID && !r.waits {
		return r
	}
	return nil
}

// put takes a Run in as it is now: running if it does, granted unless that is zero, or else waiting.
func (q *Queue) put(e Entry, granted time.Time) {
	if e.Running {
		granted = time.Time{}
	}
	if r := q.admitted(e); r != nil && (e.Running || !granted.IsZero()) {
		e.Repository = r.Repository // it has its place among that one's, whatever its Stack reads from by now
	}
	q.drop(e.Key)
	r := &queued{Entry: e, groups: q.join(e), waits: true}
	q.runs[e.Key] = r
	if e.Running || !granted.IsZero() {
		q.start(r, granted)
	} else {
		q.waiting[r.Rank] = slices.Insert(q.waiting[r.Rank], q.place(r), r)
	}
}

// drop forgets a Run.
func (q *Queue) drop(key types.NamespacedName) {
	r := q.runs[key]
	if r == nil {
		return
	}
	if r.waits {
		q.dequeue(r)
	} else {
		r.groups.each(func(g *group) { g.running-- })
	}
	delete(q.runs, key)
	delete(q.grants, key)
	r.groups.each(func(g *group) { g.all-- })
	if r.groups.namespace.all == 0 {
		delete(q.namespaces, key.Namespace)
	}
	if r.groups.repository.all == 0 {
		delete(q.repositories, r.Repository)
	}
}

// start has a Run count as running; it is granted unless that is zero.
func (q *Queue) start(r *queued, granted time.Time) {
	r.waits, r.granted = false, granted
	r.groups.each(func(g *group) { g.running++ })
	if !granted.IsZero() {
		q.grants[r.Key] = r
	}
}

// dequeue has a Run wait no longer.
func (q *Queue) dequeue(r *queued) {
	at := q.place(r)
	q.waiting[r.Rank] = slices.Delete(q.waiting[r.Rank], at, at+1)
}
