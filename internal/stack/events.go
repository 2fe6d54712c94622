package stack

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
)

// Recorder tells in events what the Ready condition says, when its reason has become another one that a person would
// want to know of. Progress is in the Run.
type Recorder struct{ events.EventRecorder }

// Tell records the decision.
func (r Recorder) Tell(w World, d Decision) {
	if d.Ready == metav1.ConditionUnknown {
		return
	}
	kind := corev1.EventTypeWarning
	switch d.Reason {
	case "Applied", "AwaitingApproval", "ChangesPending", "Suspended", "Destroyed", "RunCanceled", "RunRejected",
		run.ReasonCanceling, run.ReasonWindowClosed:
		kind = corev1.EventTypeNormal
	}
	r.Eventf(w.Stack, nil, kind, d.Reason, "Reconcile", "%s", d.Message)
}

// Refuse tells that nothing comes of what somebody asked for.
func (r Recorder) Refuse(w World, q run.Request, why string) {
	r.Eventf(w.Stack, nil, corev1.EventTypeWarning, "RequestRefused", "Reconcile", "the %s that was %s: %s", q.Operation, q.Who(), why)
}

func readyReason(s v1alpha1.StackStatus) string {
	if c := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}
