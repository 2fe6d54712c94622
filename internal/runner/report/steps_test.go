package report

import (
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

// An unexpected step is reported after the step that required it.
func TestUnexpectedStepFollowsItsCause(t *testing.T) {
	t.Parallel()
	r := &Reporter{last: -1, news: make(chan struct{}, 1)}
	r.Expect([]string{"apply", "after-apply", "outputs"})
	r.Begin("apply")
	r.End(runnerapi.Step{State: Failed})
	r.Begin("rescue")
	r.End(runnerapi.Step{State: Succeeded})
	r.Skip("no need", "outputs")
	r.Skip("apply failed")
	if got := summary(r); got != "apply Failed, rescue Succeeded, after-apply Skipped, outputs Skipped" {
		t.Errorf("%s", got)
	}
	if r.steps[2].Message != "apply failed" || r.steps[3].Message != "no need" {
		t.Errorf("%+v", r.steps)
	}
	r = &Reporter{last: -1, news: make(chan struct{}, 1)}
	r.Begin("fetch")
	if got := summary(r); got != "fetch Running" {
		t.Errorf("%s", got)
	}
}

// summary is the name and the state of each step.
func summary(r *Reporter) string {
	var words []string
	for _, step := range r.Steps() {
		words = append(words, step.Name+" "+step.State)
	}
	return strings.Join(words, ", ")
}
