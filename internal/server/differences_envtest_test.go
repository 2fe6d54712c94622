//go:build envtest

package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/runnerapi"
)

// TestDifferencesOfAPlan checks that the server, and no pod, reports what a plan changes, and that names of secrets are
// hidden in it. Only a Run that only plans has it: for others nothing is decided on it.
func TestDifferencesOfAPlan(t *testing.T) {
	e := newEnv(t)
	changed := planfiletest.Plan{
		{
			Address: "terraform_data.a", Action: planfiletest.Update,
			Before: map[string]any{"input": map[string]any{"hunter2": "a", "b": "c"}},
			After:  map[string]any{"input": map[string]any{"hunter2": "b", "b": "c"}},
		},
		{Address: "terraform_data.b", Action: planfiletest.Delete, Before: map[string]any{"input": "x"}},
	}
	reported := func(do v1alpha1.Operation, name string, upload bool) []runnerapi.Difference {
		t.Helper()
		run := e.newRunTo(do, e.stack, name)
		r := e.newPod(name+"-plan-1", run).begin(run, v1alpha1.AttemptPlan)
		digest := r.uploads(changed.File(t))
		if upload {
			r.documents(digest, changed.JSON(t), "hunter2")
		}
		lie := []runnerapi.Difference{{Address: "terraform_data.c", Action: "create"}}
		report := runnerapi.Report{
			Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Differences: lie}}}
		must(t, r.client().Report(t.Context(), report))
		return (<-e.fakes.reports).Done.Plan.Differences
	}
	want := []runnerapi.Difference{
		{Address: "terraform_data.b", Action: "delete"},
		{Address: "terraform_data.a", Action: "update", Attributes: []string{`input["(sensitive)"]`}},
	}
	if diff := cmp.Diff(want, reported(v1alpha1.OperationPlan, "net-1", true)); diff != "" {
		t.Error(diff)
	}
	if got := reported(v1alpha1.OperationPlan, "net-2", false); got != nil {
		t.Errorf("without a document: %v", got)
	}
	if got := reported(v1alpha1.OperationApply, "net-3", true); got != nil {
		t.Errorf("of a Run that applies: %v", got)
	}
}
