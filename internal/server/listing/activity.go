package listing

import (
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

// mostSteps is how fine an activity can be asked for.
const mostSteps = 1000

// Activity counts the Runs that ended in each step of the time before now, by how they ended. The steps begin at round
// times, so that two users see the same. An error is a *BadQuery.
func Activity(runs []*userapi.Run, now time.Time, since, step time.Duration) (userapi.Activity, error) {
	step = max(step.Truncate(time.Second), time.Second)
	if n := since / step; n < 1 || n > mostSteps {
		return userapi.Activity{},
			&kinds.BadQuery{Parameter: "step", Message: fmt.Sprintf("there would be %d steps: 1 to %d can be shown", n,
				mostSteps)}
	}
	first := now.Add(-since).Truncate(step).Add(step)
	a := userapi.Activity{Step: step.String(), Steps: make([]userapi.ActivityStep, 0, since/step)}
	for at := first; !at.After(now); at = at.Add(step) {
		a.Steps = append(a.Steps, userapi.ActivityStep{From: at})
	}
	for _, r := range runs {
		ended := r.Finished
		if ended == nil || ended.Before(first) {
			continue
		}
		n := int(ended.Sub(first) / step)
		if n >= len(a.Steps) { // a clock that is ahead
			continue
		}
		switch v1alpha1.RunPhase(r.Phase) {
		case v1alpha1.PhaseSucceeded:
			a.Steps[n].Succeeded++
		case v1alpha1.PhaseFailed:
			a.Steps[n].Failed++
		default:
			a.Steps[n].Others++
		}
	}
	return a, nil
}
