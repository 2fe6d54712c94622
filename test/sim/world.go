// Package sim runs random histories of Cairn in one process: the real reconcilers, the real rules of the server and
// the real state store, with a model of the API server, of pods, of a cloud, of clocks and of users.
//
//	users ──► API server ─► watches, late or lost ─► managers (real reconcilers) ─► API server
//	                │                                                                  │
//	                └► machines ─► pods ─► runners ─► the server's real rules ─────────┘
//	                                          └─► cloud
//
// A seed determines a history. It has two parts: one in which anything can happen, and one without
// faults, after which everything has to come to rest. The invariants of docs/reliability.md are checked at every step.
package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/state"
)

// epoch is the start of histories.
const epoch = 1_767_225_600

// podGrace is the time of a pod between SIGTERM and SIGKILL.
const podGrace = 600 * time.Second

// Options of a history.
type Options struct {
	// Seed determines the history.
	Seed uint64
	// Trace records every step for analysis.
	Trace bool
	// Limit of faults; -1 for that of the seed.
	Limit int
	// Often deletes Runs, States, pods and Secrets ten times as often; one of eight seeds does so anyway.
	Often bool
	// Checked verifies that objects of the API server are not changed in place.
	Checked bool
}

// Violation is a broken invariant.
type Violation struct {
	Seed            uint64
	Invariant, Text string
	// Step is the one that violated it.
	Step  int
	Trace []string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("seed %d, step %d: %s: %s", v.Seed, v.Step, v.Invariant, v.Text)
}

// Stats summarize histories.
type Stats struct {
	Steps, Reconciles, Writes, Runs, Applies, Creates, Faults, Excused int
}

// attemptOf names an attempt of a Run.
type attemptOf struct {
	run    types.UID
	number int32
}

// nameOf is a name that a Run of a Stack had.
type nameOf struct {
	stack types.UID
	run   string
}

// world is one history.
type world struct {
	Options
	shared        *shared
	random        *rand.PCG
	api           api
	bucket        *memory
	time          int64
	serials, step int
	quiet         bool
	budget        int
	wishes        int
	deletions     int
	places        int
	tasks         []*task
	task          *task
	writer        *kube
	doomed        []int
	// dirty: something relevant to I2 changed.
	dirty bool
	// script of a history of the small scope; nil for one of a seed.
	script *script
	// skewed: a clock was wrong, so that durations are unknown.
	skewed bool

	managers []*manager
	lease    int

	servers []*server
	direct  *kube
	states0 *state.Store
	// late are delayed requests of runners.
	late []*late
	// aims are the numbers of faults in the middle of an apply, and dying the runners that end with the next step.
	aims  int
	dying []*runner
	// finished is the step at which an attempt ended, and orphans the Stacks that were deleted with Orphan.
	finished map[attemptOf]int
	names    map[nameOf]bool
	orphans  map[types.UID]bool

	machines []*machine
	things   []*thing
	plans    map[string]*plan
	applied  map[string]bool
	contents map[string]*content
	// bases are the digests of the versions that rescued states are based on, by their own.
	bases    map[string]string
	writesOf map[string]int
	// automatic are the Stacks that ever applied without approval.
	automatic map[string]bool
	actions   []action

	stats     Stats
	violation *Violation
	trace     []string
}

func (w *world) now() time.Time { return time.Unix(epoch+w.time, 0).UTC() }

func (w *world) serial() int { w.serials++; return w.serials }

// rand returns a number below n.
func (w *world) rand(n int) int {
	return int((w.random.Uint64() >> 33) % uint64(n))
}

func (w *world) chance(oneIn int) bool { return w.rand(oneIn) == 0 }

// fault reports whether a fault occurs here.
func (w *world) fault(what string, oneIn int) bool {
	if w.quiet || w.budget <= 0 || !w.chance(oneIn) {
		return false
	}
	w.budget--
	w.stats.Faults++
	w.tracef("!  %s", what)
	return true
}

// split reports whether a reconciliation can be interrupted by others.
func (w *world) split() bool { return w.script != nil || (!w.quiet && w.chance(3)) }

// crossing is the point before a request to the API server: other tasks can run, and the process can end.
func (w *world) crossing(of int, what string) error {
	w.pause()
	w.mayCrash(of)
	if w.quiet {
		return nil
	}
	if w.fault("the API server is away", 150) {
		return errAway
	}
	w.mayEnd(of, "before", what)
	return nil
}

// crossed is the point between a write and its response.
func (w *world) crossed(of int, what string) error {
	w.mayCrash(of)
	if w.quiet {
		return nil
	}
	w.mayEnd(of, "after", what)
	if w.fault("the answer is lost", 100) {
		return errAway
	}
	return nil
}

// mayCrash ends a manager where the script requires it.
func (w *world) mayCrash(of int) {
	if of >= 0 && w.script != nil && w.script.crashes() {
		w.tracef("!  manager %d ends", of)
		w.doomed = append(w.doomed, of)
		panic(stopped{})
	}
}

func (w *world) mayEnd(of int, when, what string) {
	if of >= 0 && w.fault(when, 120) {
		w.tracef("!  manager %d ends %s %s", of, when, what)
		w.doomed = append(w.doomed, of)
		panic(stopped{})
	}
}

func (w *world) tracef(format string, args ...any) {
	if w.Trace {
		w.trace = append(w.trace, fmt.Sprintf("%4d %s ", w.step, w.now().Format(time.TimeOnly))+fmt.Sprintf(format, args...))
	}
}

// violate ends the history.
func (w *world) violate(invariant, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Seed: w.Seed, Invariant: invariant, Text: fmt.Sprintf(format, args...), Step: w.step}
		w.tracef("** %s: %s", invariant, w.violation.Text)
	}
}

func newWorld(s *shared, o Options) *world {
	w := &world{
		Options: o, shared: s, random: rand.NewPCG(o.Seed, 0x5eed), bucket: newMemory(), lease: -1,
		plans: map[string]*plan{}, applied: map[string]bool{}, contents: map[string]*content{}, bases: map[string]string{},
		writesOf: map[string]int{}, automatic: map[string]bool{}, finished: map[attemptOf]int{}, names: map[nameOf]bool{},
		orphans: map[types.UID]bool{},
	}
	w.api.w, w.api.leaned = w, map[client.Object]client.Object{}
	w.direct = &kube{w: w, of: -1}
	w.states0 = w.states(-1, w.now)
	return w
}

func (w *world) ring() {
	for _, m := range w.managers {
		m.ring()
	}
}

// state formats all Stacks and Runs in a line.
func (w *world) state() string {
	var parts []string
	for _, k := range []kind{stacks, runs} {
		for _, o := range w.api.objects[k] {
			parts = append(parts, describe(o))
		}
	}
	return strings.Join(parts, "; ")
}
