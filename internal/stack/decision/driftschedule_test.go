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

// What the status says of drift checks: how often, what sets it, and whether the next one has a time.
func TestDriftChecksOfTheStatus(t *testing.T) {
	const hour = time.Hour
	corrects := func(w *Snapshot) { w.Stack.Spec.Drift = &v1alpha1.Drift{OnDrift: v1alpha1.DriftApply} }
	noState := func(w *Snapshot) { w.State = nil }
	for name, tt := range map[string]struct {
		world Snapshot
		want  string
	}{
		"the installation's default applies to a Stack that says nothing": {world(byDefault(12*hour), isApplied), "12h0m0s Installation, next"},
		"and to one that says only what follows drift":                    {world(byDefault(12*hour), corrects, isApplied), "12h0m0s Installation, next"},
		"a Stack's own interval goes before it":                           {world(byDefault(12*hour), everyOfStack(hour), isApplied), "1h0m0s Stack, next"},
		"a Stack turns its checks off":                                    {world(byDefault(12*hour), everyOfStack(0), isApplied), "off"},
		"an installation turns them off":                                  {world(isApplied), "off"},
		"and a Stack turns them on there":                                 {world(everyOfStack(hour), isApplied), "1h0m0s Stack, next"},
		"a Stack that was never applied has nothing to check":             {world(byDefault(hour)), "1h0m0s Installation"},
		"nor has one without a state":                                     {world(byDefault(hour), isApplied, noState), "1h0m0s Installation"},
		"a suspended Stack is not checked":                                {world(byDefault(hour), isApplied, suspended), "1h0m0s Installation"},
		"a Stack whose change failed is not checked":                      {world(byDefault(hour), isApplied, applied("sha256:old"), had("net-2", "Failed", "sha256:now")), "1h0m0s Installation"},
		"a Stack that is only read is checked for drift of what there is": {world(byDefault(hour), never, isApplied), "1h0m0s Installation, next"},
		"a deleted Stack is not checked":                                  {world(byDefault(hour), isApplied, deleted), "1h0m0s Installation"},
		"a Stack that drifted is checked on":                              {world(byDefault(hour), isApplied, knownDrift("net-1"), had("net-2", "Succeeded", "sha256:now", looks)), "1h0m0s Installation, next"},
	} {
		t.Run(name, func(t *testing.T) {
			checks := Status(tt.world, Decide(tt.world)).DriftChecks
			got := "off"
			if checks != nil {
				got = checks.Interval.Duration.String() + " " + string(checks.IntervalSource)
			}
			if checks != nil && checks.NextCheckTime != nil {
				got += ", next"
				if left := checks.NextCheckTime.Sub(tt.world.Now); left <= 0 || left > checks.Interval.Duration {
					t.Errorf("the next check is in %s", left)
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An upgrade gives 10,000 Stacks the default at once, in the middle of their intervals and long after their last Runs. None is checked at
// once, and the checks of all are spread over one interval.
func TestADefaultThatIsNewStartsNoCheckAtOnce(t *testing.T) {
	const stacks, every, slots = 10000, 12 * time.Hour, 12 * 4
	var in [slots]int
	for i := range stacks {
		w := world(byDefault(every), isApplied, had("net-1", "Succeeded", "sha256:now", ago(30*24*time.Hour)))
		w.Stack.UID = types.UID(fmt.Sprintf("7d9c9a3e-0000-4000-8000-%012d", i))
		for pass := range 3 { // its own write, and an event of something else
			d := Decide(w)
			if d.Start != nil {
				t.Fatalf("Stack %d is checked at once, in pass %d", i, pass)
			}
			w.Stack.Status, w.Now = Status(w, d), w.Now.Add(time.Second)
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

// So it is when a Stack, or the installation, says another interval.
func TestAnIntervalThatChangedStartsNoCheckAtOnce(t *testing.T) {
	w := world(byDefault(12*time.Hour), isApplied)
	w.Stack.Status = Status(w, Decide(w))
	everyOfStack(time.Minute)(&w)
	w.Now = w.Stack.Status.DriftChecks.NextCheckTime.Time
	d := Decide(w)
	w.Stack.Status = Status(w, d)
	if left := w.Stack.Status.DriftChecks.NextCheckTime.Sub(w.Now); d.Start != nil || left <= 0 || left > time.Minute || d.RequeueAfter != left {
		t.Errorf("it starts %v; the next check is in %s, and the Stack is reconciled in %s", d.Start, left, d.RequeueAfter)
	}
}

// Between two checks nothing is written, however often a Stack is reconciled; and over a check no more than its Run takes.
func TestNothingIsWrittenBetweenDriftChecks(t *testing.T) {
	w := world(byDefault(time.Hour), isApplied)
	w.Stack.Status = Status(w, Decide(w))
	settled := w.Stack.Status
	for next := settled.DriftChecks.NextCheckTime.Time; w.Now.Before(next); w.Now = w.Now.Add(7 * time.Second) {
		if diff := cmp.Diff(settled, Status(w, Decide(w))); diff != "" {
			t.Fatalf("at %s, before the check at %s, the status is written:\n%s", w.Now, next, diff)
		}
	}
	d := Decide(w)
	w.Stack.Status = Status(w, d) // it names the Run
	if d.Start == nil {
		t.Fatal("no check starts")
	}
	had(d.Name, "Planning", "sha256:now", looks)(&w)
	started := w.Stack.Status
	for range 5 {
		w.Now = w.Now.Add(time.Minute)
		if diff := cmp.Diff(started, Status(w, Decide(w))); diff != "" {
			t.Fatalf("while the check is under way the status is written:\n%s", diff)
		}
	}
	had(d.Name, "Succeeded", "sha256:now", looks, noChanges, func(r *v1alpha1.Run) { r.Status.FinishedAt = &metav1.Time{Time: w.Now} })(&w)
	w.Stack.Status = Status(w, Decide(w))
	if left := w.Stack.Status.DriftChecks.NextCheckTime.Sub(started.DriftChecks.NextCheckTime.Time); left != time.Hour {
		t.Errorf("the check after that is %s later", left)
	}
}

// A process whose clock was a year ahead announced a check. Nothing waits for that time.
func TestACheckThatIsAnnouncedForNextYear(t *testing.T) {
	w := world(checks("Report"), isApplied)
	announce(&w, now.Add(365*24*time.Hour))
	if next := nextDriftCheck(w); next.Sub(w.Now) > time.Hour {
		t.Errorf("the next check is at %s", next)
	}
}
