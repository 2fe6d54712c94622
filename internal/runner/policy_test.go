package runner

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	warn := runnerapi.Finding{Policy: "rules/a.rego", Action: runnerapi.Warn, Message: "tags\nwould be \x1b[31mnice"}
	ask := runnerapi.Finding{Policy: "rules/c.yaml", Action: runnerapi.RequireApproval, Message: "it is dear"}
	deny := runnerapi.Finding{Policy: "rules/b.rego", Action: runnerapi.Deny, Message: "no public buckets"}
	for name, test := range map[string]struct {
		verdict runnerapi.PolicyResult
		steps   string
		message string
		failure *runnerapi.Failure
		log     string
	}{
		"without findings": {runnerapi.PolicyResult{Checked: 3}, "fetch= init= plan= policy= after-policy= outputs-",
			"3 checked", nil, "── policy ──\n── after-policy ──\n"},
		"with warnings": {runnerapi.PolicyResult{Checked: 1, Findings: []runnerapi.Finding{warn, warn}},
			"fetch= init= plan= policy= after-policy= outputs-", "1 checked, 2 warnings", nil,
			"── policy ──\nWarn  rules/a.rego: tags would be nice\nWarn  rules/a.rego: tags would be nice\n"},
		"with a required approval": {runnerapi.PolicyResult{Checked: 2, Findings: []runnerapi.Finding{ask, warn},
			MoreRequired: 1}, "fetch= init= plan= policy= after-policy= outputs-",
			"2 checked, approval required, 1 warning", nil,
			"── policy ──\nRequireApproval  rules/c.yaml: it is dear\nWarn  rules/a.rego: tags would be " +
				"nice\nand 1 more\n"},
		"with a denial": {runnerapi.PolicyResult{Checked: 2, Findings: []runnerapi.Finding{deny, warn}},
			"fetch= init= plan= policy! after-policy- outputs-", "rules/b.rego: no public buckets",
			&runnerapi.Failure{Class: "PolicyDenied", Message: "rules/b.rego: no public buckets"},
			"Deny  rules/b.rego: no public buckets\nWarn  rules/a.rego: "},
		"with more denials than reported": {runnerapi.PolicyResult{Checked: 2, Findings: []runnerapi.Finding{deny},
			MoreDenied: 4, MoreWarned: 3}, "fetch= init= plan= policy! after-policy- outputs-",
			"rules/b.rego: no public buckets (and 4 more)",
			&runnerapi.Failure{Class: "PolicyDenied", Message: "rules/b.rego: no public buckets (and 4 more)"},
			"Deny  rules/b.rego: no public buckets\nand 7 more\n"},
		"with three denials": {runnerapi.PolicyResult{Checked: 2, Findings: []runnerapi.Finding{deny, deny, deny}},
			"fetch= init= plan= policy! after-policy- outputs-", "rules/b.rego: no public buckets (and 2 more)",
			&runnerapi.Failure{Class: "PolicyDenied", Message: "rules/b.rego: no public buckets (and 2 more)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.verdict = test.verdict
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Policy, order.Outputs = true, true
			order.Hooks = []runnerapi.Hook{hookAt("After", "policy", "true")}
			run(t, s, nil, order)
			report := s.done(1)
			if got := step(t, report, "policy").Message; allSteps(report) != test.steps || got != test.message {
				t.Errorf("%s %q", allSteps(report), got)
			}
			if failure := report.Done.Failure; (failure == nil) != (test.failure == nil) ||
				failure != nil && *failure != *test.failure {
				t.Errorf("%+v", failure)
			}
			if report.Done.Plan == nil {
				t.Error("the plan cannot be read")
			}
			if !strings.Contains(strings.ReplaceAll(string(s.logs[1]), "[31m", ""), test.log) ||
				strings.Contains(string(s.logs[1]), "\x1b") {
				t.Errorf("the log is\n%s", s.logs[1])
			}
			if len(s.checked) != 1 || slices.Index(s.requests, "PUT /v1/plan/"+s.checked[0]+"/document") > slices.Index(
				s.requests, "POST /v1/policy/"+s.checked[0]) {
				t.Errorf("asked about %v", s.checked)
			}
		})
	}
}

func TestPoliciesAreNotEvaluatedForAPlanWithoutChanges(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	source := s.put(file("main.tf", two))
	run(t, s, nil, s.planned(s.plan(1, source), nil))
	order := s.plan(3, source)
	order.Policy = true
	run(t, s, nil, order)
	report := s.done(3)
	if allSteps(report) != "fetch= init= plan= policy-" ||
		step(t, report, "policy").Message != "the plan has no changes" || len(s.checked) > 0 ||
		report.Done.Failure != nil {
		t.Errorf("%s %+v", allSteps(report), report.Done)
	}
}

func TestUnavailablePoliciesAreRetried(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.refuse = func(r *http.Request) int {
		if strings.HasPrefix(r.URL.Path, "/v1/policy/") {
			return http.StatusConflict
		}
		return 0
	}
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Policy = true
	run(t, s, nil, order)
	if report := s.done(1); allSteps(report) != "fetch= init= plan= policy!" || report.Done.Plan != nil ||
		*report.Done.Failure != (runnerapi.Failure{Class: "Transient",
			Message: "ask the policies: the server answered 409: refused by the test"}) {
		t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
	}
}
