// Package sim runs random histories of Cairn in one process: the real reconcilers, the real rules of the server and
// the real state store, with a model of the API server, of pods, of a cloud, of clocks and of users.
//
//	users ──► API server ─► watches, late or lost ─► managers (real reconcilers) ─► API server
//	                │                                                                  │
//	                └► machines ─► pods ─► runners ─► the server's real rules ─────────┘
//	                                          └─► cloud
//
// A seed determines a history. It has two parts: one in which anything can happen, and one without
// faults, after which everything has to come to rest. The invariants of docs/contributing/reliability.md are checked at
// every step.
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
	// Holds are pull requests that held a Stack, Applied the applies of their code, and Returns those that left it.
	Holds, Applied, Returns int
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

// simulation is one history.
type simulation struct {
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
	// dirty: a fact relevant to I2 changed.
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
	// commits of the remote, of a history with Stacks from git, and the number of pushes to come.
	commits []commit
	pushes  int
	// pulls are the pull requests of some of these, pullActs the number of actions of users to come there, and pullIn
	// the pull request whose code each Stack has, by what began to be applied last; leftBy has what it was before.
	// codes are what archives add to the variable.
	pulls    []*pullModel
	pullActs int
	pullIn   map[types.UID]*pullModel
	leftBy   map[types.UID]left
	codes    map[string]int
	orphans  map[types.UID]bool
	// restores is the number of times that a backup tool will restore all objects; lost are the States that a user did
	// not restore yet, recreated the Stacks that the tool created, and recreating is true while it does.
	restores   int
	lost       map[string]bool
	noBackup   map[string]*content // what the lost State had, if the bucket has no backup of it
	recreated  map[types.UID]bool
	recreating bool
	// orphanedRuns are the Stacks whose Runs were orphaned.
	orphanedRuns map[types.UID]bool

	machines  []*machine
	resources []*resource
	plans     map[string]*plan
	applied   map[string]bool
	contents  map[string]*content
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

func (sim *simulation) now() time.Time { return time.Unix(epoch+sim.time, 0).UTC() }

func (sim *simulation) serial() int { sim.serials++; return sim.serials }

// rand returns a number below n.
func (sim *simulation) rand(n int) int {
	return int((sim.random.Uint64() >> 33) % uint64(n))
}

func (sim *simulation) chance(oneIn int) bool { return sim.rand(oneIn) == 0 }

// fault reports whether a fault occurs here.
func (sim *simulation) fault(what string, oneIn int) bool {
	if sim.quiet || sim.budget <= 0 || !sim.chance(oneIn) {
		return false
	}
	sim.budget--
	sim.stats.Faults++
	sim.tracef("!  %s", what)
	return true
}

// split reports whether a reconciliation can be interrupted by others.
func (sim *simulation) split() bool { return sim.script != nil || (!sim.quiet && sim.chance(3)) }

// crossing is the point before a request to the API server: other tasks can run, and the process can end.
func (sim *simulation) crossing(of int, what string) error {
	sim.pause()
	sim.mayCrash(of)
	if sim.quiet {
		return nil
	}
	if sim.fault("the API server is away", 150) {
		return errAway
	}
	sim.mayEnd(of, "before", what)
	return nil
}

// crossed is the point between a write and its response.
func (sim *simulation) crossed(of int, what string) error {
	sim.mayCrash(of)
	if sim.quiet {
		return nil
	}
	sim.mayEnd(of, "after", what)
	if sim.fault("the answer is lost", 100) {
		return errAway
	}
	return nil
}

// mayCrash ends a manager where the script requires it.
func (sim *simulation) mayCrash(of int) {
	if of >= 0 && sim.script != nil && sim.script.crashes() {
		sim.tracef("!  manager %d ends", of)
		sim.doomed = append(sim.doomed, of)
		panic(stopped{})
	}
}

func (sim *simulation) mayEnd(of int, when, what string) {
	if of >= 0 && sim.fault(when, 120) {
		sim.tracef("!  manager %d ends %s %s", of, when, what)
		sim.doomed = append(sim.doomed, of)
		panic(stopped{})
	}
}

func (sim *simulation) tracef(format string, args ...any) {
	if sim.Trace {
		sim.trace = append(sim.trace, fmt.Sprintf("%4d %s ", sim.step, sim.now().Format(time.TimeOnly))+fmt.Sprintf(
			format, args...))
	}
}

// violate ends the history.
func (sim *simulation) violate(invariant, format string, args ...any) {
	if sim.violation == nil {
		sim.violation = &Violation{Seed: sim.Seed, Invariant: invariant, Text: fmt.Sprintf(format, args...),
			Step: sim.step}
		sim.tracef("** %s: %s", invariant, sim.violation.Text)
	}
}

func newSimulation(s *shared, o Options) *simulation {
	sim := &simulation{
		Options: o, shared: s, random: rand.NewPCG(o.Seed, 0x5eed), bucket: newMemory(), lease: -1,
		plans: map[string]*plan{}, applied: map[string]bool{}, contents: map[string]*content{},
		bases:    map[string]string{},
		writesOf: map[string]int{}, automatic: map[string]bool{}, finished: map[attemptOf]int{},
		names:   map[nameOf]bool{},
		orphans: map[types.UID]bool{}, orphanedRuns: map[types.UID]bool{}, lost: map[string]bool{},
		noBackup: map[string]*content{}, recreated: map[types.UID]bool{}, pullIn: map[types.UID]*pullModel{},
		leftBy: map[types.UID]left{}, codes: map[string]int{},
	}
	sim.api.sim, sim.api.leaned = sim, map[client.Object]client.Object{}
	sim.direct = &kube{sim: sim, of: -1}
	sim.states0 = sim.states(-1, sim.now)
	return sim
}

func (sim *simulation) enqueueDue() {
	for _, m := range sim.managers {
		m.enqueueDue()
	}
}

// state formats all Stacks and Runs in a line.
func (sim *simulation) state() string {
	var parts []string
	for _, k := range []kind{stacks, runs} {
		for _, o := range sim.api.objects[k] {
			parts = append(parts, describe(o))
		}
	}
	return strings.Join(parts, "; ")
}
