package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// runners has the process of a runner killed, told to end, frozen, or lost, at each request that it makes: so at each step of a Run.
var runners = suite{name: "runners", lane: laneOptions{store: behindDoor}, points: runnerPoints}

// A request is one that a runner makes in each telling of a story, after whatever comes before it here.
type request struct {
	what    string
	ordinal int
}

// requests are those of a pod that plans and applies. runnerAsks makes sure that there is no other. In how many reports and pieces of the log
// what goes on is told is up to the machine, so of these there are the first ones.
var requests = []request{
	{"GET order", 1}, {"POST steps (fetch running)", 1}, {"GET journal", 1}, {"GET inputs", 1}, {"GET sources", 1}, {"POST logs", 1},
	{"POST steps (init running)", 1}, {"GET state", 1}, {"GET providers", 1}, {"GET providers", 3},
	{"POST steps (plan running)", 1}, {"GET state", 2}, {"POST logs", 3}, {"PUT plan", 1}, {"PUT plan/json", 1}, {"PUT plan/text", 1},
	{"POST steps (policy running)", 1}, {"POST policy", 1}, {"POST steps (done)", 1},
	{"GET order", 2}, {"PUT inputs", 1}, {"POST steps (apply running)", 1}, {"LOCK state", 1}, {"GET state", 3}, {"POST journal", 1},
	{"POST state", 1}, {"POST logs", 6}, {"UNLOCK state", 1}, {"POST steps (outputs running)", 1}, {"POST outputs", 1}, {"POST steps (done)", 2}, {"GET order", 3},
}

// notTried are requests that runners make and that no point is at.
var notTried = map[string]string{
	"GET interrupt": "it is held open beside all others, and is answered when somebody cancels",
}

// pods are those that plan and apply in a story when nothing fails, one for each step of it.
var pods = []string{"net-1-plan-1", "net-2-plan-1", "net-3-plan-1"}

// visitsAt are all points: each request of each pod that makes it.
func visitsAt(of func(request) bool) (all []visit) {
	for i, pod := range pods {
		for _, r := range requests {
			if only := map[string]int{"GET inputs": 2}; of(r) && (only[r.what] == 0 || only[r.what] == i) {
				if i == 2 && strings.Contains(r.what, "outputs") {
					continue // a destroy has none
				}
				all = append(all, visit{Pod: pod, What: r.what, Ordinal: r.ordinal})
			}
		}
	}
	return all
}

// firsts are the first requests of a pod for each of these.
func firsts(pod string, what ...string) (all []visit) {
	for _, w := range what {
		all = append(all, visit{Pod: pod, What: w, Ordinal: 1})
	}
	return all
}

// A blow is what is done to a runner.
type blow struct {
	name string
	// deadly says that nothing is said of what the engine has just done.
	deadly bool
	// long says that a Run may wait for two minutes afterwards: of a pod that is gone nobody knows whether its runner is (docs/failures.md).
	long bool
	do   func(ctx context.Context, l *lane, d *door, v *visit) error
}

var blows = []blow{
	{"SIGKILL before", true, false, func(ctx context.Context, l *lane, d *door, v *visit) error {
		v.cut = true
		return l.killRunner(ctx, d, v.Pod)
	}},
	{"SIGKILL after", true, false, func(ctx context.Context, l *lane, d *door, v *visit) error {
		err := v.forward()
		v.cut = true
		return errors.Join(err, l.killRunner(ctx, d, v.Pod))
	}},
	{"SIGTERM", false, false, func(_ context.Context, _ *lane, d *door, v *visit) error {
		pid, err := d.runnerOf(v.Pod)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGTERM)
		}
		v.pass()
		return err
	}},
	{"SIGSTOP, SIGCONT", false, false, func(ctx context.Context, l *lane, d *door, v *visit) error {
		pid, err := d.runnerOf(v.Pod)
		if err == nil {
			err = signalAll(pid, syscall.SIGSTOP)
		}
		if err == nil {
			err = until(ctx, patience, func(context.Context) error { return l.rested(held) })
			err = errors.Join(err, signalAll(pid, syscall.SIGCONT))
		}
		v.pass()
		return err
	}},
	{"SIGSTOP, given up, late request", true, true, func(ctx context.Context, l *lane, d *door, v *visit) error {
		pid, err := d.runnerOf(v.Pod)
		if err == nil {
			err = signalAll(pid, syscall.SIGSTOP)
		}
		if err == nil {
			err = l.giveUp(ctx, v.Pod, pid)
		}
		_ = v.forward() // it is refused or taken, and either must be right
		v.cut = true
		return err
	}},
}

// killRunner kills a runner with all that it started.
func (l *lane) killRunner(ctx context.Context, d *door, pod string) error {
	pid, err := d.runnerOf(pod)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return l.ended(ctx, pid)
}

// ended waits until nothing of a session runs any more.
func (l *lane) ended(ctx context.Context, leader int) error {
	return until(ctx, patience, func(context.Context) error {
		if !sessionGone(leader) {
			return errors.New("it runs still")
		}
		return nil
	})
}

// giveUp is what a person does of whose pod nothing is heard: it is deleted, with a second to end in, which it does not hear of. The node kills it then.
func (l *lane) giveUp(ctx context.Context, pod string, leader int) error {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: pod}}
	if err := l.Delete(ctx, o, client.GracePeriodSeconds(1)); client.IgnoreNotFound(err) != nil {
		return err
	}
	return l.ended(ctx, leader)
}

func runnerPoints(b baseline) []point {
	all := []point{{name: "all that runners ask for", fault: "none: nothing is asked for that is not in the table", try: func(ctx context.Context, l *lane) (bool, error) {
		return true, l.runnerAsks(ctx, b)
	}}}
	n := 0
	for _, v := range visitsAt(func(request) bool { return true }) {
		for i, f := range blows {
			// The first pod is tried with all, the others each request with one, in turn.
			if v.Pod != pods[0] && (n+i)%len(blows) != 0 {
				continue
			}
			if v.What == "POST journal" && f.name == "SIGKILL before" {
				continue // what is in it is known to nobody then: nobody can promise anything of it (docs/state.md)
			}
			all = append(all, point{name: v.String() + ": " + f.name, fault: f.name, try: func(ctx context.Context, l *lane) (bool, error) {
				return l.struck(ctx, b, stories[0], v.String(), f)
			}})
		}
		n++
	}
	for _, s := range stories[1:] {
		for i, v := range s.visits {
			// Two of them each, in turn.
			for _, f := range []blow{blows[i%len(blows)], blows[(i+2)%len(blows)]} {
				all = append(all, point{name: s.name + ", " + v.String() + ": " + f.name, fault: f.name, try: func(ctx context.Context, l *lane) (bool, error) {
					return l.struck(ctx, b, s, v.String(), f)
				}})
			}
		}
	}
	return append(all, cloudPoints(b)...)
}

// runnerAsks makes sure that the points are at all that runners ask for.
func (l *lane) runnerAsks(ctx context.Context, b baseline) error {
	d, err := l.guarded(ctx)
	if err != nil {
		return err
	}
	d.begin(nil)
	if err := l.alike(ctx, b, stories[0], hooks{}); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range requests {
		known[r.what] = true
	}
	for _, name := range d.seen() {
		_, rest, _ := strings.Cut(name, " ")
		asked, _, _ := strings.Cut(rest, " #")
		if !known[asked] && notTried[asked] == "" && !strings.HasPrefix(asked, "POST steps") {
			err = errors.Join(err, fmt.Errorf("%s: add it to requests, or to notTried with a reason", name))
		}
	}
	return err
}

// guarded gives the door of a lane, in which plans are checked against a policy as well, so that there is that step.
func (l *lane) guarded(ctx context.Context) (*door, error) {
	policy := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.own, Name: "required", Labels: map[string]string{"cairn.dev/policy": "required"}},
		Data:       map[string]string{"none.rego": "package main\n\nwarn contains \"never\" if input.never"},
	}
	if err := client.IgnoreAlreadyExists(l.Create(ctx, policy)); err != nil {
		return nil, err
	}
	return l.door(ctx)
}

// struck tells a story in which a blow is dealt to a runner at one of its requests.
func (l *lane) struck(ctx context.Context, b baseline, s story, name string, f blow) (bool, error) {
	d, err := l.guarded(ctx)
	if err != nil {
		return false, err
	}
	var (
		reached atomic.Bool
		wrong   atomic.Pointer[error]
		unknown atomic.Pointer[[]string]
	)
	d.begin(func(v *visit) {
		if v.String() != name || reached.Swap(true) {
			v.pass()
			return
		}
		if err := f.do(ctx, l, d, v); err != nil {
			wrong.Store(&err)
		}
		if f.deadly {
			made := l.unknown(d)
			unknown.Store(&made)
		}
	})
	err = l.alike(ctx, b, s, l.waiting(s, f.long))
	if p := wrong.Load(); p != nil && errors.Is(*p, errNoProcess) {
		return false, err // it had ended by itself, as when its last request was the one
	} else if p != nil {
		err = errors.Join(err, *p)
	}
	if p := unknown.Load(); err != nil && p != nil {
		return l.excused(ctx, s, *p, err)
	}
	return reached.Load(), err
}

// waiting has each step take its time, if it may.
func (l *lane) waiting(s story, long bool) hooks {
	if !long {
		return hooks{}
	}
	return hooks{step: func(ctx context.Context, step string) (err error) {
		for range 3 { // of the time that a step may take otherwise
			if err = l.arrive(ctx, s, step); err == nil {
				return nil
			}
		}
		return err
	}}
}

// unknown are the names of the things in the cloud of which the server was told nothing.
func (l *lane) unknown(d *door) (names []string) {
	for _, t := range l.cloud.Load().Things() {
		if !d.knows(t.ID) {
			names = append(names, t.Name)
		}
	}
	return names
}

// excused says whether nothing else went wrong than that things were made once more that nobody was told of when their maker was killed. Nobody
// can know of them then, so the point has not been tried. The Stack goes, so that the lane can be used again.
func (l *lane) excused(ctx context.Context, s story, unknown []string, wrong error) (bool, error) {
	twice := l.cloud.Load().Twice()
	if len(twice) == 0 || slices.ContainsFunc(twice, func(name string) bool { return !slices.Contains(unknown, name) }) {
		return true, wrong
	}
	if err := l.take(ctx, s, "deleted"); err != nil {
		return true, errors.Join(wrong, err)
	}
	return false, until(ctx, patience, func(ctx context.Context) error {
		left, err := l.left(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%q is left", left)
		}
		return err
	})
}

// alike tells a story and wants it to end as it does without a fault. How often a thing was changed on the way does not count: what is
// taken in from a journal lacks what a provider's import does not bring back. Nor does a lock that nobody holds any more: it is taken away when
// somebody asks for it. Nor what but leaves out.
func (l *lane) alike(ctx context.Context, b baseline, s story, h hooks, but ...func([]ending) []ending) error {
	ended := h.ended
	h.ended = func(ctx context.Context, step string) error {
		if ended != nil {
			if err := ended(ctx, step); err != nil {
				return err
			}
		}
		return l.unlocked(ctx)
	}
	t, err := l.tell(ctx, s, h)
	if err != nil {
		return err
	}
	want := b[s.name]
	for _, f := range append(but, unchanged) {
		want.Endings, t.Endings = f(want.Endings), f(t.Endings)
	}
	return baseline{s.name: want}.same(s, t)
}

// unlocked makes sure that no pod that may be at work holds the lock.
func (l *lane) unlocked(ctx context.Context) error {
	return until(ctx, patience, func(ctx context.Context) error {
		state, pods := &v1alpha1.State{}, &corev1.PodList{}
		if err := l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: "net"}, state); err != nil || state.Status.Lock == nil {
			return client.IgnoreNotFound(err)
		}
		if err := l.List(ctx, pods, client.InNamespace(l.space)); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if string(pod.UID) == string(state.Status.Lock.PodUID) && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
				return fmt.Errorf("I1: all is at rest, and pod %s has the lock", pod.Name)
			}
		}
		return nil
	})
}

func unchanged(all []ending) []ending {
	all = slices.Clone(all)
	for i := range all {
		all[i].Lock, all[i].Cloud = "", slices.Clone(all[i].Cloud)
		for j, text := range all[i].Cloud {
			all[i].Cloud[j], _, _ = strings.Cut(text, ", changed")
		}
	}
	return all
}
