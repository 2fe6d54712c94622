package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/runnerapi"
)

const canary = "canary-9d1c-value"

// secretive has a canary in all the places that an engine may show it in.
const secretive = `
variable "password" { sensitive = true }
resource "terraform_data" "a" { input = { plain = "seen", secret = var.password } }
resource "terraform_data" "b" {
  input = nonsensitive("derived ${var.password}")
}
output "o" {
  value     = var.password
  sensitive = true
}
`

// The forms match the plan and have no secrets, whatever the engine prints.
func TestPlanFormsAreStoredWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"OpenTofu", "Terraform"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			// The runner finds out only from the output of the engine that it is a secret.
			order := s.plan(1,
				s.put(file("main.tf", secretive), file("terraform.tfvars", fmt.Sprintf("password = %q\n", canary))))
			order.Engine = engine
			order.Hooks = []runnerapi.Hook{hookAt("After", "plan", "true")} // which may read the text
			p := run(t, s, nil, order)
			done := s.done(1).Done
			if done.Failure != nil || done.Plan.Add != 2 {
				t.Fatalf("%+v\n%s", done, p.output)
			}
			shown := s.forms[done.Plan.Digest+"/json"]
			text, err := os.ReadFile(filepath.Join(p.work, "plan.txt"))
			if err != nil {
				t.Fatal(err)
			}
			for name, form := range map[string][]byte{"json": shown, "text": text} {
				if len(form) == 0 || bytes.Contains(form, []byte(canary)) || bytes.Contains(form, []byte("\x1b")) {
					t.Errorf("the %s:\n%s", name, form)
				}
			}
			view, err := plan.Parse(shown)
			if err != nil || len(view.Changes) != 2 || !bytes.Contains(shown, []byte(`"seen"`)) {
				t.Errorf("%+v %v", view, err)
			}
			for _, want := range []string{"terraform_data.a", "seen", "Plan: 2 to add, 0 to change, 0 to destroy"} {
				if !bytes.Contains(text, []byte(want)) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			hooks, err := os.ReadFile(filepath.Join(p.work, "plan.json"))
			ofHooks, err2 := plan.Parse(hooks)
			if err := errors.Join(err, err2); err != nil || bytes.Contains(hooks, []byte(canary)) ||
				!cmp.Equal(ofHooks, view) {
				t.Errorf("hooks get %s: %v", hooks, err)
			}
			if _, err := os.Stat(filepath.Join(p.work, "plan.document.json")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the plan with its secrets stays in the pod: %v", err)
			}
			if at := slices.Index(s.requests, "PUT /v1/plan"); at < 0 ||
				at > slices.Index(s.requests, "PUT /v1/plan/"+done.Plan.Digest+"/document") {
				t.Errorf("%v", s.requests)
			}
		})
	}
}

func TestPlanWithoutChangesHasNoForms(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	source := s.put(file("main.tf", two))
	run(t, s, nil, s.planned(s.plan(1, source), nil))
	clear(s.forms)
	p := run(t, s, nil, s.plan(3, source))
	if s.done(3).Done.Plan.Changes || len(s.forms) != 0 {
		t.Errorf("%v\n%s", s.forms, p.output)
	}
}

// fake is an engine that plans changes and shows them as a script says.
func fake(t *testing.T, s *testServer, order runnerapi.Order, show string) (*pod, runnerapi.Report) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
case $1 in
plan)
  for arg; do case $arg in
  -out=*) echo plan >"${arg#-out=}";;
  -json-into=*) echo '{"type":"change_summary","changes":{"add":1,"operation":"plan"}}' >"${arg#-json-into=}";;
  esac; done
  echo "Plan: 1 to add"; exit 2;;
show) ` + show + `;;
esac
`
	executable(t, filepath.Join(dir, "tofu"), script)
	p := startPod(t, s, nil, "PATH="+dir+":/usr/bin:/bin")
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	return p, s.done(order.Attempt)
}

// A user can read such a plan in the log and approve it, but policies cannot evaluate it.
func TestPlanWithoutForms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		show, log string
		policy    runnerapi.Failure
		steps     string
	}{
		"the engine fails": {"echo 'Error: out of luck' >&2; exit 1",
			"the plan's JSON is not kept: OpenTofu ended with exit code 1: Error: out of luck\n",
			runnerapi.Failure{Class: "Transient", Message: "policies cannot see the plan: OpenTofu ended with exit " +
				"code 1: Error: out of luck"}, "fetch= init= plan! policy-"},
		"it is no JSON": {"echo nonsense", "the plan's JSON is not kept: read what OpenTofu shows of the plan: ",
			runnerapi.Failure{Class: "Transient", Message: "policies cannot see the plan: read what OpenTofu shows " +
				"of the plan: "}, "fetch= init= plan! policy-"},
		"it is too large": {"head -c 34000000 /dev/zero", "the plan's JSON is not kept: it has more than 32 MiB\n",
			runnerapi.Failure{Class: "PolicyDenied", Message: "the plan is too large to be checked by policies"},
			"fetch= init= plan= policy!"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			_, report := fake(t, s, order, test.show)
			if report.Done.Failure != nil || report.Done.Plan == nil || !strings.Contains(string(s.logs[1]), test.log) {
				t.Errorf("%s %+v\n%s", allSteps(report), report.Done.Failure, s.logs[1])
			}
			digest := report.Done.Plan.Digest
			if s.forms[digest+"/json"] != nil {
				t.Errorf("%q", s.forms[digest+"/json"])
			}

			s = newTestServer(t)
			order = s.plan(1, s.put(file("main.tf", two)))
			order.Policy = true
			_, report = fake(t, s, order, test.show)
			if failure := report.Done.Failure; allSteps(report) != test.steps || failure == nil ||
				failure.Class != test.policy.Class || !strings.HasPrefix(failure.Message, test.policy.Message) ||
				len(s.checked) > 0 {
				t.Errorf("%s %+v", allSteps(report), failure)
			}
		})
	}
}

// A server that rejects the JSON of a plan does not fail the attempt.
func TestRejectedPlanJSONIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.refuse = func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/document") {
			return http.StatusRequestEntityTooLarge
		}
		return 0
	}
	run(t, s, nil, s.plan(1, s.put(file("main.tf", two))))
	if s.done(1).Done.Failure != nil {
		t.Errorf("%+v", s.done(1).Done)
	}
	inOrder(t, string(s.logs[1]), "the plan's JSON is not kept: the server answered 413")
}

// This holds with policies and without.
func TestPlanJSONThatDiffersFailsTheAttempt(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{
		"JSON that does not describe the plan file":   http.StatusUnprocessableEntity,
		"other JSON than the server has of it by now": http.StatusConflict,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.refuse = func(r *http.Request) int {
				if strings.HasSuffix(r.URL.Path, "/document") {
					return code
				}
				return 0
			}
			run(t, s, nil, s.plan(1, s.put(file("main.tf", two))))
			f := s.done(1).Done.Failure
			if f == nil || f.Class != runnerapi.FailureConfigurationError || f.Reason != runnerapi.ReasonPlanMismatch {
				t.Errorf("%+v", s.done(1).Done)
			}
		})
	}
}
