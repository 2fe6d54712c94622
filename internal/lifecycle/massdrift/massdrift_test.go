package massdrift

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// namespace has Stacks of which some began to drift at times, and the others were checked a time ago.
func namespace(of int, checked time.Duration, starts ...time.Time) (stacks []Stack) {
	for i := range of {
		s := Stack{Name: fmt.Sprintf("s%04d", i), CheckedAt: ago(checked)}
		if i < len(starts) {
			s.CheckedAt, s.Starts = starts[i], []time.Time{starts[i]}
		}
		stacks = append(stacks, s)
	}
	return stacks
}

// spread are n times, at equal distances, of which the last one is a time ago.
func spread(n int, over, last time.Duration) (times []time.Time) {
	for i := range n {
		times = append(times, ago(last+over*time.Duration(n-1-i)/time.Duration(n)))
	}
	return times
}

func TestFind(t *testing.T) {
	limits := Limits{Percent: 10, Stacks: 5}
	for name, test := range map[string]struct {
		stacks  []Stack
		resumed time.Time
		limits  Limits
		want    string
	}{
		"no Stack":                 {limits: limits},
		"no drift":                 {stacks: namespace(100, time.Minute), limits: limits},
		"one of three is not many": {stacks: namespace(3, time.Minute, spread(1, 0, 0)...), limits: limits},
		"four of four are fewer than the minimum": {stacks: namespace(4, time.Minute, spread(4, 0, 0)...),
			limits: limits},
		"five of five": {stacks: namespace(5, time.Minute, spread(5, 0, 0)...), limits: limits, want: "5 of 5"},
		"ten of a hundred are not more than the share": {
			stacks: namespace(100, time.Minute, spread(10, time.Hour, 0)...), limits: limits},
		"eleven of a hundred": {
			stacks: namespace(100, time.Minute, spread(11, time.Hour, 0)...), limits: limits, want: "11 of 100",
		},
		"eleven of a hundred, over two hours": {
			stacks: namespace(100, time.Minute, spread(11, 2*time.Hour, 0)...), limits: limits,
		},
		"those that were not checked in the hour do not count": {
			stacks: namespace(1000, 2*time.Hour, spread(6, time.Hour, 0)...), limits: limits, want: "6 of 6",
		},
		"an hour that has passed counts, with what was checked since": {
			stacks: namespace(100, time.Minute, spread(11, time.Hour, 3*time.Hour)...), limits: limits,
			want: "11 of 100",
		},
		"an hour of yesterday does not": {
			stacks: namespace(100, time.Minute, spread(11, time.Hour, 24*time.Hour)...), limits: limits,
		},
		"what began until a user resumed does not count": {
			stacks: namespace(100, time.Minute, spread(50, time.Hour, time.Minute)...), resumed: ago(time.Minute),
			limits: limits,
		},
		"what began later counts": {
			stacks: namespace(100, time.Minute, spread(50, 50*time.Minute, 0)...), resumed: ago(30 * time.Minute),
			limits: limits, want: "30 of 100",
		},
		"a clock that was ahead hides no other Stack": {
			stacks: namespace(100, time.Minute, append(spread(11, time.Hour, 0), now.Add(5*time.Hour))...),
			limits: limits, want: "11 of 100",
		},
		"no share": {stacks: namespace(5, time.Minute, spread(5, 0, 0)...)},
		"another share": {stacks: namespace(100, time.Minute, spread(11, time.Hour, 0)...),
			limits: Limits{Percent: 50, Stacks: 5}},
		"all of a thousand": {
			stacks: namespace(1000, 0, spread(1000, time.Hour, 0)...), limits: limits, want: "1000 of 1000",
		},
	} {
		got := ""
		if f, is := Find(test.stacks, test.resumed, now, test.limits); is {
			got = fmt.Sprintf("%d of %d", f.Drifted, f.Checked)
			if len(f.Stacks) != min(f.Drifted, mostNamed) {
				t.Errorf("%s: names %v", name, f.Stacks)
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestAStackCountsOnce checks a Stack whose drift was corrected and began again within the hour.
func TestAStackCountsOnce(t *testing.T) {
	stacks := namespace(5, 0, spread(4, time.Hour, 0)...)
	stacks[0].Starts = append(stacks[0].Starts, ago(time.Minute), ago(2*time.Minute))
	if f, is := Find(stacks, time.Time{}, now, Limits{Percent: 10, Stacks: 5}); is {
		t.Errorf("got %+v", f)
	}
}

func TestPaused(t *testing.T) {
	at := metav1.NewTime(now)
	resumed := v1alpha1.DriftPauseStatus{Resumed: &v1alpha1.ResumedDrift{Time: at}}
	again := v1alpha1.DriftPauseStatus{Resumed: resumed.Resumed, Since: &at}
	for name, test := range map[string]struct {
		pause *v1alpha1.DriftPause
		want  bool
	}{
		"none":             {nil, false},
		"without a status": {&v1alpha1.DriftPause{}, true},
		"paused": {&v1alpha1.DriftPause{Status: v1alpha1.DriftPauseStatus{Since: &at}},
			true},
		"resumed":      {&v1alpha1.DriftPause{Status: resumed}, false},
		"paused again": {&v1alpha1.DriftPause{Status: again}, true},
		"a decision that was not recorded yet": {
			&v1alpha1.DriftPause{Spec: v1alpha1.DriftPauseSpec{Resume: &v1alpha1.DriftResume{Since: at}}}, true},
	} {
		if got := Paused(test.pause); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
