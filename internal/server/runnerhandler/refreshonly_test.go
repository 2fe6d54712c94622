package runnerhandler

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
)

// A pod can neither choose that a plan writes drift to the state, nor that it changes resources instead.
func TestAPlanHasTheModeThatWasRequested(t *testing.T) {
	plan := planfiletest.Plan{{Address: "a.b", Action: planfiletest.Delete, Before: map[string]any{"size": 1}}}
	refresh, _ := plan.RefreshOnly(t)
	for name, tt := range map[string]struct {
		requested *v1alpha1.PlanOptions
		message   []byte
		accepted  bool
	}{
		"requested, and planned so": {&v1alpha1.PlanOptions{RefreshOnly: true}, refresh, true},
		"neither":                   {nil, plan.Message(t), true},
		"other options":             {&v1alpha1.PlanOptions{Targets: []string{"a.b"}}, plan.Message(t), true},
		"not requested":             {nil, refresh, false},
		"requested with targets":    {&v1alpha1.PlanOptions{Targets: []string{"a.b"}}, refresh, false},
		"a plan with all changes":   {&v1alpha1.PlanOptions{RefreshOnly: true}, plan.Message(t), false},
	} {
		f, err := planfile.ReadChanges(planfiletest.Zip(t, tt.message))
		if err != nil {
			t.Fatal(err)
		}
		err = verifyMode(&v1alpha1.Run{Spec: v1alpha1.RunSpec{PlanOptions: tt.requested}}, f)
		if (err == nil) != tt.accepted {
			t.Errorf("%s: %v", name, err)
		}
	}
}
