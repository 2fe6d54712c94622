package decision

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

func byDefault(every time.Duration) func(*Snapshot) {
	return func(w *Snapshot) { w.DriftInterval = every }
}

func everyOfStack(every time.Duration) func(*Snapshot) {
	return func(w *Snapshot) { w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: every}} }
}

// TestDriftChecksOfTheStatus checks the interval, its source, and the time of the next check.
func TestDriftChecksOfTheStatus(t *testing.T) {
	const hour = time.Hour
	corrects := func(w *Snapshot) { w.Stack.Spec.Drift = &v1alpha1.Drift{OnDrift: v1alpha1.DriftApply} }
	noState := func(w *Snapshot) { w.State = nil }
	for name, tt := range map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"the default of the installation applies to a Stack without spec.drift": {
			newSnapshot(byDefault(12*hour), isApplied), "12h0m0s Installation, next"},
		"the default applies to a Stack that only sets drift.onDrift": {newSnapshot(byDefault(12*hour), corrects,
			isApplied), "12h0m0s Installation, next"},
		"the interval of the Stack overrides the default": {newSnapshot(byDefault(12*hour), everyOfStack(hour),
			isApplied), "1h0m0s Stack, next"},
		"a Stack disables its checks": {newSnapshot(byDefault(12*hour), everyOfStack(0),
			isApplied), "off"},
		"the installation has no default": {newSnapshot(isApplied), "off"},
		"a Stack enables checks without a default": {newSnapshot(everyOfStack(hour), isApplied),
			"1h0m0s Stack, next"},
		"a Stack that was never applied has no next check": {newSnapshot(byDefault(hour)), "1h0m0s Installation"},
		"a Stack without a state has no next check": {newSnapshot(byDefault(hour), isApplied, noState),
			"1h0m0s Installation"},
		"a suspended Stack has no next check": {newSnapshot(byDefault(hour), isApplied, suspended),
			"1h0m0s Installation"},
		"a Stack whose change failed has no next check": {newSnapshot(byDefault(hour), isApplied, applied("sha256:old"),
			withRun("net-2", "Failed", "sha256:now")), "1h0m0s Installation"},
		"a Stack with spec.apply Never is checked": {newSnapshot(byDefault(hour), never, isApplied),
			"1h0m0s Installation, next"},
		"a deleted Stack has no next check": {newSnapshot(byDefault(hour), isApplied, deleted),
			"1h0m0s Installation"},
		"a Stack with drift is checked again": {newSnapshot(byDefault(hour), isApplied, knownDrift("net-1"),
			withRun("net-2", "Succeeded", "sha256:now", driftCheck)), "1h0m0s Installation, next"},
	} {
		t.Run(name, func(t *testing.T) {
			checks := Status(tt.snapshot, Decide(tt.snapshot)).DriftChecks
			got := "off"
			if checks != nil {
				got = checks.Interval.Duration.String() + " " + string(checks.IntervalSource)
			}
			if checks != nil && checks.NextCheckTime != nil {
				got += ", next"
				from := tt.snapshot.Now
				if earliest := earliestCheck(tt.snapshot); from.Before(earliest) {
					from = earliest
				}
				if left := checks.NextCheckTime.Sub(from); left <= 0 || left > checks.Interval.Duration {
					t.Errorf("the next check is %s after %s", left, from)
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestNewDefaultIntervalStartsNoCheckAtOnce checks an upgrade that sets a default for 10,000 Stacks. Their checks are
// spread over one interval.
func TestNewDefaultIntervalStartsNoCheckAtOnce(t *testing.T) {
	const stacks, every, slots = 10000, 12 * time.Hour, 12 * 4
	var in [slots]int
	for i := range stacks {
		w := newSnapshot(byDefault(every), isApplied, withRun("net-1", "Succeeded", "sha256:now", ago(30*24*time.Hour)))
		w.Stack.UID = types.UID(fmt.Sprintf("7d9c9a3e-0000-4000-8000-%012d", i))
		for pass := range 3 { // the event of its own write, and another event
			d := Decide(w)
			if d.Start != nil {
				t.Fatalf("Stack %d is checked at once, in pass %d", i, pass)
			}
			w.Stack.Status, w.Now = Status(w, d), w.Now.Add(time.Millisecond) // a slot begins at a whole second
		}
		next := w.Stack.Status.DriftChecks.NextCheckTime.Time
		in[int(next.Sub(now)/(every/slots))%slots]++
		w.Now = next
		if d := Decide(w); d.Start == nil || d.Start.Cause.Message != "check for drift, every 12h" {
			t.Fatalf("Stack %d is not checked at %s: %+v", i, next, d)
		}
	}
	for slot, n := range in {
		if n < stacks/slots/2 || n > 2*stacks/slots {
			t.Errorf("quarter %d of an hour has %d checks", slot, n)
		}
	}
}

func TestChangedIntervalStartsNoCheckAtOnce(t *testing.T) {
	w := newSnapshot(byDefault(12*time.Hour), isApplied)
	w.Stack.Status = Status(w, Decide(w))
	everyOfStack(time.Minute)(&w)
	w.Now = w.Stack.Status.DriftChecks.NextCheckTime.Time
	d := Decide(w)
	w.Stack.Status = Status(w, d)
	if left := w.Stack.Status.DriftChecks.NextCheckTime.Sub(w.Now); d.Start != nil || left <= 0 || left > time.Minute ||
		d.RequeueAfter != left {
		t.Errorf("starts %v; the next check is in %s, and the Stack is reconciled in %s", d.Start, left, d.RequeueAfter)
	}
}

// TestNothingIsWrittenBetweenDriftChecks checks that reconciles do not change the status between two checks, and that a
// check writes only what its Run requires.
func TestNothingIsWrittenBetweenDriftChecks(t *testing.T) {
	w := newSnapshot(byDefault(time.Hour), isApplied)
	w.Stack.Status = Status(w, Decide(w))
	settled := w.Stack.Status
	for next := settled.DriftChecks.NextCheckTime.Time; w.Now.Before(next); w.Now = w.Now.Add(7 * time.Second) {
		if diff := cmp.Diff(settled, Status(w, Decide(w))); diff != "" {
			t.Fatalf("at %s, before the check at %s, the status is written:\n%s", w.Now, next, diff)
		}
	}
	d := Decide(w)
	w.Stack.Status = Status(w, d) // the status names the Run
	if d.Start == nil {
		t.Fatal("no check starts")
	}
	withRun(d.Name, "Planning", "sha256:now", driftCheck)(&w)
	started := w.Stack.Status
	for range 5 {
		w.Now = w.Now.Add(time.Minute)
		if diff := cmp.Diff(started, Status(w, Decide(w))); diff != "" {
			t.Fatalf("while the check is under way the status is written:\n%s", diff)
		}
	}
	withRun(d.Name, "Succeeded", "sha256:now", driftCheck, noChanges, func(r *v1alpha1.Run) {
		r.Status.FinishedAt = &metav1.Time{Time: w.Now}
	})(&w)
	w.Stack.Status = Status(w, Decide(w))
	if left := w.Stack.Status.DriftChecks.NextCheckTime.Sub(started.DriftChecks.NextCheckTime.Time); left != time.Hour {
		t.Errorf("the check after that is %s later", left)
	}
}

// TestAnnouncedDriftCheckInTheFarFuture checks a next check that a process announced whose clock was a year ahead.
func TestAnnouncedDriftCheckInTheFarFuture(t *testing.T) {
	w := newSnapshot(checks("Report"), isApplied)
	announce(&w, now.Add(365*24*time.Hour))
	if next := nextDriftCheck(w); next.Sub(w.Now) > time.Hour {
		t.Errorf("the next check is at %s", next)
	}
}
