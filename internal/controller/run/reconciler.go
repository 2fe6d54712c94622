// Package run has the reconciler of Runs: it gathers a snapshot, decides, creates pods and writes the status.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/diagnosis"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/internal/controller/run/telemetry"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
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
	switch {
	case apierrors.IsNotFound(err), err == nil && run.DeletionTimestamp != nil:
		r.Scheduler.Remove(ctx, req.NamespacedName)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case run.Status.Phase.Finished():
		r.Scheduler.Remove(ctx, req.NamespacedName)
		return ctrl.Result{}, errors.Join(r.deleteUnusedPods(ctx, run), r.deletePodsKeptRunning(ctx, run))
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
	// After the report, which has how the pods ended.
	return ctrl.Result{RequeueAfter: decision.RequeueAfter}, r.deletePodsKeptRunning(ctx, run)
}

// begin creates the pod of the attempt that was decided on, if the scheduler admits the Run. Before the first one the
// API server is asked whether the Stack named a later Run: a former leader may have created this one late, and an old
// view of the Stack may not have that.
func (r *Reconciler) begin(ctx context.Context, w decision.Snapshot, status v1alpha1.RunStatus,
	d decision.Decision) (v1alpha1.RunStatus, decision.Decision, error) {
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
	pod, err := r.verifiedPod(ctx, &run, w.Stack, d)
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
		status, d = rejectedPod(w, status, pod, err)
	case err != nil:
		return status, d, err
	default:
		status = decision.Begin(status, d, w.Run.Generation, pod.Name, pod.UID, w.Now)
	}
	return status, d, nil
}

// verifiedPod creates the pod of the next attempt. After a failed one its inputs are verified: the server may not have
// been able to read them.
func (r *Reconciler) verifiedPod(
	ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack, d decision.Decision,
) (*corev1.Pod, error) {
	if last := runinfo.Current(&run.Status); last != nil && last.Failure != nil {
		if err := r.Inputs.Verify(ctx, run.Spec.InputsDigest); err != nil {
			return nil, err
		}
	}
	return r.pod(ctx, run, stack, d, runinfo.NextNumber(&run.Status))
}

// beginsInPod reports whether the status begins an attempt in the pod of the one before.
func beginsInPod(run *v1alpha1.Run, status *v1alpha1.RunStatus) bool {
	before, after := runinfo.Current(&run.Status), runinfo.Current(status)
	return before != nil && after != nil && before.FinishedAt != nil && after.FinishedAt == nil &&
		before.Number < after.Number
}

// beginInPod begins the apply in the pod that planned, if the scheduler admits the Run: an idle pod does not count as
// running.
func (r *Reconciler) beginInPod(ctx context.Context, w decision.Snapshot, status v1alpha1.RunStatus,
	d decision.Decision) (v1alpha1.RunStatus, decision.Decision, error) {
	admission, err := r.Scheduler.Admit(ctx, w.Run, w.Stack, v1alpha1.AttemptApply)
	if err == nil && !admission.Start {
		status, d = queued(w.Run.Status, admission, w.Run.Generation, w.Now)
	}
	return status, d, err
}

// errNameTaken: the name of a pod is taken.
var errNameTaken = errors.New("it exists and is not of this Run: it has to go first")

// pod creates the attempt's pod, or adopts the one that an earlier pass created and could not report.
func (r *Reconciler) pod(ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack, d decision.Decision,
	number int32) (*corev1.Pod, error) {
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

// replaceLostServiceAccount runs a destroy with the namespace's default ServiceAccount when the Stack's own was deleted
// before it.
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
	return r.Recorder.WriteStatus(ctx, r.Client, before, run)
}

// deletePod deletes the pod of the last attempt, if it is still the one that the attempt names.
func (r *Reconciler) deletePod(ctx context.Context, run *v1alpha1.Run) error {
	a := runinfo.Current(&run.Status)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: a.Pod}}
	return client.IgnoreNotFound(
		ignoreConflict(r.Client.Delete(ctx, pod, client.Preconditions{UID: ptr.To(types.UID(a.PodUID))})))
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil // the newer version is on its way as an event
	}
	return err
}

func (r *Reconciler) gather(ctx context.Context, run *v1alpha1.Run) (decision.Snapshot, error) {
	w := decision.Snapshot{Now: r.now(), Run: run}
	var err error
	if w.Stack, err = index.StackOf(ctx, r.Client, r.Live, run); err != nil {
		return w, err
	}
	if a := runinfo.Current(&run.Status); a != nil {
		if w.Pod, err = r.observe(ctx, run, a); err != nil {
			return w, err
		}
	}
	if w.Stack == nil {
		return w, nil
	}
	if w.StackPolicies, err = index.StackPoliciesOf(ctx, r.Client, r.Live, w.Stack); err != nil {
		return w, err
	}
	w.ImageKey, err = r.imageKey(ctx, run, w.Stack)
	// A lost attempt ends here, and the next one may begin in the same pass: an error of imageKey is reported when that
	// pod is created.
	if decision.Unfinished(w) != nil {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	if w.Older, err = r.older(ctx, run); err != nil {
		return w, err
	}
	w.Missing, err = r.missing(ctx, run)
	return w, err
}

// observe returns the state of an attempt's pod. The cache may be old: only the API server decides that it is gone.
func (r *Reconciler) observe(ctx context.Context, run *v1alpha1.Run, a *v1alpha1.Attempt) (decision.Pod, error) {
	key, pod := client.ObjectKey{Namespace: run.Namespace, Name: a.Pod}, &corev1.Pod{}
	err := r.Client.Get(ctx, key, pod)
	if apierrors.IsNotFound(err) || (err == nil && pod.UID != a.PodUID) {
		err = r.Live.Get(ctx, key, pod)
	}
	switch {
	case apierrors.IsNotFound(err):
		return diagnosis.Observe(nil, true, false), nil
	case err != nil:
		return decision.Pod{}, err
	}
	return diagnosis.Observe(pod, pod.UID != a.PodUID, runinfo.HasReported(run, a)), nil
}

// older names an unfinished Run of the same Stack that was created before this one.
func (r *Reconciler) older(ctx context.Context, run *v1alpha1.Run) (string, error) {
	var runs v1alpha1.RunList
	err := r.Client.List(ctx, &runs, client.InNamespace(run.Namespace),
		client.MatchingFields{index.StackField: run.Spec.Stack.Name},
		client.UnsafeDisableDeepCopy) // they are only read
	if err != nil {
		return "", err
	}
	for _, other := range runs.Items {
		if !other.Status.Phase.Finished() && runinfo.Number(other.Name) < runinfo.Number(run.Name) {
			return other.Name, nil
		}
	}
	return "", nil
}

// missing names what a destroy's environment needs and was not found. Other Runs are created only when all exists.
func (r *Reconciler) missing(ctx context.Context, run *v1alpha1.Run) (string, error) {
	if run.Spec.Operation != v1alpha1.OperationDestroy {
		return "", nil
	}
	doc, err := r.Inputs.Get(ctx, run.Spec.InputsDigest)
	if isInputsLost(err) {
		return "", nil // reported when the pod is created
	}
	if err != nil {
		return "", err
	}
	for _, need := range podspec.References(doc) {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(need.Kind))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: need.Name}, o)
		if apierrors.IsNotFound(err) {
			return fmt.Sprintf("%s %s not found (%s): recreate it, or set spec.deletionPolicy of the Stack to Orphan "+
				"to leave everything as it is",
				need.Kind, need.Name, need.Why), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
