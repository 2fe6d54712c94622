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

// change sends a request to the server that changes something.
func (r *runner) change(what string, do func(*runner) error) error {
	return r.call(what, func() error {
		if r.w.fault("a request is late", 15) {
			r.delay(what, do)
			return errAway
		}
		return do(r)
	})
}

// delay delays a request. In some cases the runner ends before it receives a response.
func (r *runner) delay(what string, do func(*runner) error) {
	w, as := r.w, *r
	w.tracef("      %s: %s is on its way", r.pod, what)
	l := &late{of: r, what: what}
	l.task = w.begin(what, func() {
		l.task.began = w.step
		if err := do(&as); err != nil {
			w.tracef("      %s: %s: %v", as.pod, what, err)
		}
	})
	w.late = append(w.late, l)
	if w.chance(3) {
		w.tracef("!  memory runs out in pod %s", r.pod)
		w.dying = append(w.dying, r)
		w.pause()
	}
}

// ofRequests delivers a delayed request, more likely one of a runner that has ended.
func (w *world) ofRequests() {
	for i, l := range w.late {
		switch {
		case l.task.thread != nil:
			w.can(8, arrive, i, 0)
		case l.of.alive():
			w.can(1, arrive, i, 0)
		default:
			w.can(2, arrive, i, 0)
		}
	}
}

func arrive(w *world, i, _ int) {
	l := w.late[i]
	if l.task.thread == nil {
		w.tracef("%s of pod %s arrives late", l.what, l.of.pod)
	}
	w.resume(l.task)
	if l.task.over {
		w.late = slices.Delete(w.late, i, i+1)
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
	w := r.w
	if w.quiet || !w.chance(2) {
		return false
	}
	if w.chance(2) {
		now := w.read(w.stateOf(r.stack))
		now.serial++
		data := w.bytesOf(now)
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
func (w *world) stateOf(name string) []byte {
	st := w.api.state(name)
	if st == nil || w.contents[st.Status.SHA256] == nil {
		return nil
	}
	return w.bytesOf(w.contents[st.Status.SHA256])
}
