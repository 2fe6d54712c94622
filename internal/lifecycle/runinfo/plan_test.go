package runinfo

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// A replacement counts in add and in destroy, as in the engine's own summary, and is named besides.
func TestSummary(t *testing.T) {
	warned := &v1alpha1.PolicyResult{Warned: 1}
	for want, plan := range map[string]*v1alpha1.Plan{
		"no changes":                            {},
		"only outputs change":                   {Changes: true},
		"only the state changes":                {Changes: true, StateOnly: true},
		"1 to add, 1 to destroy (1 to replace)": {Changes: true, Add: 1, Destroy: 1, Replace: 1},
		"3 to add, 1 to change, 5 to destroy (2 to replace); 1 warning": {Add: 3, Change: 1, Destroy: 5, Replace: 2,
			Policy: warned},
		"5 to destroy, 1 to import, 2 to forget": {Changes: true, Destroy: 5, Import: 1, Forget: 2},
	} {
		if got := Summary(plan); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A sum says that only the state changes if no plan in it changes more.
func TestSumOfPlans(t *testing.T) {
	none, outputs, state := &v1alpha1.Plan{}, &v1alpha1.Plan{Changes: true}, &v1alpha1.Plan{Changes: true,
		StateOnly: true}
	for _, tt := range []struct {
		want  string
		plans []*v1alpha1.Plan
	}{
		{"no changes", []*v1alpha1.Plan{none, none}},
		{"only the state changes", []*v1alpha1.Plan{none, state, state, none}},
		{"only outputs change", []*v1alpha1.Plan{state, outputs}},
		{"only outputs change", []*v1alpha1.Plan{outputs, state}},
		{"1 to add, 2 to refresh in the state", []*v1alpha1.Plan{{Changes: true, Add: 1, Refresh: 1},
			{Changes: true, Refresh: 1}}},
		{"3 to add, 1 to forget, 1 to invoke", []*v1alpha1.Plan{state, {Changes: true, Add: 3, Forget: 1, Invoke: 1}}},
	} {
		var sum v1alpha1.Plan
		for _, p := range tt.plans {
			Add(&sum, p)
		}
		if got := Summary(&sum); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
