package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

const two = `
variable "size" { default = 1 }
resource "terraform_data" "a" { input = var.size }
resource "terraform_data" "b" { input = terraform_data.a.id }
output "size" { value = terraform_data.a.output }
`

func TestPlanAndApplyInOnePod(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Outputs, order.EngineVersion = true, "~> 1.12"
	order.Variables = []runnerapi.Variable{{Name: "size", Value: json.RawMessage("7")}}
	p := startPod(t, s, nil)
	s.orders <- order
	first := waitDone(t, s, 1)
	if got := steps(first); got != "fetch= engine= init= plan=" {
		t.Errorf("%s", got)
	}
	plan := first.Done.Plan
	want := &runnerapi.Plan{Digest: plan.Digest, EngineVersion: "1.12.6", Changes: true, Add: 2,
		Resources: []runnerapi.ResourceChange{
			{Address: "terraform_data.a", Action: "create"}, {Address: "terraform_data.b", Action: "create"},
		}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Error(diff)
	}
	if got := first.Steps[1].Message + ", " + first.Steps[3].Message; got != "OpenTofu 1.12.6, 2 to add" ||
		*first.Steps[3].ExitCode != 2 {
		t.Errorf("%s", got)
	}
	if s.lock != nil || s.state != nil || s.inputs.Files != nil {
		t.Error("a plan left files behind")
	}

	order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, plan.Digest
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	second := s.done(2)
	if got := steps(second); got != "apply= outputs=" || second.Steps[0].Message != "2 added" {
		t.Errorf("%s %+v", got, second.Steps)
	}
	if second.Done.Failure != nil || second.Done.Plan != nil || string(second.Done.Outputs["size"]) != "7" {
		t.Errorf("%+v", second.Done)
	}
	if diff := cmp.Diff(runnerapi.Outputs{"size": {Value: json.RawMessage("7")}}, s.outputs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.resources()); diff != "" || s.lock != nil {
		t.Errorf("lock %s %s", s.lock, diff)
	}
	if diff := cmp.Diff(map[string][]byte{"zz-variables.tfvars.json": []byte(`{"size":7}`)},
		s.inputs.Files); diff != "" {
		t.Error(diff)
	}
	if kept, locked := slices.Index(s.requests, "PUT /v1/inputs"), slices.Index(s.requests, "LOCK /v1/state"); kept <
		0 || kept > locked {
		t.Errorf("the inputs were kept after the engine began: %v", s.requests)
	}
	for attempt, want := range map[int32][]string{1: {"── init ──", "── plan ──\n", "Plan: 2 to add"},
		2: {"── apply ──\n", "Apply complete! Resources: 2 added"}} {
		for _, text := range want {
			if !strings.Contains(string(s.logs[attempt]), text) || !strings.Contains(p.output.String(), text) {
				t.Errorf("the log of attempt %d has no %q:\n%s", attempt, text, s.logs[attempt])
			}
		}
	}
	if strings.Contains(p.output.String(), "\x1b") {
		t.Error("there are escape codes in the log")
	}
}

// The engine gets the planned state from the runner, and another state from the server.
func TestApplyReadsThePlannedStateOnce(t *testing.T) {
	t.Parallel()
	const state = `{"version":4,"terraform_version":"1.5.7","serial":%d,"lineage":"l","outputs":{},"resources":[]}`
	for name, changed := range map[string]bool{"the planned state": false, "another one": true} {
		s := newTestServer(t)
		s.state = fmt.Appendf(nil, state, 1)
		order := s.plan(1, s.put(file("main.tf", two)))
		p := startPod(t, s, nil)
		s.orders <- order
		plan := waitDone(t, s, 1).Done.Plan
		read := s.countRequests("GET /v1/state")
		if changed {
			s.mu.Lock()
			s.state = fmt.Appendf(nil, state, 2)
			s.mu.Unlock()
		}
		order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, plan.Digest
		s.orders <- order
		close(s.orders)
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		if failed := s.done(2).Done.Failure != nil; failed != changed ||
			s.countRequests("GET /v1/state") > read != changed {
			t.Errorf("%s: %+v; %d reads before, %d after", name, s.done(2).Done.Failure, read,
				s.countRequests("GET /v1/state"))
		}
	}
}

// An engine compares only the serial of a new state with the 0 of none. That is why the server never stores a first
// state with serial 0.
func TestFirstPlanIsStaleOnceAStateExists(t *testing.T) {
	t.Parallel()
	const pushed = `{"version":4,"terraform_version":"1.5.7","serial":%d,"lineage":"pushed","outputs":{},"resources":[{"mode":"managed","type":"terraform_data",` +
		`"name":"old","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"x"}}]}]}`
	for _, engine := range []string{"OpenTofu", "Terraform"} {
		for serial, want := range map[int]string{0: "a b", 1: "old"} {
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Engine = engine
			apply := s.planned(order, nil)
			s.state = fmt.Appendf(nil, pushed, serial)
			run(t, s, nil, apply)
			if failure := s.done(2).Done.Failure; strings.Join(s.resources(), " ") != want ||
				(failure == nil) != (serial == 0) {
				t.Errorf("%s, serial %d: %+v, %s", engine, serial, failure, s.state)
			}
		}
	}
}

func TestApplyInANewPod(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two), file("terraform.tfvars", "size = 3"),
		// what the engine of a user left in the folder that the code is from
		file("errored.tfstate", "{}"),
		file(".terraform/terraform.tfstate", `{"version":3,"backend":{"type":"local","config":{},"hash":1}}`)))
	order.Outputs = true
	apply := s.planned(order, nil)
	p := run(t, s, nil, apply) // in another folder, with another proxy
	report := s.done(2)
	if got := steps(report); got != "fetch= init= apply= outputs=" || report.Done.Failure != nil {
		t.Errorf("%s %+v\n%s", got, report.Done.Failure, p.output)
	}
	if got := string(s.outputs["size"].Value); got != "3" || len(s.resources()) != 2 {
		t.Errorf("%s, %v", got, s.resources())
	}
	if !slices.Contains(s.requests, "GET /v1/plan/"+apply.PlanDigest) {
		t.Error("the plan was not fetched")
	}
}

func TestPlanWithoutChangesWritesTheOutputs(t *testing.T) {
	s := newTestServer(t)
	source := s.put(file("main.tf", two))
	run(t, s, nil, s.planned(s.plan(1, source), nil))
	versions := s.versions
	order := s.plan(3, source)
	order.Outputs = true
	run(t, s, nil, order)
	report := s.done(3)
	if got := steps(report); got != "fetch= init= plan= outputs=" || report.Done.Plan.Changes ||
		report.Steps[2].Message != "no changes" {
		t.Errorf("%s %+v", got, report)
	}
	if string(report.Done.Outputs["size"]) != "1" || string(s.outputs["size"].Value) != "1" || s.versions != versions {
		t.Errorf("%+v, %d versions", s.outputs, s.versions)
	}
}

func TestPlanThatOnlyChangesOutputs(t *testing.T) {
	s := newTestServer(t)
	run(t, s, nil, s.planned(s.plan(1, s.put(file("main.tf", two))), nil))
	run(t, s, nil, s.plan(3, s.put(file("main.tf", two+`output "more" { value = 1 }`))))
	report := s.done(3)
	if plan := report.Done.Plan; !plan.Changes || plan.Add+plan.Change+plan.Destroy != 0 ||
		report.Steps[2].Message != "only outputs change" {
		t.Errorf("%+v", report)
	}
}

func TestDestroyWithTheKeptInputs(t *testing.T) {
	s := newTestServer(t)
	code := s.put(file("main.tf", `variable "a" {}
variable "b" {}
variable "c" {}
resource "terraform_data" "x" { input = "${var.a}${var.b}${var.c}" }
output "x" { value = terraform_data.x.output }`))
	order := s.plan(1, code)
	order.VariableFiles = []runnerapi.VariableFiles{{Dir: "site"}, {Dir: "own"}}
	order.Variables = []runnerapi.Variable{{Name: "c", Value: json.RawMessage(`"first"`)},
		{Name: "c", Value: json.RawMessage(`"C"`)}}
	apply := s.planned(order, map[string]string{
		"site/z.tfvars": `a = "site"` + "\n" + `b = "site"`, "site/..data/a.tfvars": `a = "kubelet"`,
		"site/README":       "no",
		"own/a.tfvars.json": `{"a": "A", "c": "own"}`, "own/b.tfvars": `b = "B"`,
	})
	run(t, s, map[string]string{"site/z.tfvars": `a = "site"` + "\n" + `b = "site"`,
		"own/a.tfvars.json": `{"a": "A", "c": "own"}`, "own/b.tfvars": `b = "B"`}, apply)
	if done := s.done(2).Done; done.Failure != nil {
		t.Fatalf("%+v", done.Failure)
	}
	kept := map[string]string{}
	var names []string
	for name, data := range s.inputs.Files {
		kept["kept/"+name] = string(data)
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"000-z.tfvars", "001-a.tfvars.json", "002-b.tfvars", "zz-variables.tfvars.json"},
		names); diff != "" {
		t.Error(diff)
	}

	again := s.plan(3, code) // the same values, read back by name: nothing to do
	again.VariableFiles = []runnerapi.VariableFiles{{Dir: "kept"}}
	run(t, s, kept, again)
	if plan := s.done(3).Done.Plan; plan == nil || plan.Changes {
		t.Errorf("the kept inputs give other values: %+v", plan)
	}
	again.VariableFiles = nil
	again.Attempt, again.Destroy = 4, true
	destroy := s.planned(again, nil)
	if plan := s.done(4).Done.Plan; plan.Destroy != 1 {
		t.Errorf("%+v", plan)
	}
	run(t, s, nil, destroy)
	if done := s.done(5).Done; done.Failure != nil || len(s.resources()) != 0 || len(s.inputs.Files) != len(names) {
		t.Errorf("%+v, %v, %v", done.Failure, s.resources(), s.inputs)
	}
}

// The code of the planned folder is elsewhere in the archive, as when many folders share one versions.tf.
func TestCodeIsASymlink(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"OpenTofu", "Terragrunt"} {
		s := newTestServer(t)
		order := s.plan(1, s.put(
			file("envs/prod/terragrunt.hcl", ""), link("envs/prod/main.tf", "../../common/main.tf"),
			file("common/main.tf", two),
		))
		order.Path, order.Engine = "envs/prod", name
		p := startPod(t, s, nil, withTerragrunt(t))
		s.orders <- order
		close(s.orders)
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		if done := s.done(1).Done; done.Failure != nil || done.Plan.Add != 2 {
			t.Errorf("%s: %+v", name, done)
		}
	}
}
