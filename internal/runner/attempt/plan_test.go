package attempt

import (
	"testing"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestMessageOfAPlan(t *testing.T) {
	t.Parallel()
	changes := engine.Changes{{Address: "a.b", Action: engine.Create}}
	untracked := []runnerapi.UntrackedResource{{Address: "c.d"}}
	for want, got := range map[string]string{
		"1 to add":            summary(&runnerapi.Plan{Changes: true}, changes, ""),
		"only outputs change": summary(&runnerapi.Plan{Changes: true}, nil, ""),
		"no changes":          summary(&runnerapi.Plan{}, nil, ""),
		runnerapi.OnlyState + ": its resources no longer exist": summary(
			&runnerapi.Plan{Changes: true, StateOnly: true}, nil, "its resources no longer exist"),
		"1 to add; 1 resources of the journal could not be taken into the state": summary(
			&runnerapi.Plan{Changes: true, Untracked: untracked}, changes, ""),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
