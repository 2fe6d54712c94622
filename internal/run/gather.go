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
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/runinfo"
)

// StackIndex is the field by which the cache finds a Stack's Runs.
const StackIndex = "spec.stack.name"

// IndexStack gives the value of StackIndex.
func IndexStack(o client.Object) []string {
	return []string{o.(*v1alpha1.Run).Spec.Stack.Name}
}

// UnfinishedIndex is the field by which the cache finds those of a Stack's Runs that are not finished, which are few.
const UnfinishedIndex = "unfinished"

// IndexUnfinished gives the value of UnfinishedIndex.
func IndexUnfinished(o client.Object) []string {
	if o.(*v1alpha1.Run).Status.Phase.Finished() {
		return nil
	}
	return IndexStack(o)
}

// WaitingIndex is the field by which the cache finds the Runs whose condition has a reason, as long as they are not finished.
const WaitingIndex = "status.reason"

// IndexWaiting gives the value of WaitingIndex.
func IndexWaiting(o client.Object) []string {
	if o.(*v1alpha1.Run).Status.Phase.Finished() {
		return nil
	}
	for _, c := range o.(*v1alpha1.Run).Status.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded {
			return []string{c.Reason}
		}
	}
	return nil
}

func (r *Reconciler) gather(ctx context.Context, run *v1alpha1.Run) (World, error) {
	w := World{Now: r.now(), Run: run}
	var err error
	if w.Stack, err = StackOf(ctx, r.Client, r.Live, run); err != nil {
		return w, err
	}
	if a := current(&run.Status); a != nil {
		if w.Pod, err = r.observe(ctx, run, a); err != nil {
			return w, err
		}
	}
	if w.Stack == nil {
		return w, nil
	}
	w.ImageKey, err = r.imageKey(ctx, run, w.Stack)
	if unfinished(w) != nil { // its attempt may be found lost, and the next begun in the same pass: who makes that pod says what cannot be read
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

// observe tells the state of an attempt's pod. The cache may be behind: only the API server itself says that it is gone.
func (r *Reconciler) observe(ctx context.Context, run *v1alpha1.Run, a *v1alpha1.Attempt) (Pod, error) {
	key, pod := client.ObjectKey{Namespace: run.Namespace, Name: a.Pod}, &corev1.Pod{}
	err := r.Client.Get(ctx, key, pod)
	if apierrors.IsNotFound(err) || (err == nil && pod.UID != a.PodUID) {
		err = r.Live.Get(ctx, key, pod)
	}
	switch {
	case apierrors.IsNotFound(err):
		return observePod(nil, true, false), nil
	case err != nil:
		return Pod{}, err
	}
	return observePod(pod, pod.UID != a.PodUID, heard(run, a)), nil
}

// older names an unfinished Run of the same Stack that was made before this one.
func (r *Reconciler) older(ctx context.Context, run *v1alpha1.Run) (string, error) {
	var runs v1alpha1.RunList
	err := r.Client.List(ctx, &runs, client.InNamespace(run.Namespace), client.MatchingFields{StackIndex: run.Spec.Stack.Name},
		client.UnsafeDisableDeepCopy) // they are only looked at
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

// missing names what a destroy's environment needs and nobody kept. Other Runs are made only when all is there.
func (r *Reconciler) missing(ctx context.Context, run *v1alpha1.Run) (string, error) {
	if run.Spec.Operation != v1alpha1.OperationDestroy {
		return "", nil
	}
	doc, err := r.Inputs.Get(ctx, run.Spec.InputsDigest)
	if inputsGone(err) {
		return "", nil // whoever makes the pod says so
	}
	if err != nil {
		return "", err
	}
	for _, need := range environment(doc) {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(need.kind))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: need.name}, o)
		if apierrors.IsNotFound(err) {
			return fmt.Sprintf("%s %s is missing (%s): make it again, or set spec.deletionPolicy of the Stack to Orphan to leave everything as it is", need.kind, need.name, need.why), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// need is an object that a pod cannot start without.
type need struct{ kind, name, why string }

// environment lists what the environment of a Run is read from, in the order of the spec.
func environment(doc inputs.Document) []need {
	var needs []need
	add := func(kind, name, why string, optional *bool) {
		if optional == nil || !*optional {
			needs = append(needs, need{kind, name, why})
		}
	}
	for _, e := range doc.Env {
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			add("Secret", from.SecretKeyRef.Name, "env "+e.Name+" is read from it", from.SecretKeyRef.Optional)
		}
		if from := e.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			add("ConfigMap", from.ConfigMapKeyRef.Name, "env "+e.Name+" is read from it", from.ConfigMapKeyRef.Optional)
		}
	}
	for _, e := range doc.EnvFrom {
		if e.SecretRef != nil {
			add("Secret", e.SecretRef.Name, "envFrom reads it", e.SecretRef.Optional)
		}
		if e.ConfigMapRef != nil {
			add("ConfigMap", e.ConfigMapRef.Name, "envFrom reads it", e.ConfigMapRef.Optional)
		}
	}
	for _, m := range doc.ModuleCredentials {
		add("Secret", m.Secret.Name, "credentials for modules from "+m.Host+" are read from it", nil)
	}
	for _, r := range TemplateReads(doc.Template) {
		add(r.Kind, r.Name, r.Why+" reads it", &r.Optional)
	}
	return needs
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}
