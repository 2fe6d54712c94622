package runinfo

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestDurationExcludesTheWait(t *testing.T) {
	created := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return created.Add(time.Duration(minutes) * time.Minute) }
	attempt := func(phase v1alpha1.AttemptPhase, from, to int) v1alpha1.Attempt {
		a := v1alpha1.Attempt{Phase: phase, StartedAt: metav1.MicroTime{Time: at(from)}}
		if to > 0 {
			a.FinishedAt = &metav1.MicroTime{Time: at(to)}
		}
		return a
	}
	failed := func(a v1alpha1.Attempt) v1alpha1.Attempt {
		a.Failure = &v1alpha1.Failure{Class: v1alpha1.FailureTransient}
		return a
	}
	const plan, apply = v1alpha1.AttemptPlan, v1alpha1.AttemptApply
	now := at(100)
	for name, tt := range map[string]struct {
		phase          v1alpha1.RunPhase
		operation      v1alpha1.Operation
		attempts       []v1alpha1.Attempt
		finished       int
		unchanged      bool
		active, waited int
	}{
		"queued": {phase: "Queued", active: 100},
		"planning": {phase: "Planning", attempts: []v1alpha1.Attempt{attempt(plan, 1, 0)},
			active: 100},
		"waiting": {phase: "AwaitingApproval", attempts: []v1alpha1.Attempt{attempt(plan, 1, 3)},
			active: 3, waited: 97},
		"applying": {phase: "Applying", attempts: []v1alpha1.Attempt{attempt(plan, 1, 3),
			attempt(apply, 60, 0)}, active: 43, waited: 57},
		"applied": {phase: "Succeeded", attempts: []v1alpha1.Attempt{attempt(plan, 1, 3),
			attempt(apply, 60, 62)}, finished: 62, active: 5, waited: 57},
		"rejected": {phase: "Canceled", attempts: []v1alpha1.Attempt{attempt(plan, 1, 3)},
			finished: 50, active: 3, waited: 47},
		"a new plan instead": {phase: "Planning", attempts: []v1alpha1.Attempt{attempt(plan, 1, 3),
			attempt(plan, 50, 0)}, active: 53, waited: 47},
		"two plans, both applied": {phase: "Succeeded", attempts: []v1alpha1.Attempt{attempt(plan, 1, 3),
			failed(attempt(apply, 13, 14)), attempt(plan, 15, 16), attempt(apply, 26, 27)}, finished: 27, active: 7,
			waited: 20},
		"a retry of a plan is no wait": {phase: "Planning", attempts: []v1alpha1.Attempt{failed(attempt(plan, 1, 3)),
			attempt(plan, 50, 0)}, active: 100},
		"a plan only": {phase: "Succeeded", operation: v1alpha1.OperationPlan,
			attempts: []v1alpha1.Attempt{attempt(plan, 1, 3)}, finished: 4, active: 4},
		"no changes": {phase: "Succeeded", unchanged: true, attempts: []v1alpha1.Attempt{attempt(plan, 1, 3)},
			finished: 4, active: 4},
	} {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: created}}}
			r.Spec.Operation = tt.operation
			r.Status = v1alpha1.RunStatus{Phase: tt.phase, Attempts: tt.attempts,
				Plan: &v1alpha1.Plan{Changes: !tt.unchanged}}
			if tt.finished > 0 {
				r.Status.FinishedAt = &metav1.Time{Time: at(tt.finished)}
			}
			active, waited := Duration(r, now)
			if active != at(tt.active).Sub(created) || waited != at(tt.waited).Sub(created) {
				t.Errorf("active for %s, waited for %s; want %d and %d minutes", active, waited, tt.active, tt.waited)
			}
		})
	}
}
