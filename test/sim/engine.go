package sim

import (
	"errors"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

// plan executes an order to plan.
func (r *runner) plan(found *v1alpha1.Run, doc inputs.Document) runnerapi.Done {
	sim := r.sim
	var journal []runnerapi.JournalEntry
	var upTo string
	var data []byte
	err := r.call("journal", func() (err error) {
		if _, err = r.caller(r.current); err == nil {
			journal, upTo, err = r.entries()
		}
		return err
	})
	if err == nil {
		err = r.call("read", func() (err error) {
			if _, err = r.caller(r.current); err == nil {
				data, err = r.server.states.ReadPlanned(ctx, r.key(), r.holder())
			}
			return err
		})
		if errors.Is(err, state.ErrNone) {
			err = nil
		}
	}
	if err != nil {
		return failed("Transient", "read: %v", err)
	}
	if class, why := r.stops(); why != "" {
		return failed(class, "%s", why)
	}
	if sim.fault("the plan fails", 60) {
		return failed("Transient", "boom")
	}
	now := sim.read(data)
	p := &plan{digest: inputs.Digest(fmt.Appendf(nil, "%d", sim.serial())), inputs: found.Spec.InputsDigest,
		serial: now.serial, lineage: now.lineage}
	if len(journal) > 0 {
		var none bool
		p.imports, none = sim.missing(journal, data)
		for _, i := range p.imports {
			now.set(i)
		}
		if !none {
			upTo = ""
		}
	}
	p.steps = sim.diff(now, doc, found.Spec.Operation)
	count := runnerapi.Plan{Digest: p.digest, Import: int32(len(p.imports)), Changes: len(p.imports)+len(p.steps) > 0}
	for _, s := range p.steps {
		switch s.action {
		case "create":
			count.Add++
		case "update":
			count.Change++
		case "replace":
			count.Replace++
		default:
			count.Destroy++
		}
	}
	err = r.call("put plan", func() error {
		if _, err := r.caller(r.current); err != nil {
			return err
		}
		sim.plans[p.digest] = p
		return nil
	})
	if err != nil {
		return failed("Transient", "keep the plan: %v", err)
	}
	return runnerapi.Done{Plan: &count, Settled: upTo}
}

// missing returns, by the real rules, what the journal has and the state lacks. None means nothing.
func (sim *simulation) missing(journal []runnerapi.JournalEntry, data []byte) (all []item, none bool) {
	there, err := engine.ReadInstances(data)
	if err != nil {
		panic(err)
	}
	found := engine.FindMissing(journal, there)
	for _, m := range found {
		if t := sim.resource(m.ID); t != nil && t.alive { // resources that do not exist are not imported
			all = append(all, item{m.Address, m.ID, t.value})
		}
	}
	return all, len(found) == 0
}

// diff returns the plan of an engine, after a refresh.
func (sim *simulation) diff(now *content, doc inputs.Document, operation v1alpha1.Operation) []step {
	var steps []step
	var want []item
	if operation != v1alpha1.OperationDestroy {
		want = wanted(sim.valueOf(doc))
	}
	for _, i := range want {
		has := now.at(i.Address)
		t := (*resource)(nil)
		if has != nil {
			t = sim.resource(has.ID)
		}
		switch {
		case t == nil || !t.alive:
			steps = append(steps, step{"create", i.Address, "", i.Value})
		case t.value != i.Value && i.Address == "t.a0":
			steps = append(steps, step{"replace", i.Address, t.id, i.Value})
		case t.value != i.Value:
			steps = append(steps, step{"update", i.Address, t.id, i.Value})
		}
	}
	for _, has := range now.items {
		kept := false
		for _, i := range want {
			kept = kept || i.Address == has.Address
		}
		if !kept {
			steps = append(steps, step{"delete", has.Address, has.ID, 0})
		}
	}
	return steps
}

// apply executes an order to apply.
func (r *runner) apply(found *v1alpha1.Run) runnerapi.Done {
	sim := r.sim
	_ = r.report(runnerapi.Report{Steps: []runnerapi.Step{{Name: "apply", State: "Running"}}})
	var p *plan
	err := r.call("get plan", func() error {
		now, err := r.caller(r.current)
		if err != nil {
			return err
		}
		if now == nil || now.Status.Plan == nil || now.Status.Plan.Digest != found.Status.Plan.Digest {
			return forbidden("not the plan of the Run")
		}
		p = sim.plans[found.Status.Plan.Digest]
		return nil
	})
	if err != nil {
		return failed("Transient", "get the plan: %v", err)
	}
	if r.begun[p.digest] {
		return failed("Transient", "begun before")
	}
	if class, why := r.stops(); why != "" {
		return failed(class, "%s", why)
	}
	r.begun[p.digest] = true
	changed := int32(0)
	done := r.engine(p, &changed)
	if done.Failure != nil {
		done.Changed = &changed
	}
	return done
}

// engine applies a plan, followed by the runner's steps after it.
func (r *runner) engine(p *plan, changed *int32) runnerapi.Done {
	sim := r.sim
	r.lockID = fmt.Sprintf("lock-%d", sim.serial())
	err := r.lock()
	var refused *decision.Rejection
	if errors.As(err, &refused) && refused.Lock != nil && r.forces(refused.Lock.ID) {
		err = r.lock()
	}
	if err != nil {
		return failed("Transient", "lock: %v", err)
	}
	var data []byte
	err = r.call("read", func() (err error) {
		if _, err = r.caller(r.current); err == nil {
			data, err = r.server.states.ReadPlanned(ctx, r.key(), r.holder())
		}
		return err
	})
	if errors.Is(err, state.ErrNone) {
		err = nil
	}
	now := sim.read(data)
	if err == nil && (now.serial != p.serial || now.lineage != p.lineage) {
		err = errors.New("the saved plan is stale")
	}
	if err != nil {
		_ = r.unlock() // a rejected request leaves the lock, as in a pod that is killed here
		return failed("Transient", "%v", err)
	}
	sim.applies(r, p)
	r.applying = true
	broken := r.changeAll(p, now, changed)
	sim.aimed(r)
	r.applying = false
	saved := r.save(now, data)
	if saved == nil {
		saved = r.unlock()
		if saved != nil && r.mind == nil {
			saved = nil
			defer func() { r.lockID = "" }()
		} else {
			r.lockID = ""
		}
	} else {
		_ = r.unlock()
		if lost := r.rescue(now); forked(lost) {
			return failed("ConfigurationError", "%v", lost)
		} else if lost != nil {
			return failed("StateNotSaved", "%v", lost)
		}
	}
	done := runnerapi.Done{Saved: saved == nil && r.lockID == ""}
	if !done.Saved {
		r.flush()
	} else {
		r.pending = nil
	}
	if broken != nil {
		done.Failure = broken
	} else if saved != nil {
		done.Failure = &runnerapi.Failure{Class: "Transient", Message: saved.Error()}
	}
	return done
}

// changeAll changes the cloud step by step.
func (r *runner) changeAll(p *plan, now *content, changed *int32) *runnerapi.Failure {
	sim := r.sim
	r.mind = now
	for _, i := range p.imports {
		if t := sim.resource(i.ID); t != nil && t.alive {
			now.set(i)
			r.pending = append(r.pending, entry(t, "import"))
		}
	}
	for _, s := range p.steps {
		sim.pause()
		sim.aimed(r)
		if class, why := r.stops(); why != "" {
			return &runnerapi.Failure{Class: class, Message: why}
		}
		if sim.fault("the engine fails", 60) {
			return &runnerapi.Failure{Class: "Transient", Message: "boom"}
		}
		t := sim.resource(s.id)
		sim.changes(r)
		sim.tracef("   %s: %s %s %s", r.pod, s.action, s.address, s.id)
		if s.action == "delete" || s.action == "replace" {
			if t != nil {
				t.alive = false
				r.pending = append(r.pending, entry(t, "delete"))
			}
			now.drop(s.address)
		}
		switch s.action {
		case "create", "replace":
			t = sim.createResource(r, s.address, s.value, p.digest)
			r.pending = append(r.pending, entry(t, "create"))
		case "update":
			t.value = s.value
			r.pending = append(r.pending, entry(t, "update"))
		}
		if s.action != "delete" {
			now.set(item{s.address, t.id, s.value})
		}
		*changed++
		sim.dirty = true
		if sim.chance(2) {
			_ = r.send() // the next request has the rest
		}
		if sim.chance(4) {
			_ = r.write(now)
		}
	}
	return nil
}
