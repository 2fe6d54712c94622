package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

func leaseOf(namespace string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cairn-operator"}}
}

// A witness watches, without a proxy, each change of the Runs and States in a lane, and reports violations of
// invariants.
type witness struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	runs   map[types.UID]v1alpha1.RunStatus
	states map[types.UID]v1alpha1.StateStatus
	broken []error
	// seen are the digests of known versions; forgotten those that were known when etcd was restored.
	seen, forgotten map[string]bool
}

// watch starts to watch.
func (l *lane) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &witness{cancel: cancel}
	w.begin()
	l.witness = w
	w.wg.Go(func() { l.follow(ctx, func() client.ObjectList { return &v1alpha1.RunList{} }, w.run) })
	w.wg.Go(func() { l.follow(ctx, func() client.ObjectList { return &v1alpha1.StateList{} }, w.state) })
	return nil
}

// follow reports each change until ctx is done, also across restarts of API servers. A watch starts with the existing
// objects: relisted reports that an object is one of those, or was just created.
func (l *lane) follow(ctx context.Context, list func() client.ObjectList, saw func(o client.Object, relisted bool)) {
	for ctx.Err() == nil {
		changes, err := l.Watch(ctx, list(), client.InNamespace(l.space))
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond): // the API server is unavailable
			}
			continue
		}
		for e := range changes.ResultChan() {
			if o, ok := e.Object.(client.Object); ok {
				saw(o, e.Type == watch.Added)
			}
		}
		changes.Stop()
	}
}

func (w *witness) stop() {
	w.cancel()
	w.wg.Wait()
}

// begin resets all records.
func (w *witness) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs, w.states, w.broken = map[types.UID]v1alpha1.RunStatus{}, map[types.UID]v1alpha1.StateStatus{}, nil
	w.seen, w.forgotten = map[string]bool{}, nil
}

// goBack resets all records after a restore of etcd, except the versions of states: they may come back.
func (w *witness) goBack() {
	w.mu.Lock()
	seen := w.seen
	w.mu.Unlock()
	w.begin()
	w.mu.Lock()
	w.forgotten = seen
	w.mu.Unlock()
}

// forgetVersions records the existing versions, since the State is deleted: they may come back.
func (w *witness) forgetVersions() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten = maps.Clone(w.seen)
}

// end returns the violations since begin.
func (w *witness) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.broken...)
}

func (w *witness) wrong(format string, args ...any) {
	w.broken = append(w.broken, fmt.Errorf(format, args...))
}

// order is that of the phases.
var order = map[v1alpha1.RunPhase]int{
	"": 0, v1alpha1.PhaseQueued: 0, v1alpha1.PhasePlanning: 1, v1alpha1.PhaseAwaitingApproval: 2,
	v1alpha1.PhaseApplying: 3,
}

// run checks a change of a Run: its phase moves on, or back by a new attempt, and never back from its end (I10).
func (w *witness) run(o client.Object, _ bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := o.(*v1alpha1.Run)
	if !ok {
		return
	}
	before, known := w.runs[r.UID]
	w.runs[r.UID] = r.Status
	if !known {
		return
	}
	switch {
	case before.Phase.Finished() && before.Phase != r.Status.Phase:
		w.wrong("I10: Run %s was %s and is %s", r.Name, before.Phase, r.Status.Phase)
	case !r.Status.Phase.Finished() && order[r.Status.Phase] < order[before.Phase] &&
		number(r.Status) <= number(before) && r.Status.NextAttempt == nil && r.Status.Retries == before.Retries:
		w.wrong("I10: Run %s goes from %s back to %s, without a new attempt", r.Name, before.Phase, r.Status.Phase)
	case number(r.Status) < number(before):
		w.wrong("I10: Run %s goes from attempt %d back to %d", r.Name, number(before), number(r.Status))
	}
}

func number(s v1alpha1.RunStatus) int32 {
	if len(s.Attempts) == 0 {
		return 0
	}
	return s.Attempts[len(s.Attempts)-1].Number
}

// state checks a change of a State: each version is the next one, of the same lineage, with a higher serial, by the
// holder of the lock (I1, I2). After a new watch the changes in between are unknown: whether it was one version, and
// who held the lock.
func (w *witness) state(o client.Object, relisted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := o.(*v1alpha1.State)
	if !ok {
		return
	}
	before, known := w.states[s.UID]
	w.states[s.UID] = s.Status
	w.seen[s.Status.SHA256] = true
	if !known || before.Version == s.Status.Version {
		return
	}
	now := s.Status
	switch {
	case now.Version != before.Version+1 && (!relisted || now.Version < before.Version):
		w.wrong("I2: State %s goes from version %d to %d", s.Name, before.Version, now.Version)
	case before.Lineage != "" && now.Lineage != before.Lineage:
		w.wrong("I2: State %s changes its lineage", s.Name)
	case now.Serial <= before.Serial && before.Version > 0:
		w.wrong("I1: State %s goes from serial %d to %d", s.Name, before.Serial, now.Serial)
	case w.forgotten[now.SHA256], relisted: // it is back, or the holder of the lock was not observed
	case now.UpdatedBy == "" && before.Lock == nil: // by a user, who takes no lock
	case now.Backend != nil: // the engine holds the lock of that backend, and changes there are followed without one
	case before.Rescued == nil && (before.Lock == nil || before.Lock.Run != now.UpdatedBy):
		w.wrong("I1: State %s was written by %s, which had no lock", s.Name, now.UpdatedBy)
	}
}
