package decision

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The rules for drift. A check is a Run that plans the applied inputs: each change in its plan is drift. While a check
// is under way, and after one failed, the Ready condition stays as it was.

// driftCheckInterval is the time between two drift checks; 0 for none.
func driftCheckInterval(w Snapshot) time.Duration {
	interval, _ := intervalAndSource(w)
	return interval
}

// intervalAndSource is the time between two drift checks, 0 for none, and what sets it: the Stack goes before the
// installation.
func intervalAndSource(w Snapshot) (time.Duration, v1alpha1.IntervalSource) {
	if d := w.Stack.Spec.Drift; d != nil && d.Interval != nil {
		return d.Interval.Duration, v1alpha1.IntervalFromStack
	}
	return w.DriftInterval, v1alpha1.IntervalFromInstallation
}

// readOnlyRunEndsFirst: a change, or the request of a user, waits for the end of a read-only Run.
func readOnlyRunEndsFirst(w Snapshot, _ Decision) (Decision, bool) {
	r := w.readOnlyUnderWay()
	if r == nil {
		return Decision{}, false
	}
	_, waits := PendingRequest(w)
	if changed := w.Problem == nil && w.Digest != r.Spec.InputsDigest; changed || (waits && isShell(r)) {
		return runProgress(r)
	}
	return Decision{}, false
}

// readOnlyRunIsUnderWay: a read-only Run changes nothing, so that all but the start of another Run is as without
// it.
func readOnlyRunIsUnderWay(w Snapshot, stands Decision) (Decision, bool) {
	r := w.readOnlyUnderWay()
	if r == nil {
		return Decision{}, false
	}
	switch {
	case stands.Start == nil:
		return stands, true
	case isCorrection(stands.Start) && !slices.Contains(w.Met, NeedsDriftPause):
		stands.Needs = NeedsDriftPause // drift that is not corrected stays Drifted, also while it is checked
		return stands, true
	}
	if q, ok := PendingRequest(w); ok && q.Operation == v1alpha1.OperationDestroy {
		if d, ok := destroyIsNext(w, q, r); ok {
			return d, true
		}
	}
	return runProgress(r)
}

// driftCorrectionIsDue: drift is known, and the Stack asks for what was applied to be put back.
func driftCorrectionIsDue(w Snapshot) (Decision, bool) {
	drift := driftStatus(w)
	if drift == nil || drift.Since == nil || !appliesDrift(w) || notCorrected(w, drift) != "" {
		return Decision{}, false
	}
	last := w.LastMutatingRun()
	if last != nil && last.Spec.Cause.Type == v1alpha1.CauseDrift &&
		runinfo.Number(last.Name) > runinfo.Number(drift.Run) {
		return Decision{}, false // that was tried; the next check decides whether it is retried
	}
	why := "put back what drifted: " + driftSummary(drift)
	return startDeploy(w, v1alpha1.OperationApply, v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: why})
}

// appliesDrift reports that a Run corrects drift, without an action of a user.
func appliesDrift(w Snapshot) bool {
	return w.Stack.Spec.Drift != nil && w.Stack.Spec.Drift.OnDrift == v1alpha1.DriftApply &&
		w.Stack.Spec.Apply != v1alpha1.ApplyNever
}

// appliesAllDrift reports that a Run corrects drift of each kind.
func appliesAllDrift(w Snapshot) bool {
	return appliesDrift(w) && len(w.Stack.Spec.Drift.ApplyFor) == 0
}

// notCorrected is why no Run corrects drift, by spec.drift.applyFor; empty if one does. A Run applies what is ignored
// too, so that counts here.
func notCorrected(w Snapshot, drift *v1alpha1.DriftStatus) string {
	if !appliesDrift(w) || appliesAllDrift(w) {
		return ""
	}
	if len(drift.Differences) == 0 {
		return "; not corrected, since not all differences are known, and spec.drift.applyFor limits what is"
	}
	var all engine.Changes
	for _, d := range drift.Differences {
		all = append(all, engine.ResourceChange{Address: d.Address, Action: engine.Action(d.Action)})
	}
	others := runinfo.Uncorrected(withoutOutputs(all).Counts(), w.Stack.Spec.Drift.ApplyFor)
	if len(others) == 0 {
		return ""
	}
	return "; not corrected, since spec.drift.applyFor does not list " + runinfo.ListKinds(others)
}

// driftCheckIsDue starts the check that is announced, unless a change is due.
func driftCheckIsDue(w Snapshot, stands Decision) (Decision, bool) {
	if next := stands.NextDriftCheck; stands.Start != nil || next == nil || w.Now.Before(next.Time) {
		return Decision{}, false
	}
	why := "check for drift, every " + duration.HumanDuration(driftCheckInterval(w))
	if w.Release != nil && verificationCheck(w) != nil {
		why = "check for drift after the apply, for " + w.Release.Text()
	}
	d, _ := startDeploy(w, v1alpha1.OperationPlan, v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: why})
	return beside(w, d, stands), true
}

func isDrifted(w Snapshot) (Decision, bool) {
	drift := driftStatus(w)
	if drift == nil || drift.Since == nil {
		return Decision{}, false
	}
	hint := fmt.Sprintf("; cairn apply %[1]s overwrites the drift with what is declared; to keep it, change "+
		"the code, or accept it in the state: cairn apply %[1]s --refresh-only", w.Stack.Name)
	if w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		hint = ""
	}
	left := notCorrected(w, drift)
	d, ok := Unready(v1alpha1.ReasonDrifted, "%s since %s, found by Run %s%s; nothing that is declared changed%s%s%s",
		driftSummary(drift), drift.Since.UTC().Format(time.RFC3339), drift.Run, runinfo.IgnoredDrift(drift), left, hint,
		lastCheckFailed(w))
	d.NextDriftCheck, d.Stalled = nextDriftCheck(w), !appliesDrift(w) || left != ""
	d.RequeueAfter = until(w, d.NextDriftCheck)
	return d, ok
}

// driftSummary summarizes the changes that would restore what was applied.
func driftSummary(s *v1alpha1.DriftStatus) string {
	return runinfo.Summary(&v1alpha1.Plan{Changes: true, Add: s.Add, Change: s.Change, Destroy: s.Destroy,
		Replace: s.Replace})
}

// lastCheckFailed is the failure of the last drift check, or of the plan of a state that a user wrote. It follows the
// message from before it.
func lastCheckFailed(w Snapshot) string {
	last := w.latestBesideReadOnly()
	if last != nil && w.isReadOnly(last) && plansUserState(w, last) && last.Status.Phase == v1alpha1.PhaseFailed {
		return fmt.Sprintf("; version %d of the state, which a user wrote, could not be planned: Run %s: %s; cairn "+
			"plan %s tries again",
			w.Stack.Status.PlannedState.Version, last.Name, messageOf(last), w.Stack.Name)
	}
	if last == nil || !runinfo.IsDriftCheck(last) || last.Status.Phase != v1alpha1.PhaseFailed ||
		driftCheckInterval(w) == 0 {
		return ""
	}
	return "; the last drift check failed: Run " + last.Name + ": " + messageOf(last)
}

// lastCheckedAt is when a Run last planned the Stack, or tried to; zero when that is not known.
func lastCheckedAt(w Snapshot) time.Time {
	var at time.Time
	if drift := w.Stack.Status.Drift; drift != nil && !w.isInFuture(drift.CheckedAt) {
		at = drift.CheckedAt.Time
	}
	last := w.newestRun(func(r *v1alpha1.Run) bool { return !isShell(r) && r.Status.Phase.Finished() })
	if last != nil && last.Status.FinishedAt != nil && last.Status.FinishedAt.After(at) &&
		!w.isInFuture(*last.Status.FinishedAt) {
		at = last.Status.FinishedAt.Time
	}
	return at
}

// isInFuture reports that a time is ahead of the clock, because the clock of the process that wrote it was. Nothing
// waits for such a time. Two clocks may differ by up to an hour, or an interval, for long: a check that always seems to
// be ahead would be started over and over.
func (w Snapshot) isInFuture(at metav1.Time) bool {
	return at.After(w.Now.Add(max(driftCheckInterval(w), time.Hour)))
}

// driftStatus is the known drift, without what spec.drift.ignore ignores now.
func driftStatus(w Snapshot) *v1alpha1.DriftStatus {
	found := foundDrift(w)
	entries := activeEntries(w)
	if found == nil || len(found.Differences) == 0 || (len(entries) == 0 && found.Ignored == 0) {
		return found
	}
	return ignored(*found, entries)
}

// foundDrift is all known drift: that of the newest Run that planned the applied inputs, or else that of before. An
// apply that succeeded corrects all of it. Without drift checks only what a Run for a user found is shown.
func foundDrift(w Snapshot) *v1alpha1.DriftStatus {
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
	case hasOptions(last) && !begun(last):
		// its plan has a part of the differences, what the state would accept of them, or what a user replaces
		return known
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
	if known != nil && known.Run == last.Name { // the history has no differences
		now.Differences = known.Differences
		return now
	}
	for _, d := range plan.Differences {
		now.Differences = append(now.Differences, v1alpha1.DriftDifference{Difference: d})
	}
	return now
}

// hasOptions reports that a user requested options of a plan, so that its changes are not all drift, or not only drift.
func hasOptions(r *v1alpha1.Run) bool { return r.Spec.PlanOptions != nil || runinfo.Partial(r) != "" }

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
