package decision

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// When the next check is, for a Stack whose place in the interval was passed a while ago and that was looked at before.
func TestACheckThatMissedItsPlace(t *testing.T) {
	const hour, day = time.Hour, 24 * time.Hour
	for name, tt := range map[string]struct {
		every, passed, looked time.Duration
		want                  time.Duration
	}{
		"is due at its place":                                      {every: hour, looked: hour},
		"and a little later":                                       {every: hour, passed: 6 * time.Minute, looked: hour + 6*time.Minute},
		"waits for the next place when it is later":                {every: hour, passed: 7 * time.Minute, looked: hour + 7*time.Minute, want: 53 * time.Minute},
		"a day's may be later":                                     {every: day, passed: 2 * hour, looked: day + 2*hour},
		"but not by a quarter of the day":                          {every: day, passed: 6 * hour, looked: day + 6*hour, want: 18 * hour},
		"one each minute is due whenever nothing looked":           {every: time.Minute, passed: 50 * time.Second, looked: 70 * time.Second},
		"one that was looked at since waits for its place":         {every: hour, passed: 7 * time.Minute, looked: 6 * time.Minute, want: 53 * time.Minute},
		"what nothing looked at for two intervals comes up sooner": {every: day, passed: 7 * hour, looked: 2*day + 7*hour, want: overdueWait},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(isApplied)
			w.Runs[0].Status.FinishedAt = nil
			w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: tt.every}}
			place := slotOffset(string(w.Stack.UID), tt.every).Truncate(time.Second)
			at := now.Truncate(tt.every).Add(place)
			w.Now = at.Add(tt.passed)
			w.Stack.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.NewTime(w.Now.Add(-tt.looked))}
			announce(&w, at)
			got := until(w, nextDriftCheck(w))
			if starts := startsCheck(w); starts != (got == 0) {
				t.Errorf("it starts: %v, and the next check is in %s", starts, got)
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

// overdueWait is up to a quarter of the interval.
const overdueWait = -1

// After an outage of the operator the checks are as spread as before, however long it was, and each Stack is checked in time:
// within an interval, or a quarter of one when it is overdue.
func TestAfterAnOutageChecksAreSpread(t *testing.T) {
	const stacks, every = 1000, 4 * time.Hour
	began := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for outage, most := range map[time.Duration]time.Duration{
		30 * time.Minute: every,
		3 * time.Hour:    every,
		5 * time.Hour:    every,
		72 * time.Hour:   every / 4,
	} {
		t.Run(outage.String(), func(t *testing.T) {
			back := began.Add(every + outage)
			atOnce, minutes := 0, map[int]int{}
			for i := range stacks {
				w := world(isApplied)
				w.Stack.UID = types.UID(fmt.Sprintf("7d9c9a3e-0000-4000-8000-%012d", i))
				w.Stack.Spec.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: every}}
				// It was checked at its place in the interval before the outage.
				place := slotOffset(string(w.Stack.UID), every).Truncate(time.Second)
				w.Runs[0].Status.FinishedAt = &metav1.Time{Time: began.Add(-place).Truncate(every).Add(place).Add(every)}
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
				t.Errorf("%d of %d at once", atOnce, stacks)
			}
			for minute, n := range minutes {
				if spread := most; n > 3*stacks/int(spread.Minutes())+10 {
					t.Errorf("%d in minute %d", n, minute)
				}
			}
			t.Logf("%d of %d at once", atOnce, stacks)
		})
	}
}

// A clock that was ahead for a while, as after a machine was asleep, says that a Run has looked in a year. Checks go on all the same, and what they
// find counts.
func TestAClockThatWasAheadStopsNoChecks(t *testing.T) {
	inAYear := ago(-365 * 24 * time.Hour)
	for name, ahead := range map[string]func(*Snapshot){
		"of the last apply": had("net-2", "Succeeded", "sha256:now", inAYear),
		"of the last check": lookedAgo(-365 * 24 * time.Hour),
	} {
		w := world(checks("Report"), isApplied, ahead)
		w.Stack.Status.LastRun = w.LatestRun().Name
		due := 0
		for end := w.Now.Add(3 * time.Hour); w.Now.Before(end); w.Now = w.Now.Add(10 * time.Second) {
			d := Decide(w)
			w.Stack.Status = Status(w, d)
			if d.Start == nil {
				continue
			}
			due++
			had(w.Stack.Status.LastRun, "Succeeded", "sha256:now", looks, func(r *v1alpha1.Run) {
				at := metav1.NewTime(w.Now)
				r.Status.FinishedAt = &at
			})(&w)
		}
		if due < 3 || due > 6 { // overdue at first, and then one in each hour
			t.Errorf("%s: %d checks in 3 hours", name, due)
		}
		if drift := w.Stack.Status.Drift; drift == nil || drift.Since == nil || drift.CheckedAt.After(w.Now) {
			t.Errorf("%s: of drift it says %+v", name, drift)
		}
	}
}

// startsCheck reports that a drift check starts now.
func startsCheck(w Snapshot) bool {
	_, due := driftCheckIsDue(w)
	return due
}
