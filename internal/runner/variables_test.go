package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestOutputsOfOtherStacksKeepTheirType(t *testing.T) {
	s := newTestServer(t)
	s.others = map[string]runnerapi.Output{
		"vpc/subnets": {Value: json.RawMessage(`{"a":["x",2.50],"b":null}`)},
		"db/password": {Value: json.RawMessage(`"canary-password"`), Sensitive: true},
	}
	order := s.plan(1, s.put(file("main.tf", `
variable "subnets" { type = object({ a = tuple([string, number]), b = any }) }
variable "password" {}
variable "again" {}
output "all" { value = jsonencode(var.subnets) }
output "shown" { value = nonsensitive("${var.password}-${var.again}") }
`)))
	order.Outputs = true
	order.Variables = []runnerapi.Variable{
		{Name: "subnets", Stack: "vpc", Output: "subnets"},
		{Name: "password", Stack: "db", Output: "password"},
		{Name: "again", Value: json.RawMessage(`"not this one"`)},
		{Name: "again", Stack: "db", Output: "password"},
	}
	p := run(t, s, nil, s.planned(order, nil))
	if done := s.done(2).Done; done.Failure != nil {
		t.Fatalf("%+v\n%s", done.Failure, p.output)
	}
	if got := string(s.outputs["all"].Value); got != `"{\"a\":[\"x\",2.5],\"b\":null}"` {
		t.Errorf("%s", got)
	}
	if got := s.outputs["shown"]; string(got.Value) != `"canary-password-canary-password"` || !got.Sensitive {
		t.Errorf("%+v", got)
	}
	kept := `{"again":"canary-password","password":"canary-password","subnets":{"a":["x",2.50],"b":null}}`
	if diff := cmp.Diff(map[string][]byte{"zz-variables.tfvars.json": []byte(kept)}, s.inputs.Files); diff != "" {
		t.Error(diff)
	}
	reports, _ := json.Marshal(s.reports)
	for _, text := range []string{p.output.String(), string(s.logs[1]), string(s.logs[2]), string(reports)} {
		if strings.Contains(text, "canary") {
			t.Errorf("a canary in\n%s", text)
		}
	}
	if !strings.Contains(string(s.logs[1]), "(sensitive)-(sensitive)") {
		t.Errorf("%s", s.logs[1])
	}
	asked := 0
	for _, request := range s.requests {
		if request == "GET /v1/outputs/db/password" {
			asked++
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times in two attempts", asked)
	}
}

func TestMisspelledVariableIsRejected(t *testing.T) {
	value := json.RawMessage(`3`)
	for name, tt := range map[string]struct {
		file, variable string
		destroy        bool
		want           string
	}{
		"in spec.variables": {variable: "servrs",
			want: `spec.variables has "servrs", and the code declares no variable of that name: correct the name, declare it, or, where only a script reads it, write it as TF_VAR_servrs into spec.env`},
		"in a file":                 {file: "servrs = 3", variable: "servers"},
		"of an apply, in a destroy": {variable: "servrs", destroy: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", `variable "servers" { default = 1 }`)))
			order.VariableFiles = []runnerapi.VariableFiles{{Dir: "own"}}
			order.Variables = []runnerapi.Variable{{Name: tt.variable, Value: value}}
			if order.Destroy = tt.destroy; tt.destroy {
				s.inputs.Files = map[string][]byte{"zz-variables.tfvars.json": []byte(`{"servrs": 3}`)}
			}
			run(t, s, map[string]string{"own/a.tfvars": tt.file}, order)
			failure := s.done(1).Done.Failure
			if tt.want == "" && failure != nil {
				t.Fatalf("%+v", failure)
			}
			if tt.want != "" && (failure == nil || failure.Class != string(engine.ConfigurationError) ||
				failure.Message != tt.want || steps(s.done(1)) != "fetch= init= plan!") {
				t.Errorf("%s %+v", steps(s.done(1)), failure)
			}
		})
	}
}

func TestMissingOutputFailsTheAttempt(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		want runnerapi.Failure
	}{
		"changed": {0, runnerapi.Failure{Class: string(engine.Transient),
			Message: "output id of Stack vpc changed since Run net-1 was made"}},
		"rejected": {422, runnerapi.Failure{Class: string(engine.ConfigurationError), Message: "refused by the test"}},
		"forbidden": {403, runnerapi.Failure{Class: string(engine.Transient),
			Message: "output id of Stack vpc: the server answered 403: refused by the test"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			s.refuse = func(r *http.Request) int {
				if strings.HasPrefix(r.URL.Path, "/v1/outputs/") {
					return tt.code
				}
				return 0
			}
			order := s.plan(1, s.put(file("main.tf", "")))
			order.Variables = []runnerapi.Variable{{Name: "id", Stack: "vpc", Output: "id"}}
			run(t, s, nil, order)
			if diff := cmp.Diff(&tt.want, s.done(1).Done.Failure); diff != "" || steps(s.done(1)) != "fetch!" {
				t.Error(steps(s.done(1)), diff)
			}
		})
	}
}

func TestOutputsAreFetchedInParallelWithALimit(t *testing.T) {
	const outputsAtOnce = 8
	s := newTestServer(t)
	s.others = map[string]runnerapi.Output{}
	order := s.plan(1, s.put(file("main.tf", "")))
	for i := range 3 * outputsAtOnce {
		name := fmt.Sprintf("o%d", i)
		s.others["vpc/"+name] = runnerapi.Output{Value: json.RawMessage("1")}
		order.Variables = append(order.Variables, runnerapi.Variable{Name: name, Stack: "vpc", Output: name})
	}
	var under atomic.Int32
	full, over := make(chan struct{}), make(chan struct{}, len(order.Variables))
	s.refuse = func(r *http.Request) int {
		if !strings.HasPrefix(r.URL.Path, "/v1/outputs/") {
			return 0
		}
		switch n := under.Add(1); {
		case n == outputsAtOnce:
			select {
			case <-full:
			default:
				select { // is there one more?
				case <-over:
					t.Error("too many at once")
				case <-time.After(50 * time.Millisecond):
				}
				close(full)
			}
		case n > outputsAtOnce:
			over <- struct{}{}
		}
		select {
		case <-full:
		case <-r.Context().Done():
			t.Error("never so many at once as there may be")
		}
		under.Add(-1)
		return 0
	}
	order.Timeout = time.Minute
	run(t, s, nil, order)
	if got := steps(s.done(1)); !strings.HasPrefix(got, "fetch=") {
		t.Error(got)
	}
}

func TestVariableFilesOfTheCodeKeepTheirOrder(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("net/main.tf", `
variable "a" {}
variable "b" {}
variable "c" {}
output "all" { value = "${var.a} ${var.b} ${var.c}" }
`), file("envs/prod.tfvars", "a = \"code\"\nb = \"code\""), file("envs/c.tfvars.json", `{"c": "json"}`)))
	order.Outputs, order.Path = true, "net" // the files are named from the archive's root
	order.VariableFiles = []runnerapi.VariableFiles{{Dir: "site"}, {Path: "envs/prod.tfvars"},
		{Path: "envs/c.tfvars.json"}, {Dir: "own"}}
	inputs := map[string]string{"site/a.tfvars": `a = "site"`, "own/a.tfvars": `b = "own"`}
	apply := s.planned(order, inputs)
	run(t, s, inputs, apply)
	if got := string(s.outputs["all"].Value); got != `"code own json"` {
		t.Errorf("%s %+v", got, s.done(2).Done.Failure)
	}
	want := map[string][]byte{
		"000-a.tfvars": []byte(`a = "site"`), "001-prod.tfvars": []byte("a = \"code\"\nb = \"code\""),
		"002-c.tfvars.json": []byte(`{"c": "json"}`), "003-a.tfvars": []byte(`b = "own"`),
	}
	if diff := cmp.Diff(want, s.inputs.Files); diff != "" {
		t.Error(diff)
	}

	order.Attempt, order.VariableFiles = 3, []runnerapi.VariableFiles{{Path: "envs/dev.tfvars"}}
	run(t, s, nil, order)
	failure := &runnerapi.Failure{Class: string(engine.ConfigurationError),
		Message: "there is no variable file envs/dev.tfvars in the code"}
	if diff := cmp.Diff(failure, s.done(3).Done.Failure); diff != "" {
		t.Error(diff)
	}
}

// A value that is not valid text would reach the code as another value with replacement characters, which is not known
// as a secret.
func TestValueThatIsNotTextIsRejected(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
variable "password" {}
resource "terraform_data" "a" { input = var.password }
`)))
	order.Variables = []runnerapi.Variable{{Name: "password", File: "db/password", From: "key password in Secret db",
		Secret: true}}
	p := run(t, s, map[string]string{"db/password": "p\xe4ss-canary"}, order)
	failure := s.done(1).Done.Failure
	if failure == nil || failure.Class != "ConfigurationError" ||
		!strings.HasPrefix(failure.Message, "variable password: key password in Secret db is not UTF-8") {
		t.Errorf("%+v\n%s", failure, p.output)
	}
	if strings.Contains(p.output.String(), "canary") {
		t.Errorf("%s", p.output)
	}
}
