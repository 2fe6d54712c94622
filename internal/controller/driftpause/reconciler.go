// Package driftpause reconciles DriftPauses: it detects that an unusual number of Stacks of a namespace began to drift,
// and records that a user resumed the corrections.
package driftpause

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/massdrift"
)

// What the operator does here.
//
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=driftpauses,verbs=create;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=driftpauses/status,verbs=patch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=stacks,verbs=list;watch
// +kubebuilder:rbac:roleName=operator,groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler creates the DriftPause of a namespace, and writes its status. Nothing else writes them, so a pause begins
// and ends here only.
type Reconciler struct {
	Client client.Client
	// Limits are from which number of Stacks on no drift is corrected.
	Limits massdrift.Limits
	Events events.EventRecorder
	// Clock returns the time; time.Now when nil.
	Clock func() time.Time
}

// Reconcile records the decision of a user, or begins a pause.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pause := &v1alpha1.DriftPause{}
	err := r.Client.Get(ctx, req.NamespacedName, pause)
	exists := err == nil
	if client.IgnoreNotFound(err) != nil || exists && pause.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var stacks v1alpha1.StackList
	if err := r.Client.List(ctx, &stacks, client.InNamespace(req.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	known := make([]massdrift.Stack, len(stacks.Items))
	for i := range stacks.Items {
		known[i] = massdrift.Of(&stacks.Items[i])
	}
	if !exists {
		if _, change := decide(pause, exists, known, r.now(), r.Limits); change == none {
			return ctrl.Result{}, nil
		}
		pause = &v1alpha1.DriftPause{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
		if err := r.Client.Create(ctx, pause); err != nil { // it pauses already, without a status
			return ctrl.Result{}, client.IgnoreAlreadyExists(err) // an event brings that one
		}
	}
	before := pause.DeepCopy()
	next, change := decide(pause, true, known, r.now(), r.Limits)
	if equality.Semantic.DeepEqual(before.Status, next) {
		return ctrl.Result{}, nil
	}
	pause.Status = next
	err = r.Client.Status().Patch(ctx, pause, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: time.Second}, nil
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.record(pause, change)
	return ctrl.Result{}, nil
}

func (r *Reconciler) record(pause *v1alpha1.DriftPause, change change) {
	ready := apimeta.FindStatusCondition(pause.Status.Conditions, v1alpha1.ConditionReady)
	switch change {
	case begins:
		r.Events.Eventf(pause, nil, corev1.EventTypeWarning, ready.Reason, "Pause", "%s", ready.Message)
	case ends:
		r.Events.Eventf(pause, nil, corev1.EventTypeNormal, ready.Reason, "Resume", "%s", ready.Message)
	}
}

func (r *Reconciler) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}

// A change is what a decision does to the corrections of a namespace.
type change int

const (
	none change = iota
	begins
	ends
)

// decide returns the status of a DriftPause, which exists or is to be created. A pause that began only ends by the
// decision of a user about it: one about an earlier pause does not count.
func decide(
	p *v1alpha1.DriftPause, exists bool, stacks []massdrift.Stack, now time.Time, limits massdrift.Limits,
) (v1alpha1.DriftPauseStatus, change) {
	s := *p.Status.DeepCopy()
	s.ObservedGeneration = p.Generation
	at := metav1.NewTime(now.Truncate(time.Second)) // as the API server stores it
	condition := func(ready metav1.ConditionStatus, reason, text string) {
		apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: ready, Reason: reason, Message: text,
			ObservedGeneration: p.Generation, LastTransitionTime: at,
		})
	}
	if resume := p.Spec.Resume; s.Since != nil {
		if resume == nil || !resume.Since.Equal(s.Since) {
			return s, none
		}
		s.Since, s.Resumed = nil, &v1alpha1.ResumedDrift{Time: at, By: resume.By}
		condition(metav1.ConditionTrue, v1alpha1.ReasonResumed, resume.By+" resumed the corrections of drift")
		return s, ends
	}
	f, unusual := massdrift.Find(stacks, massdrift.ResumedAt(p), now, limits)
	if !unusual && (!exists || !massdrift.Paused(p)) {
		return s, none
	}
	s.Since, s.Drifted, s.Checked, s.Stacks = &at, int32(f.Drifted), int32(f.Checked), f.Stacks
	condition(metav1.ConditionFalse, v1alpha1.ReasonMassDrift, describe(f, p.Namespace))
	return s, begins
}

// describe is the message of a pause: what happened, and what to do.
func describe(f massdrift.Finding, namespace string) string {
	what := "a user created this DriftPause"
	if f.Drifted > 0 {
		more := ""
		if n := f.Drifted - len(f.Stacks); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		what = fmt.Sprintf("%d of %d Stacks that were checked began to drift within an hour: %s%s",
			f.Drifted, f.Checked,
			strings.Join(f.Stacks, ", "), more)
	}
	return fmt.Sprintf("%s; no drift is corrected (spec.drift.onDrift: Apply): find the cause, such as an outage of "+
		"a provider, then cairn drift resume -n %s", what, namespace)
}
