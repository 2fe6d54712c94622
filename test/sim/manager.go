package sim

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/internal/controller/stack"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/state"
)

// controllers of a manager.
const (
	ofStack = iota
	ofRun
	ofState

	controllers
)

var controllerNames = [controllers]string{"stack", "run", "state"}

// timer requeues an object.
type timer struct {
	at         int64
	controller int
	name       string
}

// manager is an operator: the real reconcilers, with a cache and a queue of the model.
type manager struct {
	sim   *simulation
	id    int
	view  *view
	alive bool
	// frozen managers do nothing, and cannot detect it.
	frozen bool
	// leads: it assumes that it is the leader.
	leads bool
	// skew of its clock in seconds.
	skew int64

	queue  [controllers][]string
	timers []timer
	busy   [controllers]*task

	// mirror of the Repository.
	mirror *mirror
	// holds are the steps at which it received the holds of Stacks, and started is that at which its reconcile of a
	// Stack began.
	holds   map[string]int
	started int

	stack stack.Reconciler
	run   run.Reconciler
	state state.Reconciler
	turns *scheduler.Queue
}

var silent = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))

type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// kept is a bucket that retains everything: the model has the bucket's content of Runs.
type kept struct{}

func (kept) Forget(context.Context, *v1alpha1.Run) error { return nil }

func (sim *simulation) newManager(id int) *manager {
	m := &manager{sim: sim, id: id, view: &view{api: &sim.api, lean: true}}
	m.start()
	return m
}

// start restarts its process.
func (m *manager) start() {
	m.alive, m.frozen, m.leads = true, false, false
	m.mirror, m.holds = m.sim.newMirror(), map[string]int{}
	for k := range kinds {
		m.view.relist(k)
	}
}

// lead makes it the leader: its controllers start, and reconcile all objects.
func (m *manager) lead() {
	sim := m.sim
	m.leads = true
	cached, live := &kube{sim: sim, view: m.view, of: m.id}, &kube{sim: sim, of: m.id}
	m.turns = scheduler.NewQueue(scheduler.Limits{Installation: sim.places}, m.clock)
	store := sim.states(m.id, m.clock)
	m.stack = stack.Reconciler{
		Gatherer: snapshot.Gatherer{
			Client: cached, Live: live, Sources: sim.shared.sources, Inputs: sim.shared.inputs, StateReader: store,
			Code:  code.NewSources(cached, anyConfigMap{}, m.mirror),
			Clock: m.clock,
		},
		States: store, Runs: kept{}, Events: stack.Recorder{EventRecorder: noEvents{}},
		ConflictBackoff: stack.NewConflictBackoff(), Reserved: stack.NewReserved(),
	}
	m.run = run.Reconciler{
		Client: cached, Live: live, Inputs: sim.shared.inputs, Scheduler: scheduler.New(m.turns, cached),
		Clock: m.clock,
		Pods: podspec.Settings{ServerURL: "https://server", CABundle: func() []byte { return nil },
			RunnerImage: "cairn", EngineHasRunner: true, EngineImage: "tools"},
	}
	m.state = state.Reconciler{Client: cached, States: store}
	m.enqueueAll()
}

// enqueueAll enqueues all objects, as controllers do when they start.
func (m *manager) enqueueAll() {
	for _, o := range m.view.objects[stacks] {
		m.add(ofStack, o.GetName())
	}
	for _, o := range m.view.objects[runs] {
		m.add(ofRun, o.GetName())
	}
	for _, o := range m.view.objects[states] {
		m.add(ofState, o.GetName())
	}
}

// states returns a process's store of states.
func (sim *simulation) states(of int, clock func() time.Time) *state.Store {
	live := &kube{sim: sim, of: of}
	return state.New(live, live, sim.bucket, state.Options{
		Storage: v1alpha1.StateStorageBucket, Now: clock, Log: silent, Pause: func(context.Context, int) error {
			return nil
		},
	})
}

var atOnce = wait.Backoff{Steps: 5}

func (m *manager) clock() time.Time { return m.sim.now().Add(time.Duration(m.skew) * time.Second) }

// end kills its process at any point.
func (m *manager) end() {
	for i, t := range m.busy {
		m.sim.kill(t)
		m.busy[i] = nil
		m.queue[i] = nil
	}
	m.timers, m.alive, m.leads, m.frozen = nil, false, false, false
}

func (m *manager) add(controller int, name string) {
	if !slices.Contains(m.queue[controller], name) {
		m.queue[controller] = append(m.queue[controller], name)
	}
}

// receive handles a watch event, and enqueues objects as the operator's watches do.
func (m *manager) receive(k kind) {
	was := find(m.view.objects[k], m.view.api.log[k][m.view.at[k]].o.GetName())
	c := m.view.receive(k)
	if s, ok := c.o.(*v1alpha1.Stack); ok {
		before, _ := was.(*v1alpha1.Stack)
		m.noteHold(before, s)
	}
	if m.leads {
		m.enqueueOwner(was)
		m.enqueueFor(k, c)
	}
}

// enqueueOwner enqueues the Stack that owned a Run before a change of it: the operator's watch maps both versions.
func (m *manager) enqueueOwner(was client.Object) {
	if r, ok := was.(*v1alpha1.Run); ok {
		if owner := metav1.GetControllerOfNoCopy(r); owner != nil {
			m.add(ofStack, owner.Name)
		}
	}
}

func (m *manager) enqueueFor(k kind, c change) {
	o := c.o
	switch k {
	case stacks:
		s := o.(*v1alpha1.Stack)
		m.add(ofStack, s.Name)
		m.addDependents(s.Name)
		m.addWaiting(s.Name, map[string]bool{s.Name: true})
		for _, name := range s.Dependencies() {
			if other, ok := find(m.view.objects[stacks], name).(*v1alpha1.Stack); ok {
				if q, asked := runinfo.Requested(other, m.clock()); other.DeletionTimestamp != nil ||
					(asked && q.Operation == v1alpha1.OperationDestroy) {
					m.add(ofStack, name)
				}
			}
		}
		m.addRuns(s.Name)
	case runs:
		r := o.(*v1alpha1.Run)
		m.add(ofRun, r.Name)
		if owner := metav1.GetControllerOfNoCopy(r); owner != nil {
			m.add(ofStack, owner.Name)
		}
		if r.Status.Phase.Finished() || r.DeletionTimestamp != nil || c.gone {
			m.addRuns(r.Spec.Stack.Name)
		}
	case states:
		m.add(ofStack, o.GetName())
		m.add(ofState, o.GetName())
		m.addDependents(o.GetName())
	case pulls:
		for _, name := range snapshot.IndexHolds(o) {
			m.add(ofStack, strings.TrimPrefix(name, namespace+"/"))
		}
	case pods:
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			m.add(ofRun, owner.Name)
		}
	case configMaps, secrets:
		for _, s := range m.view.objects[stacks] {
			m.add(ofStack, s.GetName())
		}
		for _, r := range m.view.objects[runs] {
			if k == secrets && slices.Contains(index.Reasons(r), v1alpha1.ReasonInputsNotFound) {
				m.add(ofRun, r.GetName())
			}
		}
	}
}

func (m *manager) addDependents(name string) {
	for _, o := range m.view.objects[stacks] {
		if slices.Contains(snapshot.IndexDependencies(o), namespace+"/"+name) {
			m.add(ofStack, o.GetName())
		}
	}
}

// addWaiting enqueues the Stacks that depend on one by others, and wait.
func (m *manager) addWaiting(name string, seen map[string]bool) {
	for _, o := range m.view.objects[stacks] {
		if seen[o.GetName()] || !slices.Contains(snapshot.IndexDependencies(o), namespace+"/"+name) {
			continue
		}
		seen[o.GetName()] = true
		if len(seen) > 2 && decision.ReadyReason(o.(*v1alpha1.Stack).Status) == v1alpha1.ReasonDependencyNotReady {
			m.add(ofStack, o.GetName())
		}
		m.addWaiting(o.GetName(), seen)
	}
}

func (m *manager) addRuns(of string) {
	for _, o := range m.view.objects[runs] {
		if r := o.(*v1alpha1.Run); r.Spec.Stack.Name == of && !r.Status.Phase.Finished() {
			m.add(ofRun, r.Name)
		}
	}
}

// reconcile takes the next object of a controller's queue. Some reconciliations run without interruption, which is
// faster and equally valid.
func (m *manager) reconcile(controller int) {
	if controller == ofStack {
		m.started = m.sim.step
	}
	name := m.queue[controller][0]
	m.queue[controller] = m.queue[controller][1:]
	do := func() { m.do(controller, name) }
	if !m.sim.split() {
		m.sim.tracef("manager %d reconciles %s %s", m.id, controllerNames[controller], name)
		shield(do)
		return
	}
	m.sim.tracef("manager %d begins to reconcile %s %s", m.id, controllerNames[controller], name)
	m.busy[controller] = m.sim.begin(controllerNames[controller]+" "+name, do)
	m.resume(controller)
}

// resume continues a reconciliation.
func (m *manager) resume(controller int) {
	t := m.busy[controller]
	m.sim.resume(t)
	if t.over && m.busy[controller] == t {
		m.busy[controller] = nil
	}
}

func (m *manager) do(controller int, name string) {
	req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	var result ctrl.Result
	var err error
	switch controller {
	case ofStack:
		result, err = m.stack.Reconcile(context.Background(), req)
	case ofRun:
		result, err = m.run.Reconcile(context.Background(), req)
		for {
			select {
			case e := <-m.run.Scheduler.Wake():
				m.add(ofRun, e.Object.Name)
				continue
			default:
			}
			break
		}
	case ofState:
		result, err = m.state.Reconcile(context.Background(), req)
	}
	switch {
	case err != nil:
		m.sim.tracef("      failed: %v", err)
		m.later(controller, name, time.Second)
	case result.RequeueAfter > 0:
		m.later(controller, name, result.RequeueAfter)
	}
}

// later requeues an object; the earlier of two times applies.
func (m *manager) later(controller int, name string, after time.Duration) {
	at := m.sim.time + int64((after+time.Second-1)/time.Second)
	for i := range m.timers {
		if t := &m.timers[i]; t.controller == controller && t.name == name {
			t.at = min(t.at, at)
			return
		}
	}
	m.timers = append(m.timers, timer{at, controller, name})
}

// enqueueDue enqueues the objects whose requeue time has passed.
func (m *manager) enqueueDue() {
	if m.turns != nil && m.leads {
		for _, key := range m.turns.Reclaim() {
			m.add(ofRun, key.Name)
		}
	}
	m.timers = slices.DeleteFunc(m.timers, func(t timer) bool {
		if t.at > m.sim.time {
			return false
		}
		m.add(t.controller, t.name)
		return true
	})
}

// shared has what histories of one worker share: bytes by digest.
type shared struct {
	bytes   *memory
	inputs  *inputs.Store
	sources *source.Sources
	// idle are unused threads.
	idle []*thread
}

func newShared() *shared {
	bytes := newMemory()
	return &shared{bytes: bytes, inputs: inputs.NewStore(bytes), sources: source.NewSources(anyConfigMap{}, bytes)}
}
