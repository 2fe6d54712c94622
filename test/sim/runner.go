package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/store"
)

// plan is a saved plan.
type plan struct {
	digest, inputs string
	// serial and lineage of the state that it was made on.
	serial  int64
	lineage string
	imports []item
	steps   []step
}

// step is one change of a plan: create, update, delete, or a replacement, which is a delete and a create.
type step struct {
	action, address, id string
	value               int
}

// runner is what works in a pod. It goes through the steps of internal/runner; all that it asks of the store is asked of the
// real rules.
type runner struct {
	w        *world
	pod      string
	uid      types.UID
	run      string // as its pod's owner is named
	stack    string
	attempt  int32
	task     *task
	started  int64
	deadline int64
	// waits until something is heard of its Run, or this time.
	waits  bool
	wakeAt int64
	heard  int
	// told to end: SIGTERM.
	told   bool
	frozen bool
	// detached: its pod's object is gone. By that time it has to be over.
	detached bool
	by       int64
	// stranded: its state is nowhere but in its log.
	stranded bool

	begun map[string]bool
	// applying says that its engine is at work on the cloud.
	applying bool
	// mind is the state as its engine has it; nil when all of it is saved.
	mind *content
	// pending are entries of the journal that were not sent.
	pending []store.JournalEntry
	batch   int
	lockID  string
}

func (r *runner) alive() bool { return !r.task.over }

// call asks the store for something, and asks again when the answer is lost.
func (r *runner) call(what string, do func() error) error {
	for try := 0; ; try++ {
		r.w.pause()
		err := do()
		if err == nil && r.w.fault("answer to "+what+" is lost", 80) {
			err = errAway
		}
		if err != nil {
			r.w.tracef("      %s: %s: %v", r.pod, what, err)
		}
		if err == nil || isFinal(err) || try == 8 {
			return err
		}
	}
}

// isFinal says that asking again is of no use.
func isFinal(err error) bool {
	var refused *state.Refusal
	var answer *store.Error
	return errors.As(err, &refused) || errors.As(err, &answer) || errors.Is(err, state.ErrNone)
}

var ctx = context.Background()

func (r *runner) key() types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: r.stack}
}

func (r *runner) holder() state.Holder {
	return state.Holder{Run: r.run, Attempt: r.attempt, PodUID: r.uid}
}

func forbidden(text string) error { return &store.Error{Code: 403, Message: text} }

// caller finds the Run as the server does: in its cache and, before it refuses, past that. A nil Run is one that was deleted
// under a pod that has the lock.
func (r *runner) caller(has func(*v1alpha1.Run) *state.Refusal) (*v1alpha1.Run, error) {
	w := r.w
	found, err := run.ByPod(ctx, w.server, namespace, r.uid)
	if err != nil {
		return nil, err
	}
	if found != nil && has(found) == nil {
		return found, nil
	}
	live := &v1alpha1.Run{}
	err = w.serverLive.Get(ctx, types.NamespacedName{Namespace: namespace, Name: r.run}, live)
	if err == nil {
		if no := has(live); no != nil {
			return nil, no
		}
		return live, nil
	}
	if errors.Is(err, errAway) {
		return nil, err
	}
	held, err := w.states0.HeldBy(ctx, namespace, r.uid)
	if err != nil {
		return nil, err
	}
	if held == nil || held.Status.Lock.Attempt != r.attempt {
		return nil, forbidden("the Run is gone")
	}
	return nil, nil
}

func (r *runner) current(x *v1alpha1.Run) *state.Refusal {
	_, no := state.CurrentAttempt(x, r.holder())
	return no
}

func (r *runner) named(x *v1alpha1.Run) *state.Refusal {
	_, no := state.NamedAttempt(x, r.holder())
	return no
}

// work is all that a runner does.
func (r *runner) work() {
	defer func() { r.waits = false }()
	for after := int32(0); !r.told; {
		kind, found := store.OrderWait, (*v1alpha1.Run)(nil)
		err := r.call("order", func() (err error) { kind, found, err = r.order(after); return err })
		if err != nil || kind == store.OrderExit {
			return
		}
		if kind == store.OrderWait {
			if after == 0 && r.w.time >= r.started+600 {
				return
			}
			r.waits, r.heard = true, r.w.serverView.at[runs]
			r.w.pause()
			r.waits = false
			continue
		}
		r.attempt = found.Status.Attempts[len(found.Status.Attempts)-1].Number
		r.deadline = r.w.time + 3600
		r.w.tracef("   %s is ordered to %s, attempt %d", r.pod, kind, r.attempt)
		done := r.do(kind, found)
		if r.report(store.Report{Steps: stepsOf(kind, &done), Done: &done}) != nil {
			return
		}
		if done.Saved || done.Settled != "" {
			r.w.states0.SweepJournal(ctx, r.key())
		}
		after = r.attempt
	}
}

// stepsOf are the steps of a last report: whether the engine had its turn matters to what follows.
func stepsOf(kind store.OrderKind, done *store.Done) []store.Step {
	s := store.Step{Name: "plan", State: "Succeeded"}
	if kind == store.OrderApply {
		s.Name = "apply"
	}
	if done.Failure != nil {
		s.State = "Failed"
		if kind == store.OrderApply && done.Changed == nil {
			s.State = "Skipped"
		}
	}
	return []store.Step{s}
}

// order is what the server answers.
func (r *runner) order(after int32) (store.OrderKind, *v1alpha1.Run, error) {
	w := r.w
	found, err := run.ByPod(ctx, w.server, namespace, r.uid)
	if err != nil || found == nil {
		r.wakeAt = max(r.started+600, w.time+30)
		return store.OrderWait, nil, err
	}
	of, err := run.StackOf(ctx, w.server, found)
	if err != nil {
		return "", nil, err
	}
	kind, until := run.NextKind(found, of, r.uid, after, w.now())
	r.wakeAt = w.time + 1<<40
	if !until.IsZero() {
		r.wakeAt = until.Unix() - epoch
	}
	if kind == store.OrderPlan {
		r.attempt = found.Status.Attempts[len(found.Status.Attempts)-1].Number
		err := w.states0.Promote(ctx, r.key())
		var refused *state.Refusal
		switch {
		case errors.As(err, &refused):
			failure := &store.Failure{Class: "Config", Message: refused.Message}
			if refused.Reason == state.Locked {
				failure.Class = "Transient"
			}
			return store.OrderWait, nil, w.reports.Report(ctx, namespace, r.uid, r.attempt, store.Report{Done: &store.Done{Failure: failure}})
		case err != nil:
			return "", nil, err
		}
	}
	return kind, found, nil
}

// report hands in the last report as the server takes it.
func (r *runner) report(report store.Report) error {
	return r.call("report", func() error {
		found, err := r.caller(r.named)
		if err != nil {
			return err
		}
		if found == nil {
			return forbidden("the Run is gone")
		}
		attempt, _ := state.NamedAttempt(found, r.holder())
		if f := attempt.Failure; report.Done != nil && attempt.FinishedAt != nil && f != nil && f.Class == v1alpha1.FailureLost {
			return forbidden("given up")
		}
		if report.Done != nil {
			if err := r.endJournal(found, attempt, report.Done); err != nil {
				return err
			}
		}
		return r.w.reports.Report(ctx, namespace, r.uid, r.attempt, report)
	})
}

func failed(class, format string, args ...any) store.Done {
	return store.Done{Failure: &store.Failure{Class: class, Message: fmt.Sprintf(format, args...)}}
}

// stops says why the engine has to end what it does; empty when it goes on.
func (r *runner) stops() (class, why string) {
	switch {
	case r.told:
		return "Transient", store.Interrupted
	case r.w.time >= r.deadline:
		return "Transient", "timed out"
	}
	found, _ := run.ByPod(ctx, r.w.server, namespace, r.uid)
	if found == nil {
		return "", ""
	}
	if why := run.InterruptReason(found); why != "" && r.current(found) == nil {
		return "Canceled", why
	}
	if r.current(found) != nil { // the heartbeat is refused
		live := r.w.api.run(r.run)
		if live == nil || r.current(live) != nil {
			return "Transient", "disowned"
		}
	}
	return "", ""
}

// do does an order.
func (r *runner) do(kind store.OrderKind, found *v1alpha1.Run) store.Done {
	doc, err := r.w.shared.inputs.Get(ctx, found.Spec.Inputs)
	if err != nil {
		panic(err)
	}
	if kind == store.OrderApply {
		return r.apply(found)
	}
	return r.plan(found, doc)
}

func (r *runner) plan(found *v1alpha1.Run, doc inputs.Document) store.Done {
	w := r.w
	var journal []store.JournalEntry
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
				data, err = w.states0.Read(ctx, r.key())
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
	if w.fault("the plan fails", 60) {
		return failed("Transient", "boom")
	}
	now := w.read(data)
	p := &plan{digest: inputs.Digest(fmt.Appendf(nil, "%d", w.serial())), inputs: found.Spec.Inputs, serial: now.serial, lineage: now.lineage}
	if len(journal) > 0 {
		var none bool
		p.imports, none = w.missing(journal, data)
		for _, i := range p.imports {
			now.set(i)
		}
		if !none {
			upTo = ""
		}
	}
	p.steps = w.diff(now, doc, found.Spec.Operation)
	count := store.Plan{Digest: p.digest, Import: int32(len(p.imports)), Changes: len(p.imports)+len(p.steps) > 0}
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
		w.plans[p.digest] = p
		return nil
	})
	if err != nil {
		return failed("Transient", "keep the plan: %v", err)
	}
	return store.Done{Plan: &count, Settled: upTo}
}

// missing asks the real rules what the journal knows and the state does not. None says that there is nothing.
func (w *world) missing(journal []store.JournalEntry, data []byte) (all []item, none bool) {
	there, err := engine.ReadInstances(data)
	if err != nil {
		panic(err)
	}
	found := engine.FindMissing(doings(journal), there)
	for _, m := range found {
		if t := w.thing(m.ID); t != nil && t.alive { // an import of what does not exist is left out
			all = append(all, item{m.Address, m.ID, t.value})
		}
	}
	return all, len(found) == 0
}

// diff is what an engine plans: it looks at each resource first.
func (w *world) diff(now *content, doc inputs.Document, operation v1alpha1.Operation) []step {
	var steps []step
	var want []item
	if operation != v1alpha1.OperationDestroy {
		want = wanted(valueOf(doc))
	}
	for _, i := range want {
		has := now.at(i.Address)
		t := (*thing)(nil)
		if has != nil {
			t = w.thing(has.ID)
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

func (r *runner) apply(found *v1alpha1.Run) store.Done {
	w := r.w
	_ = r.report(store.Report{Steps: []store.Step{{Name: "apply", State: "Running"}}})
	var p *plan
	err := r.call("get plan", func() error {
		now, err := r.caller(r.current)
		if err != nil {
			return err
		}
		if now == nil || now.Status.Plan == nil || now.Status.Plan.Digest != found.Status.Plan.Digest {
			return forbidden("not the plan of the Run")
		}
		p = w.plans[found.Status.Plan.Digest]
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

// engine is an engine that applies a plan, and what the runner does after it.
func (r *runner) engine(p *plan, changed *int32) store.Done {
	w := r.w
	r.lockID = fmt.Sprintf("lock-%d", w.serial())
	err := r.call("lock", func() error {
		if _, err := r.caller(r.current); err != nil {
			return err
		}
		return w.states0.Lock(ctx, r.key(), r.holder(), state.LockRequest{ID: r.lockID, Who: r.pod})
	})
	if err != nil {
		return failed("Transient", "lock: %v", err)
	}
	var data []byte
	err = r.call("read", func() (err error) {
		if _, err = r.caller(r.current); err == nil {
			data, err = w.states0.Read(ctx, r.key())
		}
		return err
	})
	if errors.Is(err, state.ErrNone) {
		err = nil
	}
	now := w.read(data)
	if err == nil && (now.serial != p.serial || now.lineage != p.lineage) {
		err = errors.New("the saved plan is stale")
	}
	if err != nil {
		_ = r.unlock() // one that is refused leaves the lock, as in a pod that dies here
		return failed("Transient", "%v", err)
	}
	w.applies(r, p)
	r.applying = true
	broken := r.changeAll(p, now, changed)
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
		if lost := r.rescue(now); lost != nil {
			return failed("Stranded", "%v", lost)
		}
	}
	done := store.Done{Saved: saved == nil && r.lockID == ""}
	if !done.Saved {
		r.flush()
	} else {
		r.pending = nil
	}
	if broken != nil {
		done.Failure = broken
	} else if saved != nil {
		done.Failure = &store.Failure{Class: "Transient", Message: saved.Error()}
	}
	return done
}

// changeAll changes the cloud step by step.
func (r *runner) changeAll(p *plan, now *content, changed *int32) *store.Failure {
	w := r.w
	r.mind = now
	for _, i := range p.imports {
		if t := w.thing(i.ID); t != nil && t.alive {
			now.set(i)
			r.pending = append(r.pending, entry(t, "import"))
		}
	}
	for _, s := range p.steps {
		w.pause()
		if class, why := r.stops(); why != "" {
			return &store.Failure{Class: class, Message: why}
		}
		if w.fault("the engine fails", 60) {
			return &store.Failure{Class: "Transient", Message: "boom"}
		}
		t := w.thing(s.id)
		w.changes(r)
		w.tracef("   %s: %s %s %s", r.pod, s.action, s.address, s.id)
		if s.action == "delete" || s.action == "replace" {
			if t != nil {
				t.alive = false
				r.pending = append(r.pending, entry(t, "delete"))
			}
			now.drop(s.address)
		}
		switch s.action {
		case "create", "replace":
			t = w.make(r, s.address, s.value, p.digest)
			r.pending = append(r.pending, entry(t, "create"))
		case "update":
			t.value = s.value
			r.pending = append(r.pending, entry(t, "update"))
		}
		if s.action != "delete" {
			now.set(item{s.address, t.id, s.value})
		}
		*changed++
		w.dirty = true
		if w.chance(2) {
			_ = r.send() // the rest goes with the next
		}
		if w.chance(4) {
			_ = r.write(now)
		}
	}
	return nil
}

// send delivers what the journal has so far.
func (r *runner) send() error {
	if len(r.pending) == 0 {
		return nil
	}
	data, _ := json.Marshal(store.JournalEntries{Entries: r.pending})
	err := r.call("journal", func() error {
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
		r.w.dirty = true
	}
	return err
}

func (r *runner) flush() { _ = r.send() }

// write writes the engine's state as it is.
func (r *runner) write(now *content) error {
	if now.lineage == "" {
		now.lineage = fmt.Sprintf("lin-%d", r.w.serial())
	}
	now.serial++
	data := r.w.bytesOf(now)
	err := r.call("write", func() error {
		if _, err := r.caller(r.current); err != nil {
			return err
		}
		return r.w.states0.Write(ctx, r.key(), r.holder(), r.lockID, data)
	})
	r.w.dirty = true
	return err
}

// save writes the last state, if anything changed.
func (r *runner) save(now *content, was []byte) error {
	before := r.w.read(was)
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
	return r.call("unlock", func() error {
		if _, err := r.caller(r.named); err != nil {
			return err
		}
		return r.w.states0.Unlock(ctx, r.key(), r.holder(), r.lockID)
	})
}

// rescue hands in a state that could not be written; what the store does not take is in the pod's log alone.
func (r *runner) rescue(now *content) error {
	data := r.w.bytesOf(now)
	err := r.call("rescue", func() error {
		if _, err := r.caller(r.named); err != nil {
			return err
		}
		return r.w.states0.Rescue(ctx, r.key(), r.holder(), data)
	})
	if err != nil {
		r.stranded = true
		for _, i := range now.items {
			r.w.excuse(i.ID, "its state is stranded, and the Run says so")
		}
	}
	r.mind = nil
	r.w.dirty = true
	return err
}

// after gives a time as a moment.
func after(seconds int64) time.Time { return time.Unix(epoch+seconds, 0).UTC() }
