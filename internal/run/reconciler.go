// Package run has the reconciler of Runs: it gathers a snapshot, decides, creates pods and writes the status.
package run

import (
	"cmp"

	"k8s.io/utils/ptr"

	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/decision"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/run/podspec"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/run/scheduler"
	"cairn.dev/cairn/internal/run/telemetry"
)

// Reconciler creates the pods of a Run, and writes its status from what they report, until the Run is finished.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache, where an old view could start a second pod or lose one.
	Live      client.Reader
	Inputs    *inputs.Store
	Scheduler *scheduler.Scheduler
	Pods      podspec.Settings
	// Recorder records what was written; nil for none.
	Recorder *telemetry.Recorder
	// Clock; time.Now when nil.
	Clock func() time.Time
}

// Reconcile gathers, decides, acts and reports.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.Run{}
	err := r.Client.Get(ctx, req.NamespacedName, run)
	if apierrors.IsNotFound(err) || (err == nil && (run.Status.Phase.Finished() || run.DeletionTimestamp != nil)) {
		r.Scheduler.Remove(ctx, req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	snapshot, err := r.gather(ctx, run)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("gather: %w", err)
	}
	status, decision := decision.Settle(snapshot)
	switch {
	case decision.NeedsPod():
		status, decision, err = r.begin(ctx, snapshot, status, decision)
	case beginsInPod(run, &status):
		status, decision, err = r.beginInPod(ctx, snapshot, status, decision)
	default:
		r.Scheduler.Observe(ctx, run, snapshot.Stack, &status)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	// The report goes before the end of a pod: a pod that is deleted by intent is not to be taken for a lost one.
	if err := r.report(ctx, run, status); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(ignoreConflict(err))
	}
	if decision.DeletePod {
		if err := r.deletePod(ctx, run); err != nil {
			return ctrl.Result{}, err
		}
	}
	if endsEarly(&run.Status) {
		if err := r.deleteLeftover(ctx, run); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: decision.RequeueAfter}, nil
}

// begin creates the pod of the attempt that was decided on, if the scheduler admits the Run. Before the first one the API server is
// asked whether the Stack named a later Run: a former leader may have created this one late, and an old view of the Stack may not
// have that.
func (r *Reconciler) begin(ctx context.Context, w decision.Snapshot, status v1alpha1.RunStatus, d decision.Decision) (v1alpha1.RunStatus, decision.Decision, error) {
	admission, err := r.Scheduler.Admit(ctx, w.Run, w.Stack, d.Begin)
	if err != nil {
		return status, d, err
	}
	if !admission.Start {
		status, d = queued(status, admission, w.Run.Generation, w.Now)
		return status, d, nil
	}
	if len(w.Run.Status.Attempts) == 0 {
		if w.Stack, err = index.StackIn(ctx, r.Live, w.Run); err != nil {
			return status, d, err
		}
		if status, d = decision.Settle(w); !d.NeedsPod() {
			r.Scheduler.Observe(ctx, w.Run, w.Stack, &status)
			return status, d, nil
		}
	}
	run := *w.Run
	run.Status = status // it may have the image of the plan since
	pod, err := r.pod(ctx, &run, w.Stack, d, runinfo.NextNumber(&status))
	if err != nil && d.Begin == v1alpha1.AttemptBuild {
		err = explainBuildRejection(err)
	}
	var unfit *podspec.InvalidError
	switch {
	case errors.As(err, &unfit):
		r.Scheduler.Remove(ctx, client.ObjectKeyFromObject(w.Run))
		status, d = invalidPod(status, unfit, w.Run.Generation, w.Now)
	case err != nil && isInputsLost(err):
		r.Scheduler.Remove(ctx, client.ObjectKeyFromObject(w.Run))
		status, d = lostInputs(w, status, err)
	case err != nil && IsRejection(err):
		r.Scheduler.Remove(ctx, client.ObjectKeyFromObject(w.Run))
		status, d = rejectedPod(w, status, err)
	case err != nil:
		return status, d, err
	default:
		status = decision.Begin(status, d, w.Run.Generation, pod.Name, pod.UID, w.Now)
	}
	return status, d, nil
}

// beginsInPod reports whether the status begins an attempt in the pod of the one before.
func beginsInPod(run *v1alpha1.Run, status *v1alpha1.RunStatus) bool {
	before, after := runinfo.Current(&run.Status), runinfo.Current(status)
	return before != nil && after != nil && before.FinishedAt != nil && after.FinishedAt == nil && before.Number < after.Number
}

// beginInPod begins the apply in the pod that planned, if the scheduler admits the Run: an idle pod does not count as running.
func (r *Reconciler) beginInPod(ctx context.Context, w decision.Snapshot, status v1alpha1.RunStatus, d decision.Decision) (v1alpha1.RunStatus, decision.Decision, error) {
	admission, err := r.Scheduler.Admit(ctx, w.Run, w.Stack, v1alpha1.AttemptApply)
	if err == nil && !admission.Start {
		status, d = queued(w.Run.Status, admission, w.Run.Generation, w.Now)
	}
	return status, d, err
}

// errNameTaken: the name of a pod is taken.
var errNameTaken = errors.New("it exists and is not of this Run: it has to go first")

// pod creates the attempt's pod, or adopts the one that an earlier pass created and could not report.
func (r *Reconciler) pod(ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack, d decision.Decision, number int32) (*corev1.Pod, error) {
	doc, err := r.Inputs.Get(ctx, run.Spec.InputsDigest)
	if err != nil {
		return nil, err
	}
	if doc, err = podspec.WithImage(doc, d.Begin, cmp.Or(d.Image, run.Status.Image)); err != nil {
		return nil, err
	}
	pod, err := podspec.New(run, stack, doc, d.Begin, number, r.Pods)
	if err != nil {
		return nil, err
	}
	if run.Spec.Operation == v1alpha1.OperationDestroy {
		if err := r.replaceLostServiceAccount(ctx, pod); err != nil {
			return nil, err
		}
	}
	err = r.Client.Create(ctx, pod)
	if !apierrors.IsAlreadyExists(err) {
		return pod, err
	}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(pod, run) {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, errNameTaken)
	}
	return pod, nil
}

// replaceLostServiceAccount runs a destroy with the namespace's default ServiceAccount when the Stack's own was deleted before it.
func (r *Reconciler) replaceLostServiceAccount(ctx context.Context, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName == podspec.DefaultServiceAccount {
		return nil
	}
	account := &metav1.PartialObjectMetadata{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}, account)
	if apierrors.IsNotFound(err) {
		pod.Spec.ServiceAccountName = podspec.DefaultServiceAccount
		return nil
	}
	return err
}

func (r *Reconciler) report(ctx context.Context, run *v1alpha1.Run, status v1alpha1.RunStatus) error {
	if equality.Semantic.DeepEqual(run.Status, status) {
		return nil
	}
	before := run.DeepCopy()
	run.Status = status
	var how []client.SubResourcePatchOption
	if status.Phase == v1alpha1.PhaseSucceeded { // a cache without such Runs may never receive it
		how = append(how, client.DisableReadYourWritesConsistency)
	}
	return r.Recorder.WriteStatus(ctx, r.Client, before, run, how...)
}

// deletePod deletes the pod of the last attempt, if it is still the one that the attempt names.
func (r *Reconciler) deletePod(ctx context.Context, run *v1alpha1.Run) error {
	a := runinfo.Current(&run.Status)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: a.Pod}}
	return client.IgnoreNotFound(ignoreConflict(r.Client.Delete(ctx, pod, client.Preconditions{UID: ptr.To(types.UID(a.PodUID))})))
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil // the newer version is on its way as an event
	}
	return err
}
