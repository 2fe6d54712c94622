// Package scheduler decides which Runs start when concurrency limits are reached.
package scheduler

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Event names a Run that is to be reconciled.
type Event = event.TypedGenericEvent[types.NamespacedName]

// Scheduler is the Queue as the reconciler uses it. Run events go in; the Runs that may start come out as events.
type Scheduler struct {
	queue *Queue
	cache client.Reader
	wake  chan Event

	// mu keeps changes of a Run from coming between the reads of fill and its writes to the queue.
	mu     sync.Mutex
	filled bool
}

// New is a Scheduler that reads from a cache which Runs are running when the process starts.
func New(queue *Queue, cache client.Reader) *Scheduler {
	return &Scheduler{queue: queue, cache: cache, wake: make(chan Event, 1000)}
}

// Wake returns the Runs to reconcile, since they may start.
func (t *Scheduler) Wake() <-chan Event { return t.wake }

// Start takes places back now and then that were given and not used.
func (t *Scheduler) Start(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			t.notify(ctx, t.queue.Reclaim())
		}
	}
}

// Admit asks for the admission of an attempt that is about to begin.
func (t *Scheduler) Admit(
	ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack, phase v1alpha1.AttemptPhase,
) (Admission, error) {
	if err := t.fill(ctx); err != nil {
		return Admission{}, err
	}
	e := entry(run, stack)
	e.Rank = rank(run, stack, phase)
	admission := t.queue.Admit(e)
	t.notify(ctx, admission.Wake)
	return admission, nil
}

// Observe records the status of a Run that does not ask for admission now.
func (t *Scheduler) Observe(ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack, status *v1alpha1.RunStatus) {
	t.mu.Lock()
	keys := t.observe(run, stack, status)
	t.mu.Unlock()
	t.notify(ctx, keys)
}

func (t *Scheduler) observe(
	run *v1alpha1.Run, stack *v1alpha1.Stack, status *v1alpha1.RunStatus,
) []types.NamespacedName {
	a := runinfo.Current(status)
	if stack == nil || status.Phase.Finished() || a == nil || a.FinishedAt != nil {
		return t.queue.Remove(client.ObjectKeyFromObject(run))
	}
	e := entry(run, stack)
	e.Rank, e.Running = rank(run, stack, a.Phase), true
	return t.queue.Set(e)
}

// Remove removes a Run that neither runs nor waits for admission.
func (t *Scheduler) Remove(ctx context.Context, key types.NamespacedName) {
	t.mu.Lock()
	keys := t.queue.Remove(key)
	t.mu.Unlock()
	t.notify(ctx, keys)
}

// fill adds to the Queue, once, all Runs that ran before the process started, so that they count against the limits.
func (t *Scheduler) fill(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filled {
		return nil
	}
	var runs v1alpha1.RunList
	if err := t.cache.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return err
	}
	for i := range runs.Items {
		run := &runs.Items[i]
		if a := runinfo.Current(&run.Status); run.Status.Phase.Finished() || a == nil || a.FinishedAt != nil {
			continue
		}
		stack, err := index.StackIn(ctx, t.cache, run)
		if err != nil {
			return err
		}
		t.observe(run, stack, &run.Status) // nothing waits yet that it could wake
	}
	t.filled = true
	return nil
}

func (t *Scheduler) notify(ctx context.Context, keys []types.NamespacedName) {
	for _, key := range keys {
		select {
		case t.wake <- Event{Object: key}:
		case <-ctx.Done():
		}
	}
}

func entry(run *v1alpha1.Run, stack *v1alpha1.Stack) Entry {
	e := Entry{Key: client.ObjectKeyFromObject(run), UID: run.UID, Since: run.CreationTimestamp.Time}
	if key, ok := stack.RepositoryKey(); ok {
		e.Repository = key.String()
	}
	return e
}

// rank of an attempt of a Run.
func rank(run *v1alpha1.Run, stack *v1alpha1.Stack, phase v1alpha1.AttemptPhase) Rank {
	switch {
	case phase == v1alpha1.AttemptApply, run.Spec.Operation == v1alpha1.OperationDestroy:
		return RankApply
	case run.Spec.PullRequest != nil:
		return RankPullRequest
	case isFirstOfSet(run, stack):
		return RankDrift
	}
	switch run.Spec.Cause.Type {
	case v1alpha1.CauseDrift, v1alpha1.CauseVariableSet, v1alpha1.CauseStackPolicy:
		return RankDrift
	default:
		return RankPlan
	}
}

// isFirstOfSet reports the first plan of a Stack that a StackSet created: there may be thousands at once, and no user
// waits for one of them who did not request it.
func isFirstOfSet(run *v1alpha1.Run, stack *v1alpha1.Stack) bool {
	return stack.Labels[v1alpha1.StackSetLabel] != "" && len(stack.Status.History) == 0 &&
		stack.Status.AppliedInputsDigest == "" && run.Spec.Cause.Type != v1alpha1.CauseManual
}
