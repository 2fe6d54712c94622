package decision

import (
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func paused(recorded bool) func(*Snapshot) {
	return func(w *Snapshot) {
		w.DriftPause, w.Met = Pause{Why: "6 of 6 Stacks began to drift", Recorded: recorded}, []Need{NeedsDriftPause}
	}
}

func TestCorrectionsPause(t *testing.T) {
	rest := 57*time.Minute + (slotOffset(string(uidAt(57*time.Minute)), time.Hour) % time.Minute).Truncate(time.Second)
	found := withRun("net-2", "Succeeded", "sha256:now", driftCheck)
	decide(t, map[string]decision{
		"no drift is corrected while the namespace is paused": {
			snapshot: newSnapshot(checks("Apply"), isApplied, found, paused(true)),
			ready:    "False", reason: "Drifted", stalled: true,
			message: "Cairn does not correct it: 6 of 6 Stacks began to drift", requeue: rest,
		},
		"a pause that is not recorded is read again": {
			snapshot: newSnapshot(checks("Apply"), isApplied, found, paused(false)),
			ready:    "False", reason: "Drifted", stalled: true, requeue: massDriftRequeue,
		},
		"changes are applied while the namespace is paused": {
			snapshot: newSnapshot(checks("Apply"), isApplied, applied("sha256:old"), knownDrift("net-0"),
				withRun("net-1", "Succeeded", "sha256:old"), paused(true)),
			start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"drift is checked while the namespace is paused": {
			snapshot: newSnapshot(checks("Apply"), isApplied, paused(true)), start: "Plan net-2", ready: "True",
			reason: "Applied",
		},
	})
}

// TestACorrectionNeedsTheNamespace checks that no correction starts before it is known whether drift is corrected.
func TestACorrectionNeedsTheNamespace(t *testing.T) {
	found := withRun("net-2", "Succeeded", "sha256:now", driftCheck)
	w := newSnapshot(checks("Apply"), isApplied, found)
	for _, want := range []Need{NeedsDriftPause, NeedsLeftover, ""} {
		d := Decide(w)
		if d.Needs != want || d.Start == nil || d.Start.Cause.Type != v1alpha1.CauseDrift {
			t.Errorf("needs %q of %+v, want %q", d.Needs, d.Start, want)
		}
		w.Met = append(w.Met, want)
	}
	if d := Decide(newSnapshot(checks("Report"), isApplied, found)); d.Needs != "" {
		t.Errorf("drift that is only reported needs %q", d.Needs)
	}
}

// TestPausedDriftStaysDriftedDuringACheck checks that a check of a Stack whose drift is not corrected changes no
// condition and so sends no event.
func TestPausedDriftStaysDriftedDuringACheck(t *testing.T) {
	w := newSnapshot(checks("Apply"), isApplied, knownDrift("net-1"),
		withRun("net-2", "Planning", "sha256:now", driftCheck))
	if d := Decide(w); d.Needs != NeedsDriftPause {
		t.Fatalf("during a check the decision needs %q, want %q: %+v", d.Needs, NeedsDriftPause, d)
	}
	paused(true)(&w)
	d := Decide(w)
	if d.Needs != "" || d.Ready != metav1.ConditionFalse || d.Reason != v1alpha1.ReasonDrifted || !d.Stalled ||
		d.Start != nil {
		t.Errorf("during a check in a paused namespace the decision is %+v", d)
	}
}

// turns drifts and applies in turns, some times, and returns the conditions after each drift.
func turns(w *Snapshot, times int, apart time.Duration, corrected bool) (contended []string) {
	for range times {
		w.Now = w.Now.Add(apart)
		since := metav1.NewTime(w.Now)
		next := &v1alpha1.DriftStatus{Change: 1, CheckedAt: since, Since: &since, Run: "net-2"}
		w.Stack.Status.Drift = withStarts(*w, next)
		text := ""
		if c := contendedCondition(*w, w.Stack.Status.Drift); c != nil {
			text = c.Message
		}
		contended = append(contended, text)
		w.Runs = nil
		if corrected {
			withRun("net-3", "Succeeded", "sha256:now", correctsDrift, func(r *v1alpha1.Run) {
				r.Spec.Cause.Message, r.Status.FinishedAt = "put back", &since
			})(w)
		} else {
			withRun("net-3", "Succeeded", "sha256:now", driftCheck, noChanges)(w)
		}
		w.Stack.Status.Drift = withStarts(*w, &v1alpha1.DriftStatus{CheckedAt: since})
	}
	return contended
}

func TestContended(t *testing.T) {
	for name, test := range map[string]struct {
		times     int
		apart     time.Duration
		corrected bool
		want      []bool
	}{
		"three times in a day":      {3, time.Hour, true, []bool{false, false, true}},
		"it stays while it goes on": {5, time.Hour, true, []bool{false, false, true, true, true}},
		"three times in a day and an hour": {3, 12*time.Hour + 30*time.Minute, true,
			[]bool{false, false, false}},
		"drift that goes by itself has no writer": {4, time.Hour, false, []bool{false, false, false, false}},
	} {
		w := newSnapshot(checks("Apply"))
		var got []bool
		for _, text := range turns(&w, test.times, test.apart, test.corrected) {
			got = append(got, text != "")
			if text != "" && (!strings.Contains(text, "Run net-3 (Drift: put back) writes") ||
				!strings.Contains(text, "another writer")) {
				t.Errorf("%s: the message is %q", name, text)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
		if n := len(w.Stack.Status.Drift.Starts); n > mostStarts {
			t.Errorf("%s: the status has %d starts", name, n)
		}
	}
}

// TestContendedEndsAfterADay checks the condition of a Stack that did not drift any more.
func TestContendedEndsAfterADay(t *testing.T) {
	w := newSnapshot(checks("Apply"))
	turns(&w, 3, time.Hour, true)
	drift := w.Stack.Status.Drift
	if contendedCondition(w, drift) == nil {
		t.Error("the Stack is not contended after the last correction")
	}
	w.Now = w.Now.Add(23 * time.Hour)
	if c := contendedCondition(w, drift); c != nil {
		t.Errorf("a day after the first of them the Stack is contended: %s", c.Message)
	}
}

// TestStartsAreWrittenOnce checks that a status without news is the same.
func TestStartsAreWrittenOnce(t *testing.T) {
	w := newSnapshot(checks("Report"), isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck))
	first := Status(w, Decide(w))
	if d := first.Drift; d == nil || len(d.Starts) != 1 || d.Starts[0].Run != "net-2" ||
		!d.Starts[0].Time.Equal(d.Since) {
		t.Fatalf("the drift is %+v", first.Drift)
	}
	w.Stack.Status = first
	if again := Status(w, Decide(w)); len(again.Drift.Starts) != 1 {
		t.Errorf("the drift is %+v", again.Drift)
	}
	if apimeta.FindStatusCondition(first.Conditions, v1alpha1.ConditionContended) != nil {
		t.Error("a Stack that drifted once is contended")
	}
}

// TestIgnoredDriftIsNotCorrected checks that drift which spec.drift.ignore ignores for a time begins once, and that the
// failed correction before is no writer.
func TestIgnoredDriftIsNotCorrected(t *testing.T) {
	w := newSnapshot(checks("Apply"))
	since := metav1.NewTime(w.Now)
	drifted := &v1alpha1.DriftStatus{Change: 1, CheckedAt: since, Since: &since, Run: "net-2"}
	w.Stack.Status.Drift = withStarts(w, drifted)
	withRun("net-3", "Failed", "sha256:now", correctsDrift)(&w)
	w.Stack.Status.Drift = withStarts(w, &v1alpha1.DriftStatus{CheckedAt: since, Ignored: 1})
	w.Stack.Status.Drift = withStarts(w, drifted)
	if starts := w.Stack.Status.Drift.Starts; len(starts) != 1 || starts[0].CorrectedBy != "" {
		t.Errorf("the starts are %+v", starts)
	}
}
