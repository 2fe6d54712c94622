// Package sim lives through random histories of Cairn in one process: the real reconcilers, the real rules of the store and
// the real state store, on a model of the API server, of pods, of a cloud, of clocks and of people.
//
//	people ─► API server ─► watches, late or lost ─► managers (real reconcilers) ─► API server
//	                │                                                                  │
//	                └► machines ─► pods ─► runners ─► the store's real rules ──────────┘
//	                                          └─► cloud
//
// A history is all that follows from a seed. It has two parts: one in which anything may happen, and one in which nothing
// fails any more, after which all has to stand still. The invariants of docs/reliability.md are checked at every step.
package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/state"
)

// epoch is when histories begin.
const epoch = 1_767_225_600

// podGrace is how long a pod has between SIGTERM and SIGKILL.
const podGrace = 600 * time.Second

// Options of a history.
type Options struct {
	// Seed it follows from.
	Seed uint64
	// Trace keeps what happens, for a person.
	Trace bool
	// Limit of faults; -1 is what the seed says.
	Limit int
}

// Violation is a broken invariant.
type Violation struct {
	Seed            uint64
	Invariant, Text string
	// Step at which it was found.
	Step  int
	Trace []string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("seed %d, step %d: %s: %s", v.Seed, v.Step, v.Invariant, v.Text)
}

// Stats say what histories were about.
type Stats struct {
	Steps, Reconciles, Writes, Runs, Applies, Creates, Faults, Excused int
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
	places        int
	tasks         []*task
	task          *task
	writer        *kube
	doomed        []int
	// dirty: something changed that I2 is about.
	dirty bool
	// script of a history of the small scope; nil for one that follows from a seed.
	script *script
	// skewed: a clock was wrong, by which nobody can tell how long somebody had.
	skewed bool

	managers []*manager
	lease    int

	server, serverLive *kube
	serverView         *view
	states0            *state.Store
	reports            run.Reports

	machines []*machine
	things   []*thing
	plans    map[string]*plan
	applied  map[string]bool
	contents map[string]*content
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

// rand gives a number below n.
func (w *world) rand(n int) int {
	return int((w.random.Uint64() >> 33) % uint64(n))
}

func (w *world) chance(oneIn int) bool { return w.rand(oneIn) == 0 }

// fault says whether something goes wrong here.
func (w *world) fault(what string, oneIn int) bool {
	if w.quiet || w.budget <= 0 || !w.chance(oneIn) {
		return false
	}
	w.budget--
	w.stats.Faults++
	w.tracef("!  %s", what)
	return true
}

// split says whether a reconcile is one that others may come between.
func (w *world) split() bool { return w.script != nil || (!w.quiet && w.chance(3)) }

// crossing is where a process reaches the API server: others may come between, and the process may end.
func (w *world) crossing(of int, what string) error {
	w.pause()
	w.mayCrash(of)
	if w.quiet {
		return nil
	}
	if w.fault("the API server is away: "+what, 150) {
		return errAway
	}
	w.mayEnd(of, "before "+what)
	return nil
}

// crossed is where a write was done and its answer is on its way.
func (w *world) crossed(of int, what string) error {
	w.mayCrash(of)
	if w.quiet {
		return nil
	}
	w.mayEnd(of, "after "+what)
	if w.fault("the answer is lost: "+what, 100) {
		return errAway
	}
	return nil
}

// mayCrash ends a manager where the script says so.
func (w *world) mayCrash(of int) {
	if of >= 0 && w.script != nil && w.script.crashes() {
		w.tracef("!  manager %d ends", of)
		w.doomed = append(w.doomed, of)
		panic(stopped{})
	}
}

func (w *world) mayEnd(of int, when string) {
	if of >= 0 && w.fault(when, 120) {
		w.tracef("!  manager %d ends", of)
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
		plans: map[string]*plan{}, applied: map[string]bool{}, contents: map[string]*content{}, writesOf: map[string]int{}, automatic: map[string]bool{},
	}
	w.api.w = w
	w.serverView = &view{api: &w.api}
	w.server, w.serverLive = &kube{w: w, view: w.serverView, of: -1}, &kube{w: w, of: -1}
	w.states0 = w.states(-1, w.now)
	w.reports = run.Reports{Client: w.server, Live: w.serverLive, Clock: w.now, Verdict: noPolicies, Retry: atOnce}
	return w
}

// Run lives through a history. The error is a *Violation.
func (s *shared) run(o Options) (*Violation, Stats) { return newWorld(s, o).live() }

func (w *world) live() (*Violation, Stats) {
	defer w.end()
	w.settle()
	for n := 60 + w.rand(180); n > 0 && w.violation == nil; n-- {
		w.take(w.enabled())
	}
	w.calm()
	w.rest()
	if w.violation != nil {
		w.violation.Trace = w.trace
	}
	w.stats.Steps = w.step
	for _, t := range w.things {
		if t.excused != "" {
			w.stats.Excused++
		}
	}
	w.stats.Creates = len(w.things)
	return w.violation, w.stats
}

// rest goes on until all stands still.
func (w *world) rest() {
	for round := 0; w.violation == nil; round++ {
		before := w.stats.Writes
		w.settleDown()
		if w.violation != nil || !w.pass(before != w.stats.Writes, round) {
			break
		}
	}
	if w.violation == nil {
		w.script = nil
		w.stands()
	}
}

// end lets go of all tasks.
func (w *world) end() {
	for _, t := range w.tasks {
		w.kill(t)
	}
}

// take does one action of those that can be done.
func (w *world) take(all []action) {
	sum := 0
	for _, a := range all {
		sum += a.weight
	}
	if sum == 0 {
		return
	}
	n := w.rand(sum)
	for _, a := range all {
		if n -= a.weight; n < 0 {
			w.do(a)
			return
		}
	}
}

func (w *world) do(a action) {
	w.step++
	a.do(w, a.a, a.b)
	w.bury()
	if w.dirty {
		w.dirty = false
		w.nothingIsLost()
	}
}

// bury ends the managers that a fault ended in the middle of something.
func (w *world) bury() {
	for _, id := range w.doomed {
		w.managers[id].end()
		if w.lease == id {
			w.lease = -1
		}
	}
	w.doomed = w.doomed[:0]
}

// bound of steps within which a history comes to rest once nothing fails.
const bound = 4000

// settleDown does all that can be done without the time passing.
func (w *world) settleDown() {
	for n := 0; w.violation == nil; n++ {
		all := w.enabled()
		if len(all) == 0 {
			return
		}
		if n > bound {
			w.violate("I9", "%d steps after the last fault it goes on, at last with %s", n, w.state())
			return
		}
		at := 0
		if w.script != nil {
			at = w.script.which(len(all))
		}
		w.do(all[at])
	}
}

// pass lets time pass until somebody wants to look again, and says whether there is anything to wait for.
func (w *world) pass(wrote bool, round int) bool {
	next := w.nextTime()
	if next < 0 || (!wrote && next > w.time+4*3600) {
		return false
	}
	if round > 150 {
		if wrote {
			w.violate("I6", "it goes on to write, %s after the last fault: %s", after(w.time).Sub(after(0)), w.state())
		}
		return false
	}
	w.time = next
	w.ring()
	return true
}

func (w *world) ring() {
	for _, m := range w.managers {
		m.ring()
	}
}

// state of all Stacks and Runs, in a line.
func (w *world) state() string {
	var parts []string
	for _, k := range []kind{stacks, runs} {
		for _, o := range w.api.objects[k] {
			parts = append(parts, describe(o))
		}
	}
	return strings.Join(parts, "; ")
}
