package decision

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestDelayedDriftCheck checks when the next check is due for a Stack whose slot in the interval has passed.
func TestDelayedDriftCheck(t *testing.T) {
	const hour, day = time.Hour, 24 * time.Hour
	for name, tt := range map[string]struct {
		every, passed, checked time.Duration
		want                   time.Duration
	}{
		"due at its slot": {every: hour, checked: hour},
		"due shortly after its slot": {every: hour, passed: 6 * time.Minute,
			checked: hour + 6*time.Minute},
		"too late for its slot: waits for the next one": {every: hour, passed: 7 * time.Minute,
			checked: hour + 7*time.Minute, want: 53 * time.Minute},
		"a daily check may be two hours late": {every: day, passed: 2 * hour, checked: day + 2*hour},
		"a daily check may not be six hours late": {every: day, passed: 6 * hour, checked: day + 6*hour,
			want: 18 * hour},
		"a check each minute may be a minute late": {every: time.Minute, passed: 50 * time.Second,
			checked: 80 * time.Second},
		"planned shortly before its slot: waits for the next": {every: hour, checked: 29 * time.Minute, want: hour},
		"planned half an interval before its slot":            {every: hour, checked: 30 * time.Minute},
		"checked since its slot: waits for the next one": {every: hour, passed: 7 * time.Minute,
			checked: 6 * time.Minute, want: 53 * time.Minute},
		"not checked for two intervals: due sooner": {every: day, passed: 7 * hour, checked: 2*day + 7*hour,
			want: overdueWait},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSnapshot(isApplied)
			w.Runs[0].Status.FinishedAt = nil
			w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: tt.every}}
			place := slotOffset(string(w.Stack.UID), tt.every).Truncate(time.Second)
			at := now.Truncate(tt.every).Add(place)
			w.Now = at.Add(tt.passed)
			w.Stack.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.NewTime(w.Now.Add(-tt.checked))}
			announce(&w, at)
			got := until(w, nextDriftCheck(w))
			if starts := startsCheck(w); starts != (got == 0) {
				t.Errorf("starts: %v, and the next check is in %s", starts, got)
			}
			if tt.want == overdueWait {
				if got > tt.every/4 {
					t.Errorf("the next check is in %s", got)
				}
				return
			}
			if got != tt.want {
				t.Errorf("the next check is in %s, want %s", got, tt.want)
			}
		})
	}
}

// overdueWait is a quarter of the interval at most.
const overdueWait = -1

// TestDriftChecksAreSpreadAfterAnOutage checks that checks are spread after an outage of the operator of any length,
// and that each Stack is checked within an interval, or a quarter of it if it is overdue.
func TestDriftChecksAreSpreadAfterAnOutage(t *testing.T) {
	const stacks, every = 1000, 4 * time.Hour
	applyStarted := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for outage, most := range map[time.Duration]time.Duration{
		30 * time.Minute: every,
		3 * time.Hour:    every,
		5 * time.Hour:    every,
		72 * time.Hour:   every / 4,
	} {
		t.Run(outage.String(), func(t *testing.T) {
			back := applyStarted.Add(every + outage)
			atOnce, minutes := 0, map[int]int{}
			for i := range stacks {
				w := newSnapshot(isApplied)
				w.Stack.UID = types.UID(fmt.Sprintf("7d9c9a3e-0000-4000-8000-%012d", i))
				w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: every}}
				// It was checked at its place in the interval before the outage.
				place := slotOffset(string(w.Stack.UID), every).Truncate(time.Second)
				w.Runs[0].Status.FinishedAt = &metav1.Time{
					Time: applyStarted.Add(-place).Truncate(every).Add(place).Add(every)}
				announce(&w, w.Runs[0].Status.FinishedAt.Add(every))
				for w.Now = back; !startsCheck(w); {
					w.Now = w.Now.Add(announcing(&w))
				}
				waited := w.Now.Sub(back)
				if waited > most {
					t.Fatalf("Stack %d is checked %s after the outage", i, waited)
				}
				if waited == 0 {
					atOnce++
				} else {
					minutes[int(waited.Minutes())]++
				}
			}
			if atOnce > stacks*3/20 {
				t.Errorf("%d of %d checks at once", atOnce, stacks)
			}
			for minute, n := range minutes {
				if spread := most; n > 3*stacks/int(spread.Minutes())+10 {
					t.Errorf("%d in minute %d", n, minute)
				}
			}
			t.Logf("%d of %d checks at once", atOnce, stacks)
		})
	}
}

// TestTimestampsInTheFutureDoNotStopDriftChecks checks Runs whose end is a year ahead, since the clock was wrong for a
// time. Drift checks continue and their results count.
func TestTimestampsInTheFutureDoNotStopDriftChecks(t *testing.T) {
	inAYear := ago(-365 * 24 * time.Hour)
	for name, ahead := range map[string]func(*Snapshot){
		"of the last apply": withRun("net-2", "Succeeded", "sha256:now", inAYear),
		"of the last check": checkedAgo(-365 * 24 * time.Hour),
	} {
		w := newSnapshot(checks("Report"), isApplied, ahead)
		w.Stack.Status.LastRun = w.LatestRun().Name
		due := 0
		for end := w.Now.Add(3 * time.Hour); w.Now.Before(end); w.Now = w.Now.Add(10 * time.Second) {
			d := Decide(w)
			w.Stack.Status = Status(w, d)
			if d.Start == nil {
				continue
			}
			due++
			withRun(w.Stack.Status.LastRun, "Succeeded", "sha256:now", driftCheck, func(r *v1alpha1.Run) {
				at := metav1.NewTime(w.Now)
				r.Status.FinishedAt = &at
			})(&w)
		}
		if due < 3 || due > 6 { // overdue at first, and then one in each hour
			t.Errorf("%s: %d checks in 3 hours", name, due)
		}
		if drift := w.Stack.Status.Drift; drift == nil || drift.Since == nil || drift.CheckedAt.After(w.Now) {
			t.Errorf("%s: the drift is %+v", name, drift)
		}
	}
}

// startsCheck returns whether a drift check starts now.
func startsCheck(w Snapshot) bool {
	_, due := driftCheckIsDue(w, standing(w))
	return due
}
