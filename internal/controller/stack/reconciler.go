// Package stack reconciles Stacks: it gathers a snapshot, decides, writes the status, and creates Runs.
package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/controller/apierror"
	"cairn.dev/cairn/internal/controller/run"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// States deletes the State of a Stack that was destroyed.
type States interface {
	// Delete rejects a State with resources.
	Delete(ctx context.Context, key client.ObjectKey) error
	// Purge deletes a State whose content cannot be read.
	Purge(ctx context.Context, key client.ObjectKey) error
	// Orphan marks a State that outlives its Stack.
	Orphan(ctx context.Context, key client.ObjectKey) error
	// KeepSelfApproval changes the rule about self-approval that a State keeps.
	KeepSelfApproval(ctx context.Context, key client.ObjectKey,
		next func(*v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval) error
}

// Runs deletes the objects of a Run in the bucket.
type Runs interface {
	Forget(ctx context.Context, r *v1alpha1.Run) error
}

// Reconciler creates Runs when they are due, writes the status of a Stack, and removes its finalizer when nothing of it
// is left.
type Reconciler struct {
	snapshot.Gatherer
	States States
	Runs   Runs
	Events Recorder
	// Traces get a span for each Run that is created; nil for none.
	Traces *tracing.Tracer
	// ConflictBackoff is the backoff after an update conflict (NewConflictBackoff).
	ConflictBackoff workqueue.TypedRateLimiter[ctrl.Request]
	// Reserved has the names of Runs that could not be created yet (NewReserved).
	Reserved *Reserved
}

// Reconcile gathers, decides, reports and acts. The report goes first: it names the Run before the Run is created,
// under an optimistic lock, so that of two operators only one creates it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	stack := &v1alpha1.Stack{}
	if err := r.Client.Get(ctx, req.NamespacedName, stack); err != nil {
		if apierrors.IsNotFound(err) {
			r.ConflictBackoff.Forget(req)
			r.Reserved.remove(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	w, err := r.Gather(ctx, stack, r.Reserved.of(stack))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("gather: %w", err)
	}
	if err := r.keepSelfApproval(ctx, w); err != nil {
		return ctrl.Result{}, err
	}
	d, err := r.decide(ctx, &w)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	again, err := r.act(ctx, w, d)
	if apierrors.IsConflict(err) && r.ConflictBackoff.NumRequeues(req) < maxSilentConflicts {
		return ctrl.Result{RequeueAfter: r.ConflictBackoff.When(req)}, nil
	}
	if apierrors.IsConflict(err) { // no cache is that late
		return ctrl.Result{}, err
	}
	r.ConflictBackoff.Forget(req)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// decide returns the decision that needs nothing more: what the one before it needed is in the snapshot.
func (r *Reconciler) decide(ctx context.Context, w *decision.Snapshot) (decision.Decision, error) {
	for {
		d, err := decision.Decide(*w), error(nil)
		switch d.Needs {
		case "":
			return d, nil
		case decision.NeedsFinalizer:
			err = r.addFinalizer(ctx, *w)
		case decision.NeedsLeftover:
			err = r.GatherLeftover(ctx, w)
		case decision.NeedsCommits:
			err = r.GatherCommits(ctx, w)
		case decision.NeedsDriftPause:
			err = r.GatherDriftPause(ctx, w)
		}
		if err != nil {
			return d, fmt.Errorf("gather: %w", err)
		}
		w.Met = append(w.Met, d.Needs)
	}
}

func (r *Reconciler) addFinalizer(ctx context.Context, w decision.Snapshot) error {
	err := r.patch(ctx, w.Stack, func() { controllerutil.AddFinalizer(w.Stack, v1alpha1.Finalizer) })
	if err == nil && w.Stack.Status.Observed() {
		r.Events.FinalizerRestored(w)
	}
	return err
}

// keepSelfApproval changes the rule that the State keeps, before anything is decided by it.
func (r *Reconciler) keepSelfApproval(ctx context.Context, w decision.Snapshot) error {
	if w.State == nil {
		return nil
	}
	next := func(kept *v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval {
		return decision.KeptSelfApproval(w.Stack, kept)
	}
	if kept := w.State.Status.SelfApproval; equality.Semantic.DeepEqual(next(kept), kept) {
		return nil
	}
	return r.States.KeepSelfApproval(ctx, client.ObjectKeyFromObject(w.Stack), next)
}

// act returns when to reconcile again. An old Run that cannot be deleted is not an error here: the growing backoff
// after errors would delay what is due earlier.
func (r *Reconciler) act(ctx context.Context, w decision.Snapshot, d decision.Decision) (again time.Duration,
	err error) {
	pruned := r.prune(ctx, &w) // before the status drops them
	if err := r.goOn(ctx, w, d); err != nil {
		return 0, errors.Join(pruned, err)
	}
	again = d.RequeueAfter
	if pruned != nil {
		ctrl.LoggerFrom(ctx).Error(pruned, "Old Runs stay")
		again = decision.Sooner(again, pruneAgain)
	}
	return again, nil
}

// goOn does what was decided on, also where an old Run cannot be deleted.
func (r *Reconciler) goOn(ctx context.Context, w decision.Snapshot, d decision.Decision) error {
	if d.Finish {
		return r.finish(ctx, w, d)
	}
	request, why := decision.RejectedRequest(w)
	if d.Start != nil {
		if d.Start.Operation != v1alpha1.OperationDestroy { // which has the inputs of the last apply
			if err := r.CheckEffective(ctx, w); err != nil {
				return err
			}
		}
		w.Reserved = reservationOf(w, d)
	}
	changed, err := r.report(ctx, w, d)
	if err != nil {
		return err
	}
	if why != "" {
		r.Events.RequestRejected(w, request, why)
	}
	if d.Start != nil {
		if err := r.isStillAbsent(ctx, w); err != nil {
			return err
		}
		if err := r.start(ctx, w, d); err != nil {
			return r.reportFailure(ctx, w, d, err)
		}
	}
	if changed {
		r.Events.DecisionEvent(w, d)
	}
	return nil
}

// report writes the status if it changed, and returns whether the reason did. It reserves the name of a Run that is to
// be created.
func (r *Reconciler) report(ctx context.Context, w decision.Snapshot, d decision.Decision) (changed bool, err error) {
	next := decision.Status(w, d)
	changed = decision.ReadyReason(w.Stack.Status) != decision.ReadyReason(next)
	if equality.Semantic.DeepEqual(w.Stack.Status, next) {
		return false, nil
	}
	before := w.Stack.DeepCopy()
	w.Stack.Status = next
	err = r.Client.Status().Patch(ctx, w.Stack,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err == nil && d.Start != nil {
		r.Reserved.set(w.Stack, w.Reserved)
	}
	return changed, err
}

// isStillAbsent fails when the Run that was named before was created after all, late, while the next one was named. A
// Run begins only while the API server has it as the last one in its Stack's status: either this finds the Run, or the
// Run finds that a newer one is named. After an error it is asked for again. A Run of an earlier Stack of the same name
// is not the one that was named: it is why another one is.
func (r *Reconciler) isStillAbsent(ctx context.Context, w decision.Snapshot) error {
	before := w.Reserved.Before
	if before == "" || w.RunNamed(before) != nil {
		return nil
	}
	run := &v1alpha1.Run{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: w.Stack.Namespace, Name: before}, run)
	if err == nil && metav1.IsControlledBy(run, w.Stack) {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("runs").GroupResource(), before, errCreatedLate)
	}
	return client.IgnoreNotFound(err)
}

// errCreatedLate: what was decided on is not what there is.
var errCreatedLate = errors.New("it was created after the next Run was named")

// start creates the Run that the status names. The name stays reserved as long as the API server was not asked, or
// rejected it: if the answer to a request is lost, it is not known whether it created the Run.
func (r *Reconciler) start(ctx context.Context, w decision.Snapshot, d decision.Decision) error {
	spec := d.Start
	if spec.Operation != v1alpha1.OperationDestroy {
		if err := r.keepInputs(ctx, w); err != nil {
			return err
		}
	}
	made := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       w.Stack.Namespace,
			Name:            d.Name,
			Labels:          map[string]string{runinfo.LabelStack: runinfo.LabelValue(w.Stack.Name)},
			OwnerReferences: []metav1.OwnerReference{owner(w.Stack)},
		},
		Spec: *spec,
	}
	r.Reserved.remove(client.ObjectKeyFromObject(w.Stack))
	err := r.Client.Create(ctx, made)
	switch {
	case err == nil:
		r.trace(ctx, w, made)
	case run.IsRejection(err):
		r.Reserved.set(w.Stack, w.Reserved)
	}
	return err
}

// keepInputs stores the inputs of a new Run. After a failed Run they are verified: the server may not have been able
// to read them. Code that is lost is an error, and the next reconciliation stores it again.
func (r *Reconciler) keepInputs(ctx context.Context, w decision.Snapshot) error {
	verify := slices.ContainsFunc(w.Runs, func(r v1alpha1.Run) bool { return r.Status.Phase == v1alpha1.PhaseFailed })
	if verify {
		if err := r.Inputs.Verify(ctx, w.Digest); err != nil && !bucket.IsLost(err) {
			return err
		}
	}
	_, err := r.Inputs.Put(ctx, w.Inputs)
	if err == nil && verify {
		err = r.Inputs.Verify(ctx, w.Digest)
	}
	return err
}

// reportFailure reports that a Run cannot be created, for a quota, by a webhook or without an answer, and returns the
// error. The Run is created again, at growing intervals. The failure is in the Ready condition until the Run is
// created; for a read-only Run it is in an event alone, since the Ready condition is still true.
func (r *Reconciler) reportFailure(ctx context.Context, w decision.Snapshot, d decision.Decision, why error) error {
	if !apierror.IsReported(why) {
		return why
	}
	isAbsent := r.Reserved.of(w.Stack).Run == d.Name // it is known that it was not created
	before := w.Reserved.Rejection
	w.Reserved.Rejection = runinfo.KeepIfEquivalent(before, "Run "+d.Name+" cannot be created: "+why.Error())
	if isAbsent {
		r.Reserved.set(w.Stack, w.Reserved)
	}
	if w.Reserved.Rejection == before {
		return why
	}
	r.Events.record(w, corev1.EventTypeWarning, v1alpha1.EventRunCreateFailed, "Reconcile", w.Reserved.Rejection)
	if d.Reason != v1alpha1.ReasonRunning && d.Reason != v1alpha1.ReasonDestroying {
		return why
	}
	d.Message = w.Reserved.Rejection
	_, err := r.report(ctx, w, d)
	if !isAbsent { // the report reserves its name, and it may exist
		r.Reserved.remove(client.ObjectKeyFromObject(w.Stack))
	}
	return errors.Join(why, err)
}

// reservationOf is the reservation of the Run that is to be created. That of the same Run is kept.
func reservationOf(w decision.Snapshot, d decision.Decision) decision.Reservation {
	if w.Reserved.Run == d.Name {
		return w.Reserved
	}
	return decision.Reservation{Run: d.Name, Before: w.Stack.Status.LastRun}
}

// owner is the owner reference of a Run to its Stack. It does not block the Stack's deletion: a foreground deletion
// would have the garbage collector delete a Run, and its pod, in the middle of an apply.
func owner(stack *v1alpha1.Stack) metav1.OwnerReference {
	ref := *metav1.NewControllerRef(stack, v1alpha1.GroupVersion.WithKind("Stack"))
	ref.BlockOwnerDeletion = nil
	return ref
}

// finish lets the Stack go, its State first.
func (r *Reconciler) finish(ctx context.Context, w decision.Snapshot, d decision.Decision) error {
	key, end := client.ObjectKeyFromObject(w.Stack), r.States.Delete
	switch {
	case !d.RemoveState:
		end = r.States.Orphan
	case w.State != nil && w.State.Status.Resources < 0: // the destroy went well, and that is all that can be known
		end = r.States.Purge
	}
	if err := end(ctx, key); err != nil {
		return r.stay(ctx, w, v1alpha1.ReasonStateCleanupFailed,
			"all resources are destroyed, but the State cannot be deleted yet, so the Stack stays; Cairn tries again",
			err)
	}
	for i := range w.Runs {
		if err := r.Runs.Forget(ctx, &w.Runs[i]); err != nil {
			return r.stay(ctx, w, v1alpha1.ReasonRunsCleanupFailed,
				fmt.Sprintf("the State is deleted, but the logs and plans of Run %s in the bucket cannot be yet, so "+
					"the Stack stays; Cairn tries again", w.Runs[i].Name), err)
		}
	}
	err := r.patch(ctx, w.Stack, func() { controllerutil.RemoveFinalizer(w.Stack, v1alpha1.Finalizer) })
	if err == nil && d.Reason != "" {
		r.Events.DecisionEvent(w, d)
	}
	return err
}

// stay reports why a Stack that may go does not, once while the reason is the same: each write causes an event, after
// which it would be retried at once.
func (r *Reconciler) stay(ctx context.Context, w decision.Snapshot, reason, message string, why error) error {
	d, _ := decision.Unready(reason, "%s: %v", message, why)
	if said := decision.ReadyOf(w.Stack.Status); said.Reason == reason {
		d.Message = runinfo.KeepIfEquivalent(said.Message, d.Message)
	}
	_, err := r.report(ctx, w, d)
	return errors.Join(why, err)
}

func (r *Reconciler) patch(ctx context.Context, stack *v1alpha1.Stack, change func()) error {
	before := stack.DeepCopy()
	change()
	return r.Client.Patch(ctx, stack, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
