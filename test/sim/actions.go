package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/store"
)

// action is one thing that may happen next.
type action struct {
	weight int
	do     func(w *world, a, b int)
	a, b   int
}

// machine is where a pod runs, and the kubelet on it.
type machine struct {
	pod, run, stack string
	uid             types.UID
	runner          *runner
	killAt          int64
	code            int32
	// silent: nobody hears of it, and what ran on it is dead.
	silent bool
	told   bool
}

func (w *world) can(weight int, do func(*world, int, int), a, b int) {
	w.actions = append(w.actions, action{weight, do, a, b})
}

// enabled lists what can happen now. When nothing fails any more, the first is what happens.
func (w *world) enabled() []action {
	w.actions = w.actions[:0]
	for i, m := range w.managers {
		w.ofManager(i, m)
	}
	for k := range kinds {
		if w.serverView.behind(k) > 0 {
			w.can(8, hearServer, int(k), 0)
		}
	}
	for i, m := range w.machines {
		w.ofMachine(i, m)
	}
	if k, _ := w.api.garbage(); k >= 0 {
		w.can(3, collect, 0, 0)
	}
	if !w.quiet {
		w.can(2, passTime, 0, 0)
		w.ofPeople()
		w.ofFaults()
	}
	return w.actions
}

func (w *world) ofManager(i int, m *manager) {
	if !m.alive {
		w.can(3, startManager, i, 0)
		return
	}
	if m.frozen {
		w.can(1, thawManager, i, 0)
		return
	}
	for k := range kinds {
		if m.view.behind(k) > 0 {
			w.can(6, hearManager, i, int(k))
		}
	}
	holder := w.lease >= 0 && w.managers[w.lease].alive && !w.managers[w.lease].frozen
	if m.leads && w.lease != i {
		w.can(2, stepDown, i, 0)
	}
	if !m.leads && !holder {
		w.can(3, elect, i, 0)
	}
	if !m.leads {
		return
	}
	for c := range controllers {
		switch {
		case m.busy[c] != nil:
			w.can(8, goOn, i, c)
		case len(m.queue[c]) > 0:
			w.can(8, reconcile, i, c)
		}
	}
}

func (w *world) all() bool { return w.script == nil && (w.quiet || w.chance(2)) }

// A watch brings one event, or all there are.
func hearServer(w *world, k, _ int) {
	for all := w.all(); w.serverView.behind(kind(k)) > 0; {
		if w.serverView.hear(kind(k)); !all {
			return
		}
	}
}

func hearManager(w *world, i, k int) {
	m := w.managers[i]
	for all := w.all(); m.view.behind(kind(k)) > 0; {
		if m.hear(kind(k)); !all {
			return
		}
	}
}

func reconcile(w *world, i, c int) { w.stats.Reconciles++; w.managers[i].reconcile(c) }
func goOn(w *world, i, c int) {
	w.tracef("manager %d goes on with %s", i, w.managers[i].busy[c].name)
	w.managers[i].resume(c)
}

func startManager(w *world, i, _ int) {
	w.tracef("manager %d starts", i)
	w.managers[i].start()
}

func thawManager(w *world, i, _ int) {
	w.tracef("manager %d goes on after it was frozen", i)
	w.managers[i].frozen = false
	w.managers[i].ring()
}

func stepDown(w *world, i, _ int) {
	w.tracef("manager %d finds that it leads no more, and ends", i)
	w.managers[i].end()
}

func elect(w *world, i, _ int) {
	w.tracef("manager %d leads", i)
	w.lease = i
	w.managers[i].lead()
}

func collect(w *world, _, _ int) {
	k, name := w.api.garbage()
	w.tracef("garbage: %s %s", kindNames[k], name)
	_ = w.api.remove(k, name, nil, nil, false)
}

// passTime goes to where somebody looks again, or a little on, but not past what a runner that is left is given.
func passTime(w *world, _, _ int) {
	to := w.time + int64(1+w.rand(20))
	if next := w.nextTime(); next > w.time && w.chance(2) && (next < w.time+90 || w.chance(6)) {
		to = next
	}
	for _, m := range w.machines {
		if r := m.runner; r != nil && r.alive() && r.detached && !r.frozen && !w.skewed {
			to = min(to, r.by)
		}
	}
	if to > w.time {
		w.time = to
		w.ring()
	}
}

// nextTime is when the next one wants to look; -1 for never.
func (w *world) nextTime() int64 {
	next := int64(-1)
	at := func(t int64) {
		if t > w.time && (next < 0 || t < next) {
			next = t
		}
	}
	for _, m := range w.managers {
		if m.alive && m.leads {
			for _, t := range m.timers {
				at(t.at)
			}
		}
	}
	for _, m := range w.machines {
		if r := m.runner; r != nil && r.alive() {
			if r.waits {
				at(r.wakeAt)
			}
			if r.told {
				at(m.killAt)
			}
		}
	}
	return next
}

func (w *world) ofMachine(i int, m *machine) {
	if m.silent {
		if w.quiet {
			w.can(1, nodeIsOff, i, 0)
		}
		return
	}
	pod := w.api.pod(m.pod)
	if pod != nil && pod.UID != m.uid {
		pod = nil
	}
	r := m.runner
	switch {
	case r == nil && pod != nil && pod.DeletionTimestamp == nil:
		w.can(5, startPod, i, 0)
	case r == nil && pod != nil:
		w.can(5, removePod, i, 0)
	case r == nil:
	case !r.alive():
		if pod != nil && !m.told {
			w.can(5, tellEnd, i, 0)
		} else if pod != nil && pod.DeletionTimestamp != nil {
			w.can(5, removePod, i, 0)
		}
	case !r.told && (pod == nil || pod.DeletionTimestamp != nil):
		w.can(5, terminate, i, 0)
	case r.told && w.time >= m.killAt:
		w.can(8, killPod, i, 0)
	}
	if r == nil || !r.alive() {
		return
	}
	switch {
	case r.frozen:
		w.can(1, thawRunner, i, 0)
	case r.waits && !r.told && w.time < r.wakeAt && r.heard == w.serverView.at[runs]:
	default:
		w.can(8, goOnRunner, i, 0)
	}
}

func startPod(w *world, i, _ int) {
	m := w.machines[i]
	w.tracef("pod %s starts", m.pod)
	n := clone(w.api.pod(m.pod))
	n.Status.Phase = corev1.PodRunning
	n.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: run.ShellContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	r := &runner{w: w, pod: m.pod, uid: m.uid, run: m.run, stack: m.stack, started: w.time, begun: map[string]bool{}}
	m.runner = r
	r.task = w.begin(m.pod, r.work)
	w.api.put(pods, n)
}

func goOnRunner(w *world, i, _ int) {
	if w.script != nil && w.script.kills() {
		killPod(w, i, 0)
		return
	}
	w.resume(w.machines[i].runner.task)
}

func terminate(w *world, i, _ int) {
	m := w.machines[i]
	w.tracef("pod %s is told to end", m.pod)
	m.runner.told, m.killAt = true, w.time+int64(podGrace/time.Second)
}

// killPod kills what runs in a pod.
func killPod(w *world, i, _ int) {
	m := w.machines[i]
	w.tracef("pod %s is killed", m.pod)
	m.code = 137
	w.killRunner(m.runner)
}

func (w *world) killRunner(r *runner) {
	if r == nil || !r.alive() {
		return
	}
	for _, e := range r.pending {
		w.excuse(e.ID, "killed before it told")
	}
	w.kill(r.task)
	r.mind, r.applying, w.dirty = nil, false, true
}

func (w *world) excuse(id, why string) {
	if t := w.thing(id); t != nil && t.excused == "" {
		w.tracef("   excused: %s, %s", id, why)
		t.excused = why
	}
}

func tellEnd(w *world, i, _ int) {
	m := w.machines[i]
	code := m.code
	if m.runner.stranded {
		code = store.ExitStranded
	}
	w.tracef("pod %s has ended with %d", m.pod, code)
	m.told = true
	n := clone(w.api.pod(m.pod))
	n.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		n.Status.Phase = corev1.PodFailed
	}
	n.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: run.ShellContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
	w.api.put(pods, n)
}

func removePod(w *world, i, _ int) {
	w.tracef("pod %s goes", w.machines[i].pod)
	w.api.drop(pods, w.machines[i].pod)
}

func thawRunner(w *world, i, _ int) {
	w.tracef("pod %s goes on after it was frozen", w.machines[i].pod)
	w.machines[i].runner.frozen = false
}

// nodeIsOff: a person finds that a machine is off, and says so.
func nodeIsOff(w *world, i, _ int) {
	m := w.machines[i]
	m.silent = false
	if pod := w.api.pod(m.pod); pod != nil && pod.UID == m.uid {
		w.tracef("the node of pod %s is deleted", m.pod)
		w.api.drop(pods, m.pod)
	}
}

// ---- people

func (w *world) ofPeople() {
	for i, o := range w.api.objects[runs] {
		if r := o.(*v1alpha1.Run); r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil && r.Spec.Approval == nil || staleApproval(r) {
			w.can(2, approve, i, 0)
		}
	}
	if w.wishes > 0 {
		w.can(2, wish, 0, 0)
	}
}

func staleApproval(r *v1alpha1.Run) bool {
	return r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Spec.Approval != nil && r.Status.Plan != nil && r.Spec.Approval.PlanDigest != r.Status.Plan.Digest
}

// edit changes the spec of an object, as a person does.
func edit[T interface {
	*v1alpha1.Stack | *v1alpha1.Run
	metav1.Object
}](w *world, o T, change func(T)) {
	switch o := any(o).(type) {
	case *v1alpha1.Stack:
		n := clone(o)
		change(any(n).(T))
		n.Generation++
		w.api.put(stacks, n)
	case *v1alpha1.Run:
		n := clone(o)
		change(any(n).(T))
		n.Generation++
		w.api.put(runs, n)
	}
}

func approve(w *world, i, _ int) {
	r := w.api.objects[runs][i].(*v1alpha1.Run)
	w.tracef("alice approves %s of Run %s", short(r.Status.Plan.Digest), r.Name)
	edit(w, r, func(r *v1alpha1.Run) {
		r.Spec.Approval = &v1alpha1.Approval{PlanDigest: r.Status.Plan.Digest, By: "alice"}
	})
}

func pick(w *world, k kind) int {
	if n := len(w.api.objects[k]); n > 0 {
		return w.rand(n)
	}
	return -1
}

// wish is something that a person does.
func wish(w *world, _, _ int) {
	w.wishes--
	what := w.rand(24)
	if what < 17 {
		if i := pick(w, stacks); i >= 0 {
			w.wishOfStack(w.api.objects[stacks][i].(*v1alpha1.Stack), what)
			return
		}
	}
	switch what {
	case 17, 18:
		if i := pick(w, runs); i >= 0 {
			r := w.api.objects[runs][i].(*v1alpha1.Run)
			if !r.Status.Phase.Finished() {
				w.tracef("bob cancels Run %s", r.Name)
				edit(w, r, func(r *v1alpha1.Run) { r.Spec.Cancel, r.Spec.CanceledBy = true, "bob" })
			}
		}
	case 19:
		if i := pick(w, runs); i >= 0 {
			r := w.api.objects[runs][i].(*v1alpha1.Run)
			if r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil {
				w.tracef("bob rejects Run %s", r.Name)
				edit(w, r, func(r *v1alpha1.Run) {
					r.Spec.Rejection = &v1alpha1.Rejection{PlanDigest: r.Status.Plan.Digest, By: "bob"}
				})
			}
		}
	case 20:
		if i := pick(w, runs); i >= 0 {
			w.tracef("bob deletes Run %s", w.api.objects[runs][i].GetName())
			_ = w.api.remove(runs, w.api.objects[runs][i].GetName(), nil, nil, false)
		}
	case 21:
		if i := pick(w, states); i >= 0 {
			w.tracef("bob deletes State %s", w.api.objects[states][i].GetName())
			_ = w.api.remove(states, w.api.objects[states][i].GetName(), nil, nil, false)
		}
	case 22:
		if i := pick(w, pods); i >= 0 {
			w.tracef("bob deletes pod %s", w.api.objects[pods][i].GetName())
			_ = w.api.remove(pods, w.api.objects[pods][i].GetName(), nil, nil, false)
		}
	default:
		w.declare(w.rand(2))
	}
}

func (w *world) wishOfStack(s *v1alpha1.Stack, what int) {
	switch what {
	case 0, 1, 2, 3, 4:
		value := w.rand(6)
		w.tracef("alice sets the variable of Stack %s to %d", s.Name, value)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Variables = variables(value) })
	case 5, 6:
		w.tracef("bob deletes Stack %s", s.Name)
		_ = w.api.remove(stacks, s.Name, nil, nil, false)
	case 7:
		w.tracef("bob sets suspend of Stack %s to %v", s.Name, !s.Spec.Suspend)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Suspend = !s.Spec.Suspend })
	case 8, 9:
		mode := []v1alpha1.ApplyPolicy{v1alpha1.ApplyAutomatic, v1alpha1.ApplyManual, v1alpha1.ApplyNever}[w.rand(3)]
		w.tracef("bob sets apply of Stack %s to %s", s.Name, mode)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Apply = mode })
	case 10:
		deletion := []v1alpha1.DeletionPolicy{v1alpha1.DeletionDestroy, v1alpha1.DeletionOrphan, v1alpha1.DeletionProtect}[w.rand(3)]
		w.tracef("bob sets deletion of Stack %s to %s", s.Name, deletion)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Deletion = deletion })
	case 11, 12:
		w.toggleCode()
	default:
		operation := []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationPlan, v1alpha1.OperationDestroy}[w.rand(3)]
		w.tracef("alice asks for %s of Stack %s", operation, s.Name)
		n := clone(s)
		n.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: fmt.Sprint("r", w.serial()), v1alpha1.RequestedOperationAnnotation: string(operation),
			v1alpha1.RequestedByAnnotation: "alice",
		}
		w.api.put(stacks, n)
	}
}

func (w *world) toggleCode() {
	if w.api.get(configMaps, "code") != nil {
		w.tracef("bob deletes the code")
		w.api.drop(configMaps, "code")
		return
	}
	w.putCode()
}

func (w *world) putCode() {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "code", UID: "code"}}
	w.api.put(configMaps, o)
	o.ResourceVersion = "1" // its content is always the same
}

func variables(value int) []v1alpha1.Variable {
	raw, _ := json.Marshal(value)
	return []v1alpha1.Variable{{Name: "v", Value: &apiextensionsv1.JSON{Raw: raw}}}
}

func of[T any](v T) *T { return &v }

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// declare makes a Stack, if there is none of that name.
func (w *world) declare(n int) {
	name := []string{"net", "app"}[n]
	if w.api.stack(name) != nil {
		return
	}
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}, Engine: v1alpha1.Engine{Name: v1alpha1.EngineOpenTofu},
			Variables: variables(w.rand(6)), Apply: v1alpha1.ApplyAutomatic, Deletion: v1alpha1.DeletionDestroy,
			Retry:   v1alpha1.Retry{Limit: of(int32(w.rand(4))), Backoff: seconds(15), MaxBackoff: seconds(600)},
			Timeout: seconds(3600), History: of(int32(1 + w.rand(4))), Runner: v1alpha1.Runner{Linger: seconds(30)},
		},
	}
	if w.chance(3) {
		s.Spec.Apply = v1alpha1.ApplyManual
	}
	if n == 1 && w.chance(3) {
		s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "net"}}
	}
	w.tracef("alice makes Stack %s, %s", name, s.Spec.Apply)
	_ = w.api.create(s)
}

// settle is how a history begins.
func (w *world) settle() {
	w.putCode()
	w.places = w.rand(3)
	w.budget, w.wishes = w.rand(6), w.rand(7)
	if w.Limit >= 0 {
		w.budget = min(w.budget, w.Limit)
	}
	w.declare(0)
	if w.chance(2) {
		w.declare(1)
	}
	w.managers = []*manager{w.newManager(0), w.newManager(1)}
	for k := range kinds {
		w.serverView.relist(k)
	}
}

// ---- faults

func (w *world) ofFaults() {
	if w.budget <= 0 {
		return
	}
	w.can(1, spoil, 0, 0)
}

// spoil lets something go wrong.
func spoil(w *world, _, _ int) {
	w.budget--
	w.stats.Faults++
	switch w.rand(12) {
	case 0:
		if i := w.rand(2); w.managers[i].alive {
			w.tracef("!  manager %d ends", i)
			w.doomed = append(w.doomed, i)
		}
	case 1, 2:
		if i := w.rand(2); w.managers[i].alive {
			w.tracef("!  manager %d is frozen", i)
			w.managers[i].frozen = true
		}
	case 3:
		i, k := w.rand(2), kind(w.rand(int(kinds)))
		w.tracef("!  the watch of manager %d on %ss breaks", i, kindNames[k])
		w.managers[i].relist(k)
	case 4:
		m := w.managers[w.rand(2)]
		m.skew += int64(w.rand(4000) - 2000)
		w.skewed = true
		w.tracef("!  the clock of manager %d is off by %ds", m.id, m.skew)
	case 5:
		if len(w.machines) > 0 {
			w.tracef("!  memory runs out")
			if i := w.rand(len(w.machines)); w.machines[i].runner != nil && w.machines[i].runner.alive() {
				killPod(w, i, 0)
			}
		}
	case 6, 7:
		if m := w.aliveMachine(); m != nil {
			w.tracef("!  pod %s is frozen", m.pod)
			m.runner.frozen = true
		}
	case 8:
		if m := w.aliveMachine(); m != nil {
			w.tracef("!  the node of pod %s is gone", m.pod)
			m.silent = true
			w.killRunner(m.runner)
		}
	case 9:
		w.byForce()
	case 10:
		for i := range w.machines {
			if w.machines[i].silent {
				nodeIsOff(w, i, 0)
				return
			}
		}
	case 11:
		if i := pick(w, pods); i >= 0 {
			w.tracef("!  pod %s is evicted", w.api.objects[pods][i].GetName())
			_ = w.api.remove(pods, w.api.objects[pods][i].GetName(), nil, nil, false)
		}
	}
}

func (m *manager) relist(k kind) {
	if !m.alive {
		return
	}
	before := slices.Clone(m.view.objects[k])
	m.view.relist(k)
	if !m.leads {
		return
	}
	for _, o := range m.view.objects[k] {
		if was := find(before, o.GetName()); was == nil || was.GetResourceVersion() != o.GetResourceVersion() {
			m.tell(k, change{o: o})
		}
	}
	for _, o := range before {
		if find(m.view.objects[k], o.GetName()) == nil {
			m.tell(k, change{o, true})
		}
	}
}

func (w *world) aliveMachine() *machine {
	var all []*machine
	for _, m := range w.machines {
		if m.runner != nil && m.runner.alive() && !m.silent {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rand(len(all))]
}

// byForce deletes a pod by force: its object goes, and what runs in it is told to end.
func (w *world) byForce() {
	i := pick(w, pods)
	if i < 0 {
		return
	}
	name, uid := w.api.objects[pods][i].GetName(), w.api.objects[pods][i].GetUID()
	w.tracef("!  pod %s is deleted by force", name)
	_ = w.api.remove(pods, name, nil, nil, true)
	for _, m := range w.machines {
		if r := m.runner; m.uid == uid && r != nil && r.alive() {
			r.detached, r.by = true, w.time+100
			if r.frozen || w.skewed {
				w.beyond(r)
			}
		}
	}
}

// calm ends all faults: what is frozen goes on, what is down starts, and clocks are right.
func (w *world) calm() {
	w.tracef("---- nothing fails any more")
	w.quiet = true
	if w.api.get(configMaps, "code") == nil {
		w.putCode()
	}
	for _, m := range w.managers {
		m.frozen = false
		if m.skew != 0 && m.leads { // what it decided by that clock it decides anew only when it looks
			m.skew = 0
			m.lookAtAll()
		}
		m.ring()
	}
	for _, m := range w.machines {
		if m.runner != nil {
			m.runner.frozen = false
		}
	}
}
