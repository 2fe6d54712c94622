package sim

import (
	"slices"

	"cairn.dev/cairn/internal/state/decision"
)

// late is a delayed request of a runner, with its original content. The runner may have retried it since, or may
// have ended.
type late struct {
	of   *runner
	what string
	task *task
}

// change sends a request that writes to the server.
func (r *runner) change(what string, do func(*runner) error) error {
	return r.call(what, func() error {
		if r.sim.fault("a request is late", 15) {
			r.delay(what, do)
			return errAway
		}
		return do(r)
	})
}

// delay delays a request. In some cases the runner ends before it receives a response.
func (r *runner) delay(what string, do func(*runner) error) {
	sim, as := r.sim, *r
	sim.tracef("      %s: %s is on its way", r.pod, what)
	l := &late{of: r, what: what}
	l.task = sim.begin(what, func() {
		l.task.began = sim.step
		if err := do(&as); err != nil {
			sim.tracef("      %s: %s: %v", as.pod, what, err)
		}
	})
	sim.late = append(sim.late, l)
	if sim.chance(3) {
		sim.tracef("!  memory runs out in pod %s", r.pod)
		sim.dying = append(sim.dying, r)
		sim.pause()
	}
}

// ofRequests delivers a delayed request, more likely one of a runner that has ended.
func (sim *simulation) ofRequests() {
	for i, l := range sim.late {
		switch {
		case l.task.thread != nil:
			sim.can(8, arrive, i, 0)
		case l.of.alive():
			sim.can(1, arrive, i, 0)
		default:
			sim.can(2, arrive, i, 0)
		}
	}
}

func arrive(sim *simulation, i, _ int) {
	l := sim.late[i]
	if l.task.thread == nil {
		sim.tracef("%s of pod %s arrives late", l.what, l.of.pod)
	}
	sim.resume(l.task)
	if l.task.over {
		sim.late = slices.Delete(sim.late, i, i+1)
	}
}

func (r *runner) lock() error {
	return r.change("lock", func(r *runner) error {
		if _, err := r.caller(r.current); err != nil {
			return err
		}
		base, err := r.server.states.Lock(ctx, r.key(), r.holder(), decision.LockRequest{ID: r.lockID, Who: r.pod})
		r.base = base
		return err
	})
}

// forces reports whether a hook releases the lock by an ID that it read, or writes under it.
func (r *runner) forces(id string) bool {
	sim := r.sim
	if sim.quiet || !sim.chance(2) {
		return false
	}
	if sim.chance(2) {
		now := sim.read(sim.stateOf(r.stack))
		now.serial++
		data := sim.bytesOf(now)
		_ = r.call("write", func() error {
			if _, err := r.caller(r.current); err != nil {
				return err
			}
			return r.server.states.Write(ctx, r.key(), r.holder(), id, data)
		})
		return false
	}
	return r.call("unlock", func() error {
		if _, err := r.caller(r.named); err != nil {
			return err
		}
		return r.server.states.Unlock(ctx, r.key(), r.holder(), id)
	}) == nil
}

// stateOf returns the current state of a Stack.
func (sim *simulation) stateOf(name string) []byte {
	st := sim.api.state(name)
	if st == nil || sim.contents[st.Status.SHA256] == nil {
		return nil
	}
	return sim.bytesOf(sim.contents[st.Status.SHA256])
}
