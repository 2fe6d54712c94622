package decision

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestLogAttempt(t *testing.T) {
	ended := func(run *v1alpha1.Run) *v1alpha1.Run {
		last := &run.Status.Attempts[len(run.Status.Attempts)-1]
		last.FinishedAt.Time = noon.Time
		return run
	}
	lost := func(run *v1alpha1.Run) *v1alpha1.Run {
		run = ended(run)
		run.Status.Attempts[len(run.Status.Attempts)-1].Failure = &v1alpha1.Failure{Class: v1alpha1.FailurePodLost}
		return run
	}
	finished := lost(done(applying()))
	finished.Status.Phase = v1alpha1.PhaseFailed
	tests := map[string]struct {
		run   *v1alpha1.Run
		by    Holder
		after time.Duration
		ok    bool
	}{
		"an attempt that runs": {run: applying(), after: time.Hour, ok: true},
		"the rest of a log, right after the report": {run: ended(done(applying())), after: 10 * time.Second,
			ok: true},
		"an attempt that ended, later": {run: ended(done(applying())),
			after: 61 * time.Second},
		"an attempt that was given up, until another one began": {run: lost(done(applying())), after: time.Hour,
			ok: true},
		"an attempt that was given up, of a finished Run": {run: finished, after: time.Hour},
		"another pod": {run: applying(), by: Holder{Run: me.Run, Attempt: me.Attempt, PodUID: "pod-x"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			if _, rejection := LogAttempt(test.run, test.by, noon.Add(test.after)); (rejection == nil) != test.ok {
				t.Errorf("%v", rejection)
			}
		})
	}
}
