package run

import (
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

func attemptFailed(w World) (Decision, bool) {
	a := current(&w.Run.Status)
	if a == nil || a.Failure == nil {
		return Decision{}, false
	}
	retry := w.Stack.Spec.Retry
	limit, at := *retry.Limit, w.Run.Status.NextAttempt
	switch {
	case isFinal(a.Failure.Class):
		return Decision{Phase: v1alpha1.PhaseFailed, Reason: string(a.Failure.Class),
			Message: fmt.Sprintf("%s: %s", failedStep(a), a.Failure.Message)}, true
	case w.Run.Status.Retries >= limit:
		d := Decision{Phase: v1alpha1.PhaseFailed, Reason: string(a.Failure.Class),
			Message: fmt.Sprintf("%s: %s", failedStep(a), a.Failure.Message)}
		if n := w.Run.Status.Retries; n > 0 {
			d.Message += fmt.Sprintf(" (tried %d times)", n+1)
		}
		return d, true
	case at == nil:
		return Decision{RetryAt: a.FinishedAt.Add(backoff(retry, w.Run.Status.Retries))}, true
	case w.Now.Before(at.Time):
		return Decision{Reason: ReasonRetrying, RequeueAfter: at.Sub(w.Now),
			Message: fmt.Sprintf("%s: %s; retry %d of %d at %s", failedStep(a), a.Failure.Message,
				w.Run.Status.Retries+1, limit, at.UTC().Format(time.TimeOnly+"Z07:00"))}, true
	}
	return start(w, v1alpha1.AttemptPlan), true
}

// isFinal says that trying again on the same inputs is of no use, or not safe.
func isFinal(class v1alpha1.FailureClass) bool {
	return class == v1alpha1.FailureConfig || class == v1alpha1.FailurePolicy || class == v1alpha1.FailureStranded
}

// backoff before retry number n+1.
func backoff(r v1alpha1.Retry, n int32) time.Duration {
	d := r.Backoff.Duration << min(n, 30)
	if d > r.MaxBackoff.Duration || d < r.Backoff.Duration {
		return r.MaxBackoff.Duration
	}
	return d
}
