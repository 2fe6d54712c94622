package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/state"
)

// view is the cache of a process: what its watches have delivered.
type view struct {
	api *api
	// lean drops what the operator's cache drops; that of a server drops all finished Runs.
	lean    bool
	at      [kinds]int
	objects [kinds][]client.Object
}

func (v *view) behind(k kind) int { return len(v.api.log[k]) - v.at[k] }

// keep returns an object as the cache stores it.
func (v *view) keep(o client.Object) client.Object {
	switch o := o.(type) {
	case *v1alpha1.Run:
		if v.lean && o.Status.Phase.Finished() {
			return v.api.lean(o)
		}
	case *corev1.Pod, *v1alpha1.State:
		if v.lean {
			return v.api.lean(o)
		}
	}
	return o
}

func (a *api) lean(o client.Object) client.Object {
	if n := a.leaned[o]; n != nil {
		return n
	}
	n := o.DeepCopyObject().(client.Object)
	switch n := n.(type) {
	case *v1alpha1.Run:
		run.TrimRun(n)
	case *corev1.Pod:
		run.TrimPod(n)
	case *v1alpha1.State:
		state.Lean(n)
	}
	a.leaned[o] = n
	return n
}

// leaves reports whether a watch reports an object as deleted: an operator's has neither Runs nor pods that succeeded,
// and a server's has no finished Runs.
func (v *view) leaves(o client.Object) bool {
	switch o := o.(type) {
	case *v1alpha1.Run:
		return o.Status.Phase == v1alpha1.PhaseSucceeded || (!v.lean && o.Status.Phase.Finished())
	case *corev1.Pod:
		return v.lean && o.Status.Phase == corev1.PodSucceeded
	}
	return false
}

// receive handles the next event. For an object that leaves the view it has the object before that.
func (v *view) receive(k kind) change {
	c := v.api.log[k][v.at[k]]
	v.at[k]++
	at := slices.IndexFunc(v.objects[k], func(x client.Object) bool { return x.GetName() == c.o.GetName() })
	if v.leaves(c.o) {
		c.gone = true
		if at >= 0 {
			c.o = v.objects[k][at]
		}
	}
	c.o = v.keep(c.o)
	switch {
	case at < 0 && c.gone:
	case at < 0:
		v.objects[k] = append(v.objects[k], c.o)
	case c.gone:
		v.objects[k] = slices.Delete(v.objects[k], at, at+1)
	default:
		v.objects[k][at] = c.o
	}
	return c
}

// relist restarts a watch: events in between are visible only by their result.
func (v *view) relist(k kind) {
	v.objects[k] = v.objects[k][:0:0]
	for _, o := range v.api.objects[k] {
		if !v.leaves(o) {
			v.objects[k] = append(v.objects[k], v.keep(o))
		}
	}
	v.at[k] = len(v.api.log[k])
}

// server is one that runners reach, with its own cache.
type server struct {
	view    *view
	cached  *kube
	runs    *dispatch.RunsByPod
	reports dispatch.Reports
	// states remembers what this process read and wrote.
	states *state.Store
}

func (sim *simulation) newServer() *server {
	s := &server{view: &view{api: &sim.api}, states: sim.states(-1, sim.now)}
	s.cached = &kube{sim: sim, view: s.view, of: -1}
	s.runs = dispatch.NewRunsByPod(s.cached, sim.direct)
	s.reports = dispatch.Reports{Client: s.cached, Live: sim.direct, Runs: s.runs, Clock: sim.now, Policies: noPolicies,
		Retry: atOnce}
	for k := range kinds {
		s.view.relist(k)
	}
	return s
}
