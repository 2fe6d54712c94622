package sim

import (
	"encoding/json"
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
)

// send sends the pending entries of the journal.
func (r *runner) send() error {
	if len(r.pending) == 0 {
		return nil
	}
	data, _ := json.Marshal(runnerapi.JournalEntries{Entries: r.pending})
	err := r.change("journal", func(r *runner) error {
		found, err := r.caller(r.named)
		if err == nil && found == nil {
			err = forbidden("the Run is gone")
		}
		if err != nil {
			return err
		}
		return r.appendJournal(found, data)
	})
	if err == nil {
		r.pending = nil
		r.batch++
		r.sim.dirty = true
	}
	return err
}

func (r *runner) flush() { _ = r.send() }

// write writes the engine's current state.
func (r *runner) write(now *content) error {
	if now.lineage == "" {
		now.lineage = fmt.Sprintf("lin-%d", r.sim.serial())
	}
	now.serial++
	data := r.sim.bytesOf(now)
	err := r.change("write", func(r *runner) error {
		if _, err := r.caller(r.current); err != nil {
			return err
		}
		return r.server.states.Write(ctx, r.key(), r.holder(), r.lockID, data)
	})
	r.sim.dirty = true
	if err == nil {
		r.base = inputs.Digest(data)
	}
	return err
}

// save writes the last state, if anything changed.
func (r *runner) save(now *content, was []byte) error {
	before := r.sim.read(was)
	same := len(before.items) == len(now.items) && now.serial == before.serial
	for i := range before.items {
		same = same && before.items[i] == now.items[i]
	}
	if same {
		r.mind = nil
		return nil
	}
	err := r.write(now)
	if err == nil {
		r.mind = nil
	}
	return err
}

func (r *runner) unlock() error {
	return r.change("unlock", func(r *runner) error {
		if _, err := r.caller(r.named); err != nil {
			return err
		}
		return r.server.states.Unlock(ctx, r.key(), r.holder(), r.lockID)
	})
}

// rescue submits a state that could not be written; what the server rejects is only in the pod's log. A forked one is
// retained.
func (r *runner) rescue(now *content) error {
	data := r.sim.bytesOf(now)
	r.sim.bases[inputs.Digest(data)] = r.base
	err := r.change("rescue", func(r *runner) error {
		if _, err := r.caller(r.named); err != nil {
			return err
		}
		return r.server.states.Rescue(ctx, r.key(), r.holder(), r.base, data)
	})
	if err != nil && !forked(err) {
		r.stranded = true
		for _, i := range now.items {
			r.sim.excuse(i.ID, "its state is stranded, and the Run says so")
		}
	}
	r.mind = nil
	r.sim.dirty = true
	return err
}

// forked reports whether a rescued state is retained beside the current version.
func forked(err error) bool {
	var refused *decision.Rejection
	return errors.As(err, &refused) && refused.Reason == decision.Diverged
}
