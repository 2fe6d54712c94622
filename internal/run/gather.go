package run

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/decision"
	"cairn.dev/cairn/internal/run/diagnosis"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/run/podspec"
	"cairn.dev/cairn/internal/run/runinfo"
)

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
	w.ImageKey, err = r.imageKey(ctx, run, w.Stack)
	// A lost attempt ends here, and the next one may begin in the same pass: an error of imageKey is reported when that pod is created.
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
	err := r.Client.List(ctx, &runs, client.InNamespace(run.Namespace), client.MatchingFields{index.StackField: run.Spec.Stack.Name},
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
			return fmt.Sprintf("%s %s not found (%s): recreate it, or set spec.deletionPolicy of the Stack to Orphan to leave everything as it is",
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
