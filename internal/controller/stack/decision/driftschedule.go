package decision

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// When drift checks are due. The checks of all Stacks are spread evenly: each Stack has its own slot within the
// interval, by its UID. status.driftChecks.nextCheckTime announces the slot of the next check, and no check starts
// before it is announced. So a new interval for all Stacks, as an upgrade may set it, starts no check at once: the
// first check of each Stack is at its next slot.
//
// After an outage of the operator the slots of all Stacks are in the past. If all of them were due at once, the
// spreading would be lost, and users would wait. So a check that missed its slot by much waits for the next one. A
// Stack that no Run planned for two intervals is overdue, and has four slots in each.

// nextDriftCheck is when the next drift check is due, in the past while that one is due or under way; nil when there is
// nothing to check. What is announced stays, so that the status is not written between two checks.
func nextDriftCheck(w Snapshot) *metav1.Time {
	if w.State == nil || driftCheckInterval(w) == 0 {
		return nil
	}
	if next := verificationCheck(w); next != nil {
		return next
	}
	if next := announcedCheck(w); next != nil && isCurrent(w, next) {
		return next
	}
	interval := driftCheckInterval(w)
	if known := w.Stack.Status.DriftChecks; isAnnounced(w, known) && w.Now.Sub(lastCheckedAt(w)) > 2*interval {
		interval /= 4
	}
	from := w.Now
	if earliest := earliestCheck(w); from.Before(earliest) {
		from = earliest
	}
	return &metav1.Time{Time: slotAfter(from, string(w.Stack.UID), interval)}
}

// verifyAgain is the time after which a drift check that a stage requires is repeated.
const verifyAgain = 10 * time.Minute

// verificationCheck is when the drift check is due that the stage of the Stack requires after each apply; nil if none
// is required, or there was one. It has no slot: it starts after the apply, and again after a check without a result.
func verificationCheck(w Snapshot) *metav1.Time {
	at := lastCheckedAt(w)
	if !w.VerifiesDrift || checkedBy(w) != "" || at.IsZero() {
		return nil
	}
	last := w.newestRun(func(r *v1alpha1.Run) bool { return !isShell(r) && r.Status.Phase.Finished() })
	if last != nil && w.isReadOnly(last) {
		at = at.Add(verifyAgain)
	}
	return &metav1.Time{Time: at}
}

// checkedBy is the name of the Run that planned what is applied since it was applied; empty if there is none.
func checkedBy(w Snapshot) string {
	known := ""
	if drift := w.Stack.Status.Drift; drift != nil {
		known = drift.CheckedBy
	}
	last := w.LatestRun()
	if last == nil {
		return known
	}
	planned := last.Status.Phase == v1alpha1.PhaseSucceeded && last.Status.Plan != nil && !hasOptions(last) &&
		last.Spec.InputsDigest != "" && last.Spec.InputsDigest == appliedInputs(w)
	switch changed := w.LastMutatingRun(); {
	case w.latestRunMissing() && w.missingRunMayHaveDeployed():
		return ""
	case planned && (runinfo.IsDriftCheck(last) || last.Spec.Operation == v1alpha1.OperationPlan && w.isReadOnly(last)):
		return last.Name
	case planned && last.Spec.Operation == v1alpha1.OperationApply && !last.Status.Plan.Changes:
		return last.Name
	case changed != nil && runinfo.Number(changed.Name) > runinfo.Number(known):
		return ""
	}
	return known
}

// earliestCheck is half an interval after a Run last planned the Stack: a check before that would repeat its plan.
func earliestCheck(w Snapshot) time.Time { return lastCheckedAt(w).Add(driftCheckInterval(w) / 2) }

// announcedCheck is when the next check is due by the status; nil when the status is for another interval than the
// current one.
func announcedCheck(w Snapshot) *metav1.Time {
	if known := w.Stack.Status.DriftChecks; isAnnounced(w, known) {
		return known.NextCheckTime
	}
	return nil
}

// isAnnounced reports that the status has checks with the current interval.
func isAnnounced(w Snapshot, known *v1alpha1.DriftChecks) bool {
	return known != nil && known.Interval.Duration == driftCheckInterval(w) && driftCheckInterval(w) > 0
}

// isCurrent reports that an announced slot still counts: no Run planned the Stack since, nor shortly before it. It is
// ahead by at most an interval and a half: a time further ahead comes from a process whose clock was ahead. Or it was
// passed a short time ago.
func isCurrent(w Snapshot, next *metav1.Time) bool {
	interval, late := driftCheckInterval(w), w.Now.Sub(next.Time)
	return !next.Time.Before(earliestCheck(w)) && -late <= interval+interval/2 && late <= max(interval/10, time.Minute)
}

// until is how long it is until a drift check that is announced; 0 when it is due, or when there is none.
func until(w Snapshot, next *metav1.Time) time.Duration {
	if next == nil {
		return 0
	}
	return max(0, next.Sub(w.Now))
}

// driftChecks is the part of the status about drift checks. A decision without a reason does not change it.
func driftChecks(w Snapshot, d Decision) *v1alpha1.DriftChecks {
	interval, by := intervalAndSource(w)
	if interval == 0 {
		return nil
	}
	checks := &v1alpha1.DriftChecks{Interval: metav1.Duration{Duration: interval}, IntervalSource: by,
		NextCheckTime: d.NextDriftCheck}
	if d.Reason == "" {
		checks.NextCheckTime = announcedCheck(w)
	}
	return checks
}

// slotAfter is the first place after a time. Places are whole seconds, as the times of Runs are: a check that ended 0.4
// s after a place at .5 would seem to end before it.
func slotAfter(at time.Time, text string, interval time.Duration) time.Time {
	place := slotOffset(text, interval).Truncate(time.Second)
	next := at.Add(-place).Truncate(interval).Add(place + interval)
	if whole := next.Truncate(time.Second); whole.Before(next) {
		return whole.Add(time.Second)
	}
	return next
}

// slotOffset is a time from 0 up to the interval, nearly random, and always the same for one text.
func slotOffset(text string, interval time.Duration) time.Duration {
	sum := sha256.Sum256([]byte(text)) // evenly spread also for texts that are nearly the same
	return time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(interval))
}
