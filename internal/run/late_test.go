package run

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A Run that was named and not made, and given up for a later one, may be made late: by an operator that froze in between. It ends
// before it has a pod. What the Stack names goes on, and so does what has begun.
func TestARunThatIsMadeLateEnds(t *testing.T) {
	for name, test := range map[string]struct {
		run, last string
		want      v1alpha1.RunPhase
	}{
		"the Stack names it":             {"net-7", "net-7", v1alpha1.PhasePlanning},
		"the Stack went on":              {"", "net-8", v1alpha1.PhaseSuperseded},
		"the Stack went on to another":   {"net-8", "net-8", v1alpha1.PhaseSuperseded},
		"it is named though one was not": {"net-7", "net-8", v1alpha1.PhasePlanning},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(func(w *World) { w.Stack.Status.Run, w.Stack.Status.LastRun = test.run, test.last })
			if d := Decide(w); d.Phase != test.want {
				t.Errorf("%s of %s is %s (%s), want %s", w.Run.Name, test.last, d.Phase, d.Message, test.want)
			}
		})
	}
}
