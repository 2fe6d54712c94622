package run

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// A podRefusal is what the API server says when it does not let a pod be made, and what can be done about it. It is known by its
// words: they are all that Kubernetes gives.
type podRefusal struct{ says, advice string }

// exceeded is what a ResourceQuota says of which others of the namespace have all.
const exceeded = "exceeded quota"

// podRefusals: the first that fits.
var podRefusals = []podRefusal{
	{exceeded, "it waits until others of the namespace have ended, or the ResourceQuota allows more"},
	{"failed quota", "the ResourceQuota asks for it: set spec.runner.resources"},
	{"usage per ", "the LimitRange asks for it: set spec.runner.resources"},
	{"must be less than or equal to", "a limit, which a LimitRange may have set, is below what is asked for: set spec.runner.resources"},
	{"violates PodSecurity", "change spec.runner.template, or what the namespace enforces"},
	{"error looking up service account", "make that ServiceAccount, or set spec.runner.serviceAccountName"},
	{"no PriorityClass with name", "make that PriorityClass, or change spec.runner.template"},
	{"RuntimeClass", "make that RuntimeClass, or change spec.runner.template"},
	{"is being terminated", "the namespace is being deleted"},
	{"cannot create resource", "Cairn has no permission to make pods in this namespace"},
	{"ValidatingAdmissionPolicy", "that policy has to let it, or spec.runner has to change"},
	{"denied the request", "that webhook has to let it, or spec.runner has to change"},
	{"failed calling webhook", "that webhook has to answer again"},
}

// IsRefusal says that an error is the API server's answer to this pod, or Run, and not a mishap on the way: it will be the same until
// somebody changes something, so the Run, or the Stack, tells it.
func IsRefusal(err error) bool {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), errors.Is(err, errForeign):
		return true
	case !errors.As(err, &status):
		return false
	}
	return strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "failed calling webhook")
}

// refused is the status when the API server does not let the pod be made. It is asked again after a while, since nothing tells
// when that has changed, and more and more rarely the longer the Run has waited.
func refused(w World, s v1alpha1.RunStatus, why error) (v1alpha1.RunStatus, Decision) {
	d := Decision{Phase: s.Phase, Reason: v1alpha1.ReasonPodCreateFailed, Message: "the pod cannot be made: " + why.Error(), RequeueAfter: askAgain(w)}
	for _, r := range podRefusals {
		if strings.Contains(why.Error(), r.says) {
			d.Message += "; " + r.advice
			break
		}
	}
	if apierrors.HasStatusCause(why, corev1.NamespaceTerminatingCause) {
		d.Message = "the pod cannot be made: namespace " + w.Run.Namespace + " is being deleted"
	}
	said := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSucceeded)
	if said != nil && said.Reason == d.Reason && !strings.Contains(d.Message, exceeded) { // the numbers of a quota are what is to be told
		d.Message = runinfo.Steady(said.Message, runinfo.Clip(d.Message, longestMessage))
	}
	if d.Phase == "" {
		d.Phase = v1alpha1.PhaseQueued
	}
	return enact(s, d, w.Run.Generation, attemptPod{}, w.Now), d
}

// How often a pod that was refused is tried again.
const (
	soonest = 10 * time.Second
	latest  = 2 * time.Minute
)

// askAgain is when a pod that was refused is tried again: a quarter of the time that the Run has waited for it.
func askAgain(w World) time.Duration {
	since := w.Run.CreationTimestamp.Time
	if a := current(&w.Run.Status); a != nil && a.FinishedAt != nil {
		since = a.FinishedAt.Time
	}
	return min(max(w.Now.Sub(since)/4, soonest), latest)
}
