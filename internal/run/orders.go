package run

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/store"
)

// Orders tells waiting runners what to do next, as soon as their Run says it.
type Orders struct {
	client    client.Reader
	inputs    *inputs.Store
	patience  time.Duration
	recipient string

	mu      sync.Mutex
	waiting map[types.UID]*waiters
}

// waiters are the requests of one pod that wait for its Run to change.
type waiters struct {
	changed chan struct{}
	n       int
}

// NewOrders reads Runs and Stacks from a cache that has PodIndex. Patience and recipient are passed on to runners.
func NewOrders(c client.Reader, in *inputs.Store, patience time.Duration, recipient string) *Orders {
	return &Orders{client: c, inputs: in, patience: patience, recipient: recipient, waiting: map[types.UID]*waiters{}}
}

// Changed wakes the runners that wait on a Run. It is called for each event on a Run.
func (o *Orders) Changed(run *v1alpha1.Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range run.Status.Attempts {
		if w, ok := o.waiting[a.PodUID]; ok {
			close(w.changed)
			delete(o.waiting, a.PodUID)
		}
	}
}

// watch gives a channel that is closed at the next change of the pod's Run, and what to call when nobody waits for it.
func (o *Orders) watch(pod types.UID) (changed <-chan struct{}, leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.waiting[pod]
	if w == nil {
		w = &waiters{changed: make(chan struct{})}
		o.waiting[pod] = w
	}
	w.n++
	return w.changed, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if w.n--; w.n == 0 && o.waiting[pod] == w {
			delete(o.waiting, pod)
		}
	}
}

// Next is the pod's next order after the attempt it has done last; Wait when there is none by the time ctx is done.
func (o *Orders) Next(ctx context.Context, namespace string, pod types.UID, after int32) (store.Order, error) {
	for {
		order, again, err := o.wait(ctx, namespace, pod, after)
		if !again {
			return order, err
		}
	}
}

// wait gives the order that there is, or says to look again when something has changed.
func (o *Orders) wait(ctx context.Context, namespace string, pod types.UID, after int32) (order store.Order, again bool, err error) {
	changed, leave := o.watch(pod) // before looking, so that no change is missed
	defer leave()
	order, until, err := o.look(ctx, namespace, pod, after)
	if err != nil || order.Kind != store.OrderWait {
		return order, false, err
	}
	var timer <-chan time.Time
	if !until.IsZero() {
		timer = time.After(time.Until(until))
	}
	select {
	case <-ctx.Done():
		return order, false, nil
	case <-changed:
	case <-timer:
	}
	return order, true, nil
}

func (o *Orders) look(ctx context.Context, namespace string, pod types.UID, after int32) (store.Order, time.Time, error) {
	run, err := ByPod(ctx, o.client, namespace, pod)
	if err != nil {
		return store.Order{}, time.Time{}, err
	}
	if run == nil { // made, but not named yet
		return store.Order{Kind: store.OrderWait}, time.Time{}, nil
	}
	stack, err := StackOf(ctx, o.client, run)
	if err != nil {
		return store.Order{}, time.Time{}, err
	}
	kind, until := nextKind(run, stack, pod, after, time.Now())
	if kind != store.OrderPlan && kind != store.OrderApply {
		return store.Order{Kind: kind}, until, nil
	}
	doc, err := o.inputs.Get(ctx, run.Spec.Inputs)
	if err != nil {
		return store.Order{}, time.Time{}, err
	}
	order := orderOf(run, stack, doc)
	order.Kind, order.Patience, order.Recipient = kind, o.patience, o.recipient
	return order, time.Time{}, nil
}

// nextKind decides what a pod is told that has done all up to the attempt after; until is when a Wait is over.
func nextKind(run *v1alpha1.Run, stack *v1alpha1.Stack, pod types.UID, after int32, now time.Time) (kind store.OrderKind, until time.Time) {
	a := current(&run.Status)
	switch {
	case a == nil || a.Number < after: // an old view of the Run
		return store.OrderWait, time.Time{}
	case stack == nil || a.PodUID != pod || run.Status.Phase.Finished():
		return store.OrderExit, time.Time{}
	case a.FinishedAt == nil && a.Number == after: // the view is from before the last report
		return store.OrderWait, time.Time{}
	case a.FinishedAt == nil && a.Phase == v1alpha1.AttemptApply:
		return store.OrderApply, time.Time{}
	case a.FinishedAt == nil:
		return store.OrderPlan, time.Time{}
	case a.Failure != nil || a.Phase != v1alpha1.AttemptPlan || !now.Before(LingersUntil(stack, a)):
		return store.OrderExit, time.Time{}
	}
	return store.OrderWait, LingersUntil(stack, a)
}

// orderOf is the order for the Run's current attempt, but for its kind and what the install adds.
func orderOf(run *v1alpha1.Run, stack *v1alpha1.Stack, doc inputs.Document) store.Order {
	order := store.Order{
		Attempt:   current(&run.Status).Number,
		Namespace: run.Namespace, Stack: stack.Name, Run: run.Name,
		Destroy:       run.Spec.Operation == v1alpha1.OperationDestroy,
		Source:        doc.Source,
		Path:          doc.Path,
		Engine:        string(doc.Engine.Name),
		EngineVersion: doc.Engine.Version,
		Outputs:       run.Spec.Operation == v1alpha1.OperationApply,
		Timeout:       stack.Spec.Timeout.Duration,
	}
	layout(run, doc).tell(&order)
	if plan := run.Status.Plan; plan != nil {
		order.PlanDigest = plan.Digest
		if isApply(*current(&run.Status)) && plan.EngineVersion != "" {
			order.EngineVersion = "= " + plan.EngineVersion
		}
	}
	return order
}
