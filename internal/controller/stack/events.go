package stack

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/internal/controller/stack/decision"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Recorder records events for the Ready condition, when its reason changed to one that a user needs to see.
// The Run has the events of its progress.
type Recorder struct{ events.EventRecorder }

// DecisionEvent records the decision.
func (r Recorder) DecisionEvent(w decision.Snapshot, d decision.Decision) {
	if d.Ready == metav1.ConditionUnknown {
		return
	}
	kind := corev1.EventTypeWarning
	if reason, known := v1alpha1.ReasonNamed(d.Reason); known && reason.Severity == v1alpha1.SeverityNormal {
		kind = corev1.EventTypeNormal
	}
	r.record(w, kind, d.Reason, "Reconcile", d.Message)
}

// PruneFailed records that Runs past spec.runHistoryLimit are not deleted, and how many of the deleted ones still have
// objects in the bucket.
func (r Recorder) PruneFailed(w decision.Snapshot, left int, why error) {
	var text []string
	if n := len(w.Unpruned); n == 1 {
		text = append(text, fmt.Sprintf("Run %s, past spec.runHistoryLimit, cannot be deleted", w.Unpruned[0]))
	} else if n > 1 {
		text = append(text, fmt.Sprintf("Run %s, and %d more past spec.runHistoryLimit, cannot be deleted",
			w.Unpruned[0], n-1))
	}
	if left > 0 {
		text = append(text, fmt.Sprintf("the logs and plans of %d deleted Runs are still in the bucket", left))
	}
	r.record(w, corev1.EventTypeWarning, v1alpha1.EventOldRunsCleanupFailed, "Prune",
		fmt.Sprintf("%s: %v", strings.Join(text, "; "), why))
}

// RequestRejected records that a request of a user is rejected.
func (r Recorder) RequestRejected(w decision.Snapshot, q runinfo.Request, why string) {
	r.record(w, corev1.EventTypeWarning, v1alpha1.EventRequestRejected, "Reconcile",
		fmt.Sprintf("the %s that was %s: %s", q.Operation, q.Who(), why))
}

// FinalizerRestored records that a user removed the finalizer of a Stack that is not being deleted.
func (r Recorder) FinalizerRestored(w decision.Snapshot) {
	r.record(w, corev1.EventTypeWarning, v1alpha1.EventFinalizerRestored, "Reconcile", "the finalizer "+
		v1alpha1.Finalizer+
		" was removed, as kubectl replace and kubectl edit can do, and is set again: without it a deletion of the "+
		"Stack would not destroy its resources; use kubectl apply or patch")
}

func (r Recorder) record(w decision.Snapshot, kind, reason, action, text string) {
	r.Eventf(w.Stack, nil, kind, reason, action, "%s", text)
}
