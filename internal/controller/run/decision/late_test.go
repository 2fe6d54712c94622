package decision

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A Run that was named, not created, and abandoned for a later one may still be created by a former leader that was
// frozen. It ends before it has a pod, or as soon as none of its attempts is running.
func TestLateRunIsSuperseded(t *testing.T) {
	const superseded = v1alpha1.PhaseSuperseded
	named := func(run string) func(*Snapshot) {
		return func(w *Snapshot) { w.Stack.Status.CurrentRun, w.Stack.Status.LastRun = run, run }
	}
	for name, test := range map[string]struct {
		snapshot Snapshot
		want     v1alpha1.RunPhase
	}{
		"the newest Run of its Stack begins": {snapshot(named("net-7")),
			v1alpha1.PhasePlanning},
		"the newest Run begins when the Stack does not name it as current": {snapshot(), v1alpha1.PhasePlanning},
		"one that is created after the next begins ends":                   {snapshot(named("net-8")), superseded},
		"a late Run ends when the next one is deleted": {snapshot(named("net-8"), under("")),
			superseded},
		"a late Run ends when the Stack names it as current": {snapshot(named("net-8"), under("net-7")),
			superseded},
		"a late Run of a suspended Stack ends": {snapshot(named("net-8"), suspended), superseded},
		"one whose pod has not started yet ends": {
			snapshot(named("net-8"), planning, pod(PodPending)), superseded},
		"one that plans ends after that": {
			snapshot(named("net-8"), planned, pod(PodRunning)), superseded},
		"one that waits for an approval ends": {snapshot(named("net-8"), waiting), superseded},
		"one that applies goes on to the end, which the next awaits": {
			snapshot(named("net-8"), applying, pod(PodRunning)), v1alpha1.PhaseApplying},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := Settle(test.snapshot)
			if d.NeedsPod() { // what it is once there is the pod
				s.Phase = d.Phase
			}
			if s.Phase != test.want {
				t.Errorf("it is %s (%s), want %s", s.Phase, d.Message, test.want)
			}
		})
	}
}

// under has the status name this Run as the one under way.
func under(run string) func(*Snapshot) { return func(w *Snapshot) { w.Stack.Status.CurrentRun = run } }
