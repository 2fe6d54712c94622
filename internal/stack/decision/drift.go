package decision

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// The rules for drift. A check is a Run that plans the inputs which are applied: whatever it would change is drift. While
// one is under way, and when one fails, the Stack goes on to say what it said before.

// driftCheckInterval is the time between two drift checks; 0 for none.
func driftCheckInterval(w Snapshot) time.Duration {
	interval, _ := intervalAndSource(w)
	return interval
}

// intervalAndSource is the time between two drift checks, 0 for none, and what sets it: the Stack goes before the installation.
func intervalAndSource(w Snapshot) (time.Duration, v1alpha1.IntervalSource) {
	if d := w.Stack.Spec.Drift; d != nil && d.Interval != nil {
		return d.Interval.Duration, v1alpha1.IntervalFromStack
	}
	return w.DriftInterval, v1alpha1.IntervalFromInstallation
}

// readOnlyRunIsUnderWay: a Run that only looks changes nothing, so that all but the start of another Run is as without it.
func readOnlyRunIsUnderWay(w Snapshot) (Decision, bool) {
	r := w.ActiveRun()
	if r == nil || !w.isReadOnly(r) {
		return Decision{}, false
	}
	if w.Problem == nil && w.Digest != r.Spec.InputsDigest { // it is superseded, or ends, and then the change is due
		return runProgress(r)
	}
	if _, waits := PendingRequest(w); waits && isShell(r) { // and who waits wants to know what for
		return runProgress(r)
	}
	w.Runs, w.quiet, w.looking = w.Runs[:len(w.Runs)-1], true, runinfo.Number(r.Name)
	d := Decide(w)
	return d, d.Start == nil
}

// driftCorrectionIsDue: drift is known, and the Stack asks for what was applied to be put back.
func driftCorrectionIsDue(w Snapshot) (Decision, bool) {
	drift := driftStatus(w)
	if drift == nil || drift.Since == nil || !appliesDrift(w) {
		return Decision{}, false
	}
	if last := w.LastMutatingRun(); last != nil && last.Spec.Cause.Type == v1alpha1.CauseDrift && runinfo.Number(last.Name) > runinfo.Number(drift.Run) {
		return Decision{}, false // that was tried; the next check tells whether it has to be tried again
	}
	return startDeploy(w, v1alpha1.OperationApply, v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: "put back what drifted: " + driftSummary(drift)})
}

// appliesDrift says that drift is corrected by a Run, without a person.
func appliesDrift(w Snapshot) bool {
	return w.Stack.Spec.Drift != nil && w.Stack.Spec.Drift.OnDrift == v1alpha1.DriftApply && w.Stack.Spec.Apply != v1alpha1.ApplyNever
}

func driftCheckIsDue(w Snapshot) (Decision, bool) {
	if w.quiet || !driftCheckIsNow(w) {
		return Decision{}, false
	}
	w.quiet = true
	d := Decide(w) // what the Stack says meanwhile
	d.Name, d.Start = nextRunName(w), &v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: w.Stack.Name}, PreventSelfApproval: w.Stack.Spec.PreventSelfApproval, Operation: v1alpha1.OperationPlan, InputsDigest: w.Digest, Revision: runinfo.Clip(w.Revision, longestRevision),
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: "look for drift, every " + duration.HumanDuration(driftCheckInterval(w))},
	}
	return d, true
}

func isDrifted(w Snapshot) (Decision, bool) {
	drift := driftStatus(w)
	if drift == nil || drift.Since == nil {
		return Decision{}, false
	}
	hint := "; cairn apply " + w.Stack.Name + " overwrites what is there with what is declared; to keep it, change the code first"
	if w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		hint = ""
	}
	d, ok := Unready(v1alpha1.ReasonDrifted, "%s since %s, found by Run %s; nothing that is declared changed%s%s",
		driftSummary(drift), drift.Since.UTC().Format(time.RFC3339), drift.Run, hint, lastCheckFailed(w))
	d.NextDriftCheck, d.Stalled = nextDriftCheck(w), !appliesDrift(w)
	d.RequeueAfter = until(w, d.NextDriftCheck)
	return d, ok
}

// driftSummary says in a few words what would have to be done to put back what was applied.
func driftSummary(s *v1alpha1.DriftStatus) string {
	return runinfo.Summary(&v1alpha1.Plan{Changes: true, Add: s.Add, Change: s.Change, Destroy: s.Destroy, Replace: s.Replace})
}

// lastCheckFailed tells of a drift check that failed, or of the plan of a state that a user wrote, after what is known from before it.
func lastCheckFailed(w Snapshot) string {
	last := w.LatestRun()
	if last != nil && w.isReadOnly(last) && plansUserState(w, last) && last.Status.Phase == v1alpha1.PhaseFailed {
		return fmt.Sprintf("; version %d of the state, which a user wrote, could not be planned: Run %s: %s; cairn plan %s tries again",
			w.Stack.Status.PlannedState.Version, last.Name, runCondition(last).Message, w.Stack.Name)
	}
	if last == nil || !runinfo.IsDriftCheck(last) || last.Status.Phase != v1alpha1.PhaseFailed || driftCheckInterval(w) == 0 {
		return ""
	}
	return "; the last drift check failed: Run " + last.Name + ": " + runCondition(last).Message
}

// lastCheckedAt is when a Run last looked at what there is, or tried to; zero when nobody can tell.
func lastCheckedAt(w Snapshot) time.Time {
	var at time.Time
	if drift := w.Stack.Status.Drift; drift != nil && !w.isInFuture(drift.CheckedAt) {
		at = drift.CheckedAt.Time
	}
	last := w.newestRun(func(r *v1alpha1.Run) bool { return !isShell(r) })
	if last != nil && last.Status.FinishedAt != nil && last.Status.FinishedAt.After(at) && !w.isInFuture(*last.Status.FinishedAt) {
		at = last.Status.FinishedAt.Time
	}
	return at
}

// isInFuture says that a time is later than any that is: the clock of who wrote it was ahead. Nothing waits until it is past. By as much as an hour, or
// an interval, two clocks may differ for long, and a check that seems to be ahead for good would be made over and over.
func (w Snapshot) isInFuture(at metav1.Time) bool {
	return at.After(w.Now.Add(max(driftCheckInterval(w), time.Hour)))
}

// driftStatus is what is known of drift: what the newest Run that looked found, or else what was known before it. An apply
// that went well put everything right. Where nothing looks by itself, only what somebody found is told.
func driftStatus(w Snapshot) *v1alpha1.DriftStatus {
	known, regular := w.Stack.Status.Drift, driftCheckInterval(w) > 0
	if known != nil && !regular {
		if by := w.RunNamed(known.Run); by == nil || by.Spec.Cause.Type != v1alpha1.CauseManual {
			known = nil
		}
	}
	last := w.LatestRun()
	if last == nil || w.latestRunMissing() || last.Status.Phase != v1alpha1.PhaseSucceeded || last.Status.Plan == nil ||
		last.Status.FinishedAt == nil || last.Spec.Operation == v1alpha1.OperationDestroy {
		return known
	}
	if known != nil && last.Status.FinishedAt.Time.Before(known.CheckedAt.Time) && !w.isInFuture(known.CheckedAt) {
		return known
	}
	now := &v1alpha1.DriftStatus{CheckedAt: *last.Status.FinishedAt}
	plan := last.Status.Plan
	switch {
	case w.isReadOnly(last) && last.Spec.InputsDigest != w.Stack.Status.AppliedInputsDigest:
		return known // what it would change is, or may be, what was declared since
	case last.Spec.Operation == v1alpha1.OperationApply || !plan.Changes:
		if !regular {
			return nil
		}
		return now
	case !w.isReadOnly(last), !regular && last.Spec.Cause.Type != v1alpha1.CauseManual:
		return known
	}
	now.Add, now.Change, now.Destroy, now.Replace = plan.Add, plan.Change, plan.Destroy, plan.Replace
	now.Since, now.Run = last.Status.FinishedAt, last.Name
	if known != nil && known.Since != nil {
		now.Since = known.Since
	}
	return now
}

// driftCondition is Drifted; nil when it is to go.
func driftCondition(w Snapshot, drift *v1alpha1.DriftStatus) *metav1.Condition {
	if drift == nil || drift.Since == nil {
		return nil
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDriftDetected,
		Message:            driftSummary(drift) + ", found by Run " + drift.Run,
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: *drift.Since,
	}
}
