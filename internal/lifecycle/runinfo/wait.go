package runinfo

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
)

// Wait is how long a Run was idle between a plan and its apply: it waited for an approval or for a window.
type Wait struct {
	// Ended is the duration of the waits that have ended.
	Ended time.Duration
	// Since is the start of the current wait; zero if the Run does not wait.
	Since time.Time
}

// WaitOf returns how long a Run was idle between its plans and what followed them.
func WaitOf(r *v1alpha1.Run) Wait {
	var w Wait
	for i, a := range r.Status.Attempts {
		if a.Phase != v1alpha1.AttemptPlan || a.FinishedAt == nil || a.Failure != nil {
			continue
		}
		planned := a.FinishedAt.Time
		switch isLast := i == len(r.Status.Attempts)-1; {
		case !isLast:
			w.Ended += max(0, r.Status.Attempts[i+1].StartedAt.Sub(planned))
		case r.Status.Phase == v1alpha1.PhaseAwaitingApproval:
			w.Since = planned
		case r.Status.FinishedAt != nil && applies(r):
			w.Ended += max(0, r.Status.FinishedAt.Sub(planned))
		}
	}
	return w
}

// applies reports whether a Run applies its plan, once it is approved.
func applies(r *v1alpha1.Run) bool {
	return r.Spec.Operation != v1alpha1.OperationPlan && r.Status.Plan != nil && r.Status.Plan.Changes
}

// Until returns the duration of all waits until now.
func (w Wait) Until(now time.Time) time.Duration {
	if w.Since.IsZero() {
		return w.Ended
	}
	return w.Ended + max(0, now.Sub(w.Since))
}

// Duration returns how long a Run was active, until now if it has not finished, and how long it waited meanwhile.
func Duration(r *v1alpha1.Run, now time.Time) (active, waited time.Duration) {
	if r.Status.FinishedAt != nil {
		now = r.Status.FinishedAt.Time
	}
	waited = WaitOf(r).Until(now)
	return max(0, now.Sub(r.CreationTimestamp.Time)-waited), waited
}

// WaitsForUser reports whether a user decided on the plan of a Run, or is to.
func WaitsForUser(r *v1alpha1.Run) bool {
	c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded)
	return r.Spec.Approval != nil || r.Spec.Rejection != nil || c != nil && c.Reason == v1alpha1.ReasonAwaitingApproval
}
