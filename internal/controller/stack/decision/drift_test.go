package decision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/scheduler"
)

// checks enables hourly drift checks. The slot of the Stack in the hour was 3 minutes before 12:00, and was announced.
func checks(on v1alpha1.DriftPolicy) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: time.Hour}, OnDrift: on}
		w.Stack.UID = uidAt(57 * time.Minute)
		announce(w, slotAfter(now.Add(-time.Hour), string(w.Stack.UID), time.Hour))
	}
}

// announce sets the time of the next check in the status.
func announce(w *Snapshot, next time.Time) {
	w.Stack.Status.DriftChecks = &v1alpha1.DriftChecks{
		Interval: metav1.Duration{Duration: driftCheckInterval(*w)}, IntervalSource: v1alpha1.IntervalFromStack,
		NextCheckTime: &metav1.Time{Time: next},
	}
}

// uidAt returns a UID whose slot is at this offset in the hour.
func uidAt(place time.Duration) types.UID {
	for i := 0; ; i++ {
		if uid := fmt.Sprint(i); slotOffset(uid, time.Hour).Truncate(time.Minute) == place {
			return types.UID(uid)
		}
	}
}

func checkedAgo(ago time.Duration) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.NewTime(now.Add(-ago))}
	}
}

func knownDrift(run string) func(*Snapshot) { return driftOf(run, time.Minute) }

func driftOf(run string, ago time.Duration) func(*Snapshot) {
	return func(w *Snapshot) {
		since := metav1.NewTime(now.Add(-3 * time.Hour))
		w.Stack.Status.Drift = &v1alpha1.DriftStatus{Change: 1, CheckedAt: metav1.NewTime(now.Add(-ago)), Since: &since,
			Run: run}
	}
}

func driftCheck(r *v1alpha1.Run) {
	r.Spec.Operation, r.Spec.Cause = v1alpha1.OperationPlan, v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: "check"}
}
func correctsDrift(r *v1alpha1.Run) { r.Spec.Cause.Type = v1alpha1.CauseDrift }
func ago(d time.Duration) func(*v1alpha1.Run) {
	return func(r *v1alpha1.Run) { r.Status.FinishedAt = &metav1.Time{Time: now.Add(-d)} }
}

// isApplied is a Stack that Run net-1 applied two hours ago.
func isApplied(w *Snapshot) {
	applied("sha256:now")(w)
	state(3)(w)
	withRun("net-1", "Succeeded", "sha256:now", ago(2*time.Hour))(w)
}

func TestDrift(t *testing.T) {
	rest := 57*time.Minute + (slotOffset(string(uidAt(57*time.Minute)), time.Hour) % time.Minute).Truncate(time.Second)
	decide(t, map[string]decision{
		"a check starts when the slot has passed, and the Stack stays Ready": {
			snapshot: newSnapshot(checks("Report"), isApplied), start: "Plan net-2", ready: "True", reason: "Applied",
		},
		"a Stack that was checked since its slot waits for the next one": {
			snapshot: newSnapshot(checks("Report"), isApplied, checkedAgo(time.Minute)), ready: "True",
			reason: "Applied", requeue: rest,
		},
		"an apply counts as a check": {
			snapshot: newSnapshot(checks("Report"), applied("sha256:now"), state(3),
				withRun("net-1", "Succeeded", "sha256:now")), ready: "True", reason: "Applied", requeue: rest,
		},
		"a Stack without drift.interval is not checked": {
			snapshot: newSnapshot(isApplied), ready: "True", reason: "Applied",
		},
		"a Stack with changes is not checked, since the plan would contain both": {
			snapshot: newSnapshot(checks("Report"), isApplied, applied("sha256:old"),
				withRun("net-2", "Failed", "sha256:now")), ready: "False", reason: "RunFailed", stalled: true,
		},
		"the Stack keeps its status during a check": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRun("net-2", "Planning", "sha256:now", driftCheck),
				lastRun("net-2")), ready: "True", reason: "Applied",
		},
		"the Stack keeps its drift during a check": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Planning", "sha256:now", driftCheck), lastRun("net-2")), ready: "False",
			reason: "Drifted", stalled: true, message: "1 to change", requeue: rest,
		},
		"a change during a check is reported, and waits for the check to end": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRun("net-2", "Planning", "sha256:old", driftCheck),
				lastRun("net-2")), ready: "Unknown", reason: "Running",
		},
		"drift is reported": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck)),
			ready:    "False", reason: "Drifted", stalled: true,
			message: "1 to add since 2026-11-20T12:00:00Z, found by Run net-2; nothing that is declared changed",
			requeue: rest,
		},
		"a check without changes makes the Stack Ready": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Succeeded", "sha256:now", driftCheck, noChanges)), ready: "True", reason: "Applied",
			requeue: rest,
		},
		"a check of other inputs does not report drift": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRun("net-2", "Succeeded", "sha256:old", driftCheck)),
			ready:    "True", reason: "Applied", requeue: rest,
		},
		"a failed check keeps the drift of the last one": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Failed", "sha256:now", driftCheck, withReason("Transient"))), ready: "False",
			reason: "Drifted", stalled: true, message: "the last drift check failed: Run net-2: message of the Run",
			requeue: rest,
		},
		"a failed check keeps the Stack Ready": {
			snapshot: newSnapshot(checks("Report"), isApplied, withRun("net-2", "Failed", "sha256:now", driftCheck,
				withReason("Transient"))), ready: "True", reason: "Applied", message: "the last drift check failed",
			requeue: rest,
		},
		"a change is applied although there is drift": {
			snapshot: newSnapshot(checks("Report"), isApplied, applied("sha256:old"), knownDrift("net-0"),
				withRun("net-1", "Succeeded", "sha256:old")), start: "Apply net-2", ready: "Unknown", reason: "Running",
		},
		"a Stack whose outputs cannot be written is still checked": {
			snapshot: newSnapshot(checks("Report"), never, isApplied, missingOutputs, checkedAgo(time.Minute),
				func(w *Snapshot) {
					outputsStepIs("Succeeded")(&w.Runs[0])
				}),
			ready: "False", reason: "OutputsFailed", stalled: true, requeue: rest,
		},
		"drift is corrected if drift.onDrift is Apply": {
			snapshot: newSnapshot(checks("Apply"), isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck)),
			start:    "Apply net-3", ready: "Unknown", reason: "Running", message: "put back what drifted: 1 to add",
		},
		"drift is corrected once, and then checked again": {
			snapshot: newSnapshot(checks("Apply"), isApplied, knownDrift("net-2"),
				withRun("net-3", "Failed", "sha256:now", correctsDrift, withReason("Transient"))), ready: "False",
			reason: "RunFailed", stalled: true,
		},
		"drift that was corrected in the second of its detection is gone": {
			snapshot: newSnapshot(checks("Apply"), isApplied, driftOf("net-2", 0),
				withRun("net-3", "Succeeded", "sha256:now", correctsDrift)), ready: "True", reason: "Applied",
			requeue: rest,
		},
		"a plan of a part knows nothing of other drift": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Succeeded", "sha256:now", targeted, planOperation, noChanges, partialPlan)),
			ready: "False", reason: "Drifted", stalled: true, message: "1 to change", requeue: rest,
		},
		"a plan that would accept drift shows no other": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Succeeded", "sha256:now", refreshing, planOperation, partialPlan)), ready: "False",
			reason: "Drifted", stalled: true, message: "1 to change", requeue: rest,
		},
		"drift that was accepted is gone, and what differs from the code is a change": {
			snapshot: newSnapshot(checks("Report"), isApplied, knownDrift("net-0"),
				withRun("net-2", "Succeeded", "sha256:now", refreshing, applyStarted, partialPlan)),
			start: "Apply net-3", ready: "Unknown", reason: "Running",
			message: "Run net-2 applied a part of the changes, or accepted drift",
		},
		"drift is not corrected if spec.apply is Never": {
			snapshot: newSnapshot(checks("Apply"), never, isApplied, knownDrift("net-0")), ready: "False",
			reason: "Drifted", stalled: true, requeue: rest,
		},
		"a deleted Stack is not checked": {
			snapshot: newSnapshot(checks("Report"), deleted, isApplied), start: "Destroy net-2", ready: "Unknown",
			reason: "Destroying",
		},
	})
}

// TestDriftedCondition checks that the condition exists only while there is drift, and keeps its transition time over
// further checks.
func TestDriftedCondition(t *testing.T) {
	w := newSnapshot(checks("Report"), isApplied, withRun("net-2", "Succeeded", "sha256:now", driftCheck))
	s := Status(w, Decide(w))
	c := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDrifted)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "1 to add") {
		t.Fatalf("condition %+v", c)
	}
	if s.Drift == nil || s.Drift.Add != 1 || !s.Drift.Since.Time.Equal(now) {
		t.Fatalf("drift %+v", s.Drift)
	}

	w.Stack.Status = s
	w.Now = now.Add(time.Hour)
	withRun("net-3", "Succeeded", "sha256:now", driftCheck, ago(-time.Hour))(&w)
	s = Status(w, Decide(w))
	if !s.Drift.Since.Time.Equal(now) || !s.Drift.CheckedAt.Time.Equal(w.Now) || s.Drift.Run != "net-3" {
		t.Errorf("drift %+v", s.Drift)
	}

	w.Stack.Status = s
	withRun("net-4", "Succeeded", "sha256:now", driftCheck, noChanges, ago(-2*time.Hour))(&w)
	s = Status(w, Decide(w))
	if apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDrifted) != nil || s.Drift.Since != nil {
		t.Errorf("%+v %+v", s.Conditions, s.Drift)
	}

	w.Stack.Spec.Drift = nil
	if s = Status(w, Decide(w)); s.Drift != nil {
		t.Errorf("the drift has no time: %+v", s.Drift)
	}
}

// TestDriftChecksAreSpread checks that the hourly checks of 1,000 Stacks, created and applied at once, are evenly
// spread over the hour, and that none follows shortly after the apply.
func TestDriftChecksAreSpread(t *testing.T) {
	const stacks, minutes = 1000, 60
	var checks [minutes]int
	applyStarted := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range stacks {
		w := newSnapshot(isApplied)
		w.Stack.UID = types.UID(fmt.Sprintf("7d9c9a3e-0000-4000-8000-%012d", i))
		w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: time.Hour}}
		w.Runs[0].Status.FinishedAt = &metav1.Time{Time: applyStarted}
		w.Now = applyStarted
		n := 0
		for w.Now.Before(applyStarted.Add(24 * time.Hour)) {
			d := Decide(w)
			w.Stack.Status.DriftChecks = driftChecks(w, d)
			if d.Start != nil {
				if n++; w.Now.Before(applyStarted.Add(30 * time.Minute)) {
					t.Errorf("Stack %d is checked %s after it was applied", i, w.Now.Sub(applyStarted))
				}
				checks[int(w.Now.Sub(applyStarted).Minutes())%minutes]++
				w.Stack.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.NewTime(w.Now)}
				continue
			} else if d.RequeueAfter <= 0 {
				t.Fatal("the decision has no requeue time")
			}
			w.Now = w.Now.Add(d.RequeueAfter)
		}
		if n != 23 && n != 24 { // the first slot is left out if it is shortly after the apply
			t.Fatalf("Stack %d was checked %d times in 24 hours", i, n)
		}
	}
	var histogram strings.Builder
	for minute, n := range checks {
		fmt.Fprintf(&histogram, "%02d %4d %s\n", minute, n/24, strings.Repeat("#", n/24))
		// 16.7 in a minute are expected; by chance alone more than twice as many are not.
		if n/24 > 2*stacks/minutes || n == 0 {
			t.Errorf("minute %d has %d checks", minute, n/24)
		}
	}
	t.Logf("checks an hour, by minute\n%s", histogram.String())
}

// announcing applies a decision to the status, and returns the time until the next reconcile.
func announcing(w *Snapshot) time.Duration {
	d := Decide(*w)
	w.Stack.Status.DriftChecks = driftChecks(*w, d)
	return d.RequeueAfter
}

// TestDriftCheckLimit checks 1,000 Stacks with an hourly check of a minute and a limit of 20: the limit is kept,
// and no check waits long.
func TestDriftCheckLimit(t *testing.T) {
	const stacks, limit, takes = 1000, 20, time.Minute
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	queue := scheduler.NewQueue(scheduler.Limits{Installation: limit}, func() time.Time { return at })
	snapshots, due := map[types.NamespacedName]*Snapshot{}, map[types.NamespacedName]time.Time{}
	for i := range stacks {
		w := newSnapshot(isApplied)
		w.Stack.UID = types.UID(fmt.Sprintf("7d9c9a3e-0000-4000-8000-%012d", i))
		w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: time.Hour}}
		w.Runs[0].Status.FinishedAt = &metav1.Time{Time: at}
		w.Now = at
		key := types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i%7), Name: fmt.Sprint(i)}
		snapshots[key], due[key] = &w, at.Add(announcing(&w))
	}
	entry := func(key types.NamespacedName, since time.Time) scheduler.Entry {
		return scheduler.Entry{Key: key, Rank: scheduler.RankDrift, Since: since}
	}
	running, waiting := map[types.NamespacedName]time.Time{}, map[types.NamespacedName]time.Time{}
	begin := func(key types.NamespacedName) {
		if v := queue.Admit(entry(key, waiting[key])); v.Start {
			delete(waiting, key)
			running[key] = at.Add(takes)
		}
	}
	most, checks, longest := 0, 0, time.Duration(0)
	for end := at.Add(4 * time.Hour); at.Before(end); at = at.Add(time.Second) {
		for key, ends := range running {
			if at.Before(ends) {
				e := entry(key, at)
				e.Running = true
				queue.Set(e)
				continue
			}
			delete(running, key)
			checks++
			w := snapshots[key]
			w.Now, w.Stack.Status.Drift = at, &v1alpha1.DriftStatus{CheckedAt: metav1.NewTime(at)}
			due[key] = at.Add(announcing(w))
			for _, next := range queue.Remove(key) {
				begin(next)
			}
		}
		for key, when := range due {
			if at.Before(when) {
				continue
			}
			w := snapshots[key]
			w.Now = at
			if Decide(*w).Start == nil {
				t.Fatalf("%s is reconciled and not due", key)
			}
			delete(due, key)
			waiting[key] = at
			begin(key)
		}
		most = max(most, len(running))
		for _, since := range waiting {
			longest = max(longest, at.Sub(since))
		}
	}
	t.Logf("%d checks in 4 hours, at most %d at once, none waited longer than %s", checks, most, longest)
	if most > limit {
		t.Errorf("%d at once", most)
	}
	if checks < 3400 || longest > 15*time.Minute {
		t.Errorf("%d checks, waited up to %s", checks, longest)
	}
}

func TestDriftChecksArePruned(t *testing.T) {
	w := newSnapshot(checks("Report"), isApplied)
	for i := 2; i < 9; i++ {
		withRun(fmt.Sprintf("net-%d", i), "Succeeded", "sha256:now", driftCheck)(&w)
	}
	w.Stack.Status.Drift = &v1alpha1.DriftStatus{Run: "net-5"}
	var got []string
	for _, r := range RunsToPrune(w) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"net-2", "net-3", "net-4", "net-6", "net-7"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDriftCheckIsDueOncePerInterval checks slots between two full seconds, since the timestamps of Runs have no
// fraction.
func TestDriftCheckIsDueOncePerInterval(t *testing.T) {
	const near = 3 * time.Second // steps are small near a slot, since times of checks have whole seconds
	for i := range 50 {
		w := newSnapshot(checks("Report"), isApplied)
		w.Stack.UID = types.UID(fmt.Sprint(i))
		due, last := 0, time.Time{}
		for w.Now = now; w.Now.Before(now.Add(3 * time.Hour)); {
			step, wait := 300*time.Millisecond, announcing(&w)
			if startsCheck(w) {
				due, last = due+1, w.Now
				w.Stack.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.NewTime(w.Now.Truncate(time.Second))}
			} else if wait > near && w.Now.Sub(last) > near {
				step = min(wait-near, time.Minute)
			}
			w.Now = w.Now.Add(step)
		}
		if due < 3 || due > 4 { // at once, and then at each slot
			t.Errorf("UID %d: %d checks in 3 hours, want 3 or 4", i, due)
		}
	}
}
