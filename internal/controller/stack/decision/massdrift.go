package decision

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// mostStarts is how many begins of drift a status has, and with how many in contendedWithin a Stack is contended.
	mostStarts = 3
	// contendedWithin is the time in which they are.
	contendedWithin = 24 * time.Hour
	// massDriftRequeue is when a Stack is reconciled again whose correction waits for a DriftPause that does not exist
	// yet.
	massDriftRequeue = time.Minute
)

// A Pause is why no drift is corrected in a namespace. The zero value is for none.
type Pause struct {
	// Why is empty if drift is corrected.
	Why string
	// Recorded reports that a DriftPause has it, so that an event comes when it ends.
	Recorded bool
}

// isCorrection reports that a Run corrects drift without an action of a user.
func isCorrection(spec *v1alpha1.RunSpec) bool {
	return spec != nil && spec.Operation == v1alpha1.OperationApply && spec.Cause.Type == v1alpha1.CauseDrift
}

// correctionIsPaused: drift is known and would be corrected, but an unusual number of Stacks drifted. What is known of
// the namespace is gathered only for a correction that is due.
func correctionIsPaused(w Snapshot) (Decision, bool) {
	if w.DriftPause.Why == "" {
		return Decision{}, false
	}
	if start, due := driftCorrectionIsDue(w); !due || !isCorrection(start.Start) {
		return Decision{}, false
	}
	d, ok := isDrifted(w)
	d.Message += "; Cairn does not correct it: " + w.DriftPause.Why
	d.Stalled = true
	if !w.DriftPause.Recorded {
		d.RequeueAfter = Sooner(d.RequeueAfter, massDriftRequeue)
	}
	return d, ok
}

// withStarts adds to the drift when it began, and by which Run the one before was corrected.
func withStarts(w Snapshot, next *v1alpha1.DriftStatus) *v1alpha1.DriftStatus {
	known := w.Stack.Status.Drift
	if next == nil {
		return nil
	}
	next = next.DeepCopy()
	next.Starts = nil
	if known != nil {
		next.Starts = slices.Clone(known.Starts)
	}
	wasDrifted := known != nil && known.Since != nil
	switch last := w.LatestRun(); {
	case next.Since != nil && !wasDrifted && !beganAt(next.Starts, *next.Since):
		next.Starts = slices.Insert(next.Starts, 0, v1alpha1.DriftStart{Time: *next.Since, Run: next.Run})
		oldest := next.Since.Add(-contendedWithin)
		next.Starts = slices.DeleteFunc(next.Starts, func(s v1alpha1.DriftStart) bool {
			return s.Time.Time.Before(oldest)
		})
		next.Starts = next.Starts[:min(len(next.Starts), mostStarts)]
	case next.Since == nil && wasDrifted && len(next.Starts) > 0 && isCorrected(last):
		next.Starts[0].CorrectedBy = last.Name
	}
	return next
}

// beganAt reports that the last drift began at a time: it counts again, since an entry of spec.drift.ignore ended.
func beganAt(starts []v1alpha1.DriftStart, at metav1.Time) bool {
	return len(starts) > 0 && starts[0].CorrectedBy == "" && starts[0].Time.Equal(&at)
}

// isCorrected reports that the latest Run ended the drift. Otherwise spec.drift.ignore did, or a value that is not
// stable.
func isCorrected(latest *v1alpha1.Run) bool {
	return latest != nil && latest.Spec.Operation == v1alpha1.OperationApply &&
		latest.Status.Phase == v1alpha1.PhaseSucceeded
}

// contendedCondition is Contended; nil when it is to go: what Cairn applied did not change three times within a day.
func contendedCondition(w Snapshot, drift *v1alpha1.DriftStatus) *metav1.Condition {
	if drift == nil || len(drift.Starts) < mostStarts {
		return nil
	}
	starts := drift.Starts
	if w.Now.Sub(starts[mostStarts-1].Time.Time) > contendedWithin {
		return nil
	}
	for _, before := range starts[1:] {
		if before.CorrectedBy == "" { // it went by itself, as a value that is not stable does
			return nil
		}
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionContended, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonTwoWriters,
		Message:            contention(w, starts),
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: starts[0].Time,
	}
}

// contention names the writers: the Run of Cairn, with who caused it, and when the other one wrote.
func contention(w Snapshot, starts []v1alpha1.DriftStart) string {
	by := starts[1].CorrectedBy
	cause, applied := "", "between the checks that found the drift"
	if r := w.RunNamed(by); r != nil {
		cause = " (" + runinfo.Clip(describeCause(r.Spec.Cause), longestWriter) + ")"
		if r.Status.FinishedAt != nil {
			applied = fmt.Sprintf("from %s to %s", r.Status.FinishedAt.UTC().Format(time.RFC3339),
				starts[0].Time.UTC().Format(time.RFC3339))
		}
	}
	return fmt.Sprintf("drift began %d times within a day after Cairn had applied: Run %s%s writes, and so does "+
		"another writer, whose last change was %s (Run %s): the audit log of the provider names it; let only one of "+
		"them write, such as with ignore_changes",
		len(starts), by, cause, applied, starts[0].Run)
}

// longestWriter is how many bytes of the cause of a Run are in the condition Contended.
const longestWriter = 200
