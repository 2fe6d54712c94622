package stack

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// Told remembers of which Stacks the history is whole, as far as the API server knows: an older version, which keeps none, is not at work as
// long as this process is.
type Told struct {
	mu     sync.Mutex
	stacks map[client.ObjectKey]types.UID
}

// NewTold remembers nothing yet.
func NewTold() *Told { return &Told{stacks: map[client.ObjectKey]types.UID{}} }

func (t *Told) has(stack *v1alpha1.Stack) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stacks[client.ObjectKeyFromObject(stack)] == stack.UID
}

func (t *Told) add(stack *v1alpha1.Stack) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stacks[client.ObjectKeyFromObject(stack)] = stack.UID
}

func (t *Told) forget(key client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.stacks, key)
}

// addUntold adds all Runs of a Stack of which some are not known that are newer than those in its history: the newest was deleted by hand, the
// status was, or an older version wrote it. Those before them were told, and deleted since. Where others failed numbers are missing too, so
// that is asked once.
func (r *Reconciler) addUntold(ctx context.Context, stack *v1alpha1.Stack, runs *v1alpha1.RunList) error {
	newest := stack.Status.LastRun
	if newest == "" {
		return nil
	}
	if !recorded(stack, newest) && newest != stack.Status.CurrentRun && !has(runs, stack, newest) {
		var run v1alpha1.Run
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: newest}, &run)
		if err == nil && metav1.IsControlledBy(&run, stack) {
			return r.addAll(ctx, stack, runs)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if r.Told.has(stack) || !lacks(stack, runs) {
		return nil
	}
	return r.addAll(ctx, stack, runs)
}

// lacks says that a number between those of the history and that of the newest Run is not among some Runs.
func lacks(stack *v1alpha1.Stack, runs *v1alpha1.RunList) bool {
	told, newest := 0, runinfo.Number(stack.Status.LastRun)
	for i := range stack.Status.History {
		told = max(told, runinfo.Number(stack.Status.History[i].Name))
	}
	missing := newest - 1 - told
	for i := range runs.Items {
		if n := runinfo.Number(runs.Items[i].Name); n > told && n < newest {
			missing--
		}
	}
	return missing > 0
}
