package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	rundecision "cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

// plan is a saved plan.
type plan struct {
	digest, inputs string
	// serial and lineage of the state that it is based on.
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

// runner is the process of a pod. It has the steps of internal/runner, and the real rules answer all of its requests
// to the server.
type runner struct {
	sim *simulation
	// server is the one that it reached last.
	server   *server
	machine  *machine
	pod      string
	uid      types.UID
	run      string // by the owner of its pod
	stack    string
	attempt  int32
	task     *task
	started  int64
	deadline int64
	// waits until a change of its Run, or this time.
	waits    bool
	wakeAt   int64
	received int
	// terminating: it received SIGTERM.
	terminating bool
	frozen      bool
	// slow ones are seldom scheduled.
	slow bool
	// detached: its pod's object is deleted. It has to end by that time.
	detached bool
	by       int64
	// beyond reach: a user asserted that it has ended, and it has not.
	beyond bool
	// stranded: its state is only in its log.
	stranded bool

	begun map[string]bool
	// applying: its engine changes the cloud.
	applying bool
	// mind is the state in the engine's memory; nil when it is saved completely.
	mind *content
	// pending are entries of the journal that were not sent.
	pending []runnerapi.JournalEntry
	batch   int
	lockID  string
	// base is the version that its engine started from, as in internal/runner.
	base string
}

func (r *runner) alive() bool { return !r.task.over }

// call sends a request to the server, and retries it when the response is lost.
func (r *runner) call(what string, do func() error) error {
	for try := 0; ; try++ {
		r.sim.pause()
		if n := len(r.sim.servers); n > 1 {
			r.server = r.sim.servers[r.sim.rand(n)]
		}
		r.task.began = r.sim.step
		err := do()
		if err == nil && r.sim.fault("an answer is lost", 80) {
			err = errAway
		}
		if err != nil {
			r.sim.tracef("      %s: %s: %v", r.pod, what, err)
		}
		if err == nil || isFinal(err) || try == 8 {
			return err
		}
	}
}

// isFinal reports whether a retry is of no use.
func isFinal(err error) bool {
	var refused *decision.Rejection
	var answer *runnerapi.Error
	return errors.As(err, &refused) || errors.As(err, &answer) || errors.Is(err, state.ErrNone)
}

var ctx = context.Background()

func (r *runner) key() types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: r.stack}
}

func (r *runner) holder() decision.Holder {
	return decision.Holder{Run: r.run, Attempt: r.attempt, PodUID: r.uid}
}

func forbidden(text string) error { return &runnerapi.Error{Code: 403, Message: text} }

// byPod returns the Run that names the runner's pod, as the server finds it.
func (r *runner) byPod() (*v1alpha1.Run, error) {
	return r.server.runs.ByPod(ctx, types.NamespacedName{Namespace: namespace, Name: r.pod}, r.uid)
}

// caller returns the Run as the server reads it: from its cache and, before it rejects, from the API server. A nil Run
// was deleted while its pod has the lock.
func (r *runner) caller(has func(*v1alpha1.Run) *decision.Rejection) (*v1alpha1.Run, error) {
	sim := r.sim
	found, err := r.byPod()
	if err != nil {
		return nil, err
	}
	if found != nil && has(found) == nil {
		return found, nil
	}
	live := &v1alpha1.Run{}
	err = sim.direct.Get(ctx, types.NamespacedName{Namespace: namespace, Name: r.run}, live)
	if err == nil {
		if no := has(live); no != nil {
			return nil, no
		}
		return live, nil
	}
	if errors.Is(err, errAway) {
		return nil, err
	}
	held, err := r.server.states.HeldBy(ctx, namespace, r.uid)
	if err != nil {
		return nil, err
	}
	if held == nil || held.Status.Lock.Attempt != r.attempt {
		return nil, forbidden("the Run is gone")
	}
	return nil, nil
}

func (r *runner) current(x *v1alpha1.Run) *decision.Rejection {
	_, no := decision.CurrentAttempt(x, r.holder())
	return no
}

func (r *runner) named(x *v1alpha1.Run) *decision.Rejection {
	_, no := decision.NamedAttempt(x, r.holder())
	return no
}

// work is everything that a runner does.
func (r *runner) work() {
	defer func() { r.waits = false }()
	for after := int32(0); !r.terminating; {
		kind, found := runnerapi.OrderWait, (*v1alpha1.Run)(nil)
		err := r.call("order", func() (err error) { kind, found, err = r.order(after); return err })
		if err != nil || kind == runnerapi.OrderExit {
			return
		}
		if kind == runnerapi.OrderWait {
			if after == 0 && r.sim.time >= r.started+600 {
				return
			}
			r.waits = true
			r.sim.pause()
			r.waits = false
			continue
		}
		r.attempt = found.Status.Attempts[len(found.Status.Attempts)-1].Number
		r.deadline = r.sim.time + 3600
		r.sim.tracef("   %s is ordered to %s, attempt %d", r.pod, kind, r.attempt)
		done := r.do(kind, found)
		if r.report(runnerapi.Report{Steps: stepsOf(kind, &done), Done: &done}) != nil {
			return
		}
		if done.Saved || done.Settled != "" {
			r.server.states.CollectJournal(ctx, r.key())
		}
		after = r.attempt
	}
}

// stepsOf returns the steps of a last report: decisions depend on whether the engine started.
func stepsOf(kind runnerapi.OrderKind, done *runnerapi.Done) []runnerapi.Step {
	s := runnerapi.Step{Name: "plan", State: "Succeeded"}
	if kind == runnerapi.OrderApply {
		s.Name = "apply"
	}
	if done.Failure != nil {
		s.State = "Failed"
		if kind == runnerapi.OrderApply && done.Changed == nil {
			s.State = "Skipped"
		}
	}
	return []runnerapi.Step{s}
}

// order returns the response of the server.
func (r *runner) order(after int32) (runnerapi.OrderKind, *v1alpha1.Run, error) {
	sim := r.sim
	r.received = r.server.view.at[runs] // what changes from here on ends a wait
	found, err := r.byPod()
	if err != nil || found == nil {
		r.wakeAt = max(r.started+600, sim.time+30)
		return runnerapi.OrderWait, nil, err
	}
	of, err := index.StackOf(ctx, r.server.cached, sim.direct, found)
	if err != nil {
		return "", nil, err
	}
	kind, until := dispatch.NextKind(found, of, r.uid, after, sim.now())
	r.wakeAt = sim.time + 1<<40
	if !until.IsZero() {
		r.wakeAt = until.Unix() - epoch
	}
	if kind == runnerapi.OrderPlan {
		r.attempt = found.Status.Attempts[len(found.Status.Attempts)-1].Number
		err := r.server.states.BeginPlan(ctx, r.key(), r.holder())
		var refused *decision.Rejection
		switch {
		case errors.As(err, &refused):
			failure := &runnerapi.Failure{Class: "ConfigurationError", Message: refused.Message}
			if refused.Reason == decision.Locked {
				failure.Class = "Transient"
			}
			return runnerapi.OrderWait, nil, r.server.reports.Report(ctx, client.ObjectKeyFromObject(found), r.uid,
				r.attempt, runnerapi.Report{Done: &runnerapi.Done{Failure: failure}})
		case err != nil:
			return "", nil, err
		}
	}
	return kind, found, nil
}

// report submits the last report as the server accepts it.
func (r *runner) report(report runnerapi.Report) error {
	return r.change("report", func(r *runner) error {
		found, err := r.caller(r.named)
		if err != nil {
			return err
		}
		if found == nil {
			return forbidden("the Run is gone")
		}
		attempt, _ := decision.NamedAttempt(found, r.holder())
		if f := attempt.Failure; report.Done != nil &&
			attempt.FinishedAt != nil && f != nil && f.Class == v1alpha1.FailurePodLost {
			return forbidden("given up")
		}
		if report.Done != nil {
			if err := r.endJournal(found, attempt, report.Done); err != nil {
				return err
			}
		}
		return r.server.reports.Report(ctx, client.ObjectKeyFromObject(found), r.uid, r.attempt, report)
	})
}

func failed(class, format string, args ...any) runnerapi.Done {
	f := &runnerapi.Failure{Class: class, Message: fmt.Sprintf(format, args...)}
	if f.Message == runnerapi.Interrupted {
		f.Reason = runnerapi.ReasonInterrupted
	}
	return runnerapi.Done{Failure: f}
}

// stops returns why the engine has to end; empty when it continues.
func (r *runner) stops() (class, why string) {
	switch {
	case r.terminating:
		return "Transient", runnerapi.Interrupted
	case r.sim.time >= r.deadline:
		return "Transient", "timed out"
	}
	found, _ := r.byPod()
	if found == nil {
		return "", ""
	}
	if why := rundecision.InterruptReason(found); why != "" && r.current(found) == nil {
		return "Canceled", why
	}
	if r.current(found) != nil { // the heartbeat is rejected
		live := r.sim.api.run(r.run)
		if live == nil || r.current(live) != nil {
			return "Transient", "disowned"
		}
	}
	return "", ""
}

// do executes an order.
func (r *runner) do(kind runnerapi.OrderKind, found *v1alpha1.Run) runnerapi.Done {
	doc, err := r.sim.shared.inputs.Get(ctx, found.Spec.InputsDigest)
	if err != nil {
		panic(err)
	}
	if kind == runnerapi.OrderApply {
		return r.apply(found)
	}
	return r.plan(found, doc)
}

// after converts a time.
func after(seconds int64) time.Time { return time.Unix(epoch+seconds, 0).UTC() }
