package runner

import (
	"net/http"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

// Each step changes as it is done.
func TestFirstReportHasAllSteps(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Outputs, order.Policy = true, true
	order.Hooks = []runnerapi.Hook{hookAt("After", "init", "sleep 0.2")}
	s.refuse = func(r *http.Request) int {
		if strings.HasPrefix(r.URL.Path, "/v1/sources/") { // the first step takes until it is reported
			wait(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.reports[1]) > 0 })
		}
		return 0
	}
	run(t, s, nil, order)
	all := s.reports[1]
	var lines []string
	for _, report := range all {
		lines = append(lines, allSteps(report))
	}
	if lines[0] != "fetch? init. after-init. plan. policy. outputs." ||
		lines[len(lines)-1] != "fetch= init= after-init= plan= policy= outputs-" {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	// One report a step that was begun, at most, and the last one: what is only listed or skipped costs none.
	if most := 5 + 1; len(all) > most {
		t.Errorf("%d reports:\n%s", len(all), strings.Join(lines, "\n"))
	}
	for i, report := range all {
		for _, step := range report.Steps {
			if begun := step.State != "Waiting" && step.State != "Skipped"; begun != (step.StartedAt != nil) {
				t.Errorf("report %d: %+v", i, step)
			}
		}
	}
}
