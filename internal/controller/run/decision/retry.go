package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

func attemptFailed(w Snapshot) (Decision, bool) {
	a := runinfo.Current(&w.Run.Status)
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
	case w.Stack.Spec.Suspend: // it is not tried again at that time
	case isLeft(at.Sub(w.Now), backoff(retry, w.Run.Status.Retries)):
		return Decision{Reason: v1alpha1.ReasonRetrying, RequeueAfter: at.Sub(w.Now),
			Message: fmt.Sprintf("%s: %s; retry %d of %d at %s", failedStep(a), a.Failure.Message,
				w.Run.Status.Retries+1, limit, at.UTC().Format(time.TimeOnly+"Z07:00"))}, true
	}
	return startIn(w, v1alpha1.AttemptPlan), true
}

// stateGracePeriod is how long a Run waits after an apply whose pod vanished, so that nothing is planned meanwhile, by
// it or by the next Run. The object of a pod that is deleted by force goes at once, and its runner is terminated like
// any other: it has this time to interrupt the engine and to upload the state, which a plan needs. So has a runner
// whose server answers that its attempt is over.
const stateGracePeriod = 2 * time.Minute

// runnerMayBeLeft: an apply was lost with a pod whose end was not observed. Whatever follows waits, also the end of the
// Run, after which another one may begin.
func runnerMayBeLeft(w Snapshot) (Decision, bool) {
	a := runinfo.Current(&w.Run.Status)
	if a == nil || !vanished(a) {
		return Decision{}, false
	}
	until := a.FinishedAt.Add(stateGracePeriod)
	if !isLeft(until.Sub(w.Now), stateGracePeriod) {
		return Decision{}, false
	}
	d := Decision{Reason: v1alpha1.ReasonPodTerminating, RequeueAfter: until.Sub(w.Now), Message: fmt.Sprintf(
		"%s: %s; its runner may be left and has until %s to hand in the state, before anything follows",
		failedStep(a), a.Failure.Message, until.UTC().Format(time.TimeOnly+"Z07:00"))}
	if w.Run.Spec.Cancel {
		d.Reason, d.Message = v1alpha1.ReasonCanceling, canceledBy(w.Run)+"; "+d.Message
	}
	return d, true
}

// vanished reports whether an apply was lost with a pod whose end was not observed.
func vanished(a *v1alpha1.Attempt) bool {
	return runinfo.IsApply(*a) && a.FinishedAt != nil && a.Failure != nil &&
		a.Failure.Class == v1alpha1.FailurePodLost && a.Failure.Reason == v1alpha1.FailurePodVanished
}

// isFinal reports whether trying again on the same inputs is of no use, or not safe.
func isFinal(class v1alpha1.FailureClass) bool {
	return class == v1alpha1.FailureConfigurationError || class == v1alpha1.FailurePolicyDenied ||
		class == v1alpha1.FailureStateNotSaved
}

// isLeft reports whether some of a wait is left. Where there seems to be more than all of it, and than clocks may
// differ, the clock of who wrote when it began was ahead, by a year perhaps, and nothing waits for that.
func isLeft(left, whole time.Duration) bool { return left > 0 && left <= whole+runinfo.MaxClockSkew }

// backoff before retry number n+1.
func backoff(r v1alpha1.Retry, n int32) time.Duration {
	d := r.Backoff.Duration << min(n, 30)
	if d > r.MaxBackoff.Duration || d < r.Backoff.Duration {
		return r.MaxBackoff.Duration
	}
	return d
}

// failedStep names the step that an attempt failed at, or else what it was at: the last that failed, since an attempt
// may continue after a failed hook.
func failedStep(a *v1alpha1.Attempt) string {
	for _, s := range slices.Backward(a.Steps) {
		if s.State == v1alpha1.StepFailed {
			return s.Name
		}
	}
	return strings.ToLower(string(a.Phase))
}
