package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

func TestEnvironmentOfTheEngine(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
variable "m" {}
module "m" { source = "./${var.m}" }
variable "text" {}
resource "terraform_data" "a" {
  input = var.text
  provisioner "local-exec" { command = "env | sort > env.txt" }
}
`), file("mod/main.tf", "")))
	order.Variables = []runnerapi.Variable{{Name: "m", Value: json.RawMessage(`"mod"`)},
		{Name: "text", Value: json.RawMessage(`"${not} a %{template}"`)}}
	p := startPod(t, s, nil, "CAIRN_SECRET=x", "TF_DATA_DIR=/elsewhere", "TF_WORKSPACE=other",
		"TF_HTTP_ADDRESS=http://elsewhere",
		"TF_CLI_ARGS=-no-such-flag", "TF_CLI_ARGS_plan=-no-such-flag", "TG_ALL=true", "TERRAGRUNT_TFPATH=/elsewhere",
		"TG_FEATURE=a=b", "MINE=1", "HTTPS_PROXY=http://127.0.0.1:1",
		"TMPDIR=/"+strings.Repeat("long/", 20))
	s.orders <- order
	first := waitDone(t, s, 1)
	if first.Done.Failure != nil {
		t.Fatalf("%+v\n%s", first.Done.Failure, p.output)
	}
	const withheld = "the engine does not get TERRAGRUNT_TFPATH, TF_CLI_ARGS, TF_CLI_ARGS_plan, TF_DATA_DIR, " +
		"TF_HTTP_ADDRESS, TF_WORKSPACE, TG_ALL"
	if got := step(t, first, "init").Message; got != withheld ||
		!strings.Contains(string(s.logs[1]), "TF_WORKSPACE is not passed on: set spec.workspace") {
		t.Errorf("%s\n%s", got, s.logs[1])
	}
	order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(s.state), "${not} a %{template}") {
		t.Errorf("%s", s.state)
	}
	env, err := os.ReadFile(filepath.Join(p.work, "code", "env.txt"))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.output)
	}
	for _, want := range []string{"CAIRN_NAMESPACE=prod", "CAIRN_STACK=net", "CAIRN_RUN=net-1", "MINE=1",
		"TF_IN_AUTOMATION=1", "HTTPS_PROXY=http://127.0.0.1:1", "TG_FEATURE=a=b", "TMPDIR=/tmp"} {
		if !strings.Contains(string(env), want+"\n") {
			t.Errorf("no %s in\n%s", want, env)
		}
	}
	for _, bad := range []string{"CAIRN_SECRET", "CAIRN_SERVER_CA_PEM", "TF_DATA_DIR", "TF_WORKSPACE", "elsewhere",
		"TF_CLI_ARGS", "TG_ALL"} {
		if strings.Contains(string(env), bad) {
			t.Errorf("%s in\n%s", bad, env)
		}
	}
}

// The engine itself encrypts the state and the plan, with a key from a variable.
func TestEncryption(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
variable "passphrase" {
  sensitive = true
  ephemeral = true
}
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
    plan {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
resource "terraform_data" "a" { input = 1 }
output "open" { value = "open" }
output "secret" {
  value     = "canary-in-output"
  sensitive = true
}
`)))
	order.Outputs = true
	order.Variables = []runnerapi.Variable{{Name: "passphrase", Value: json.RawMessage(`"correct horse battery"`),
		Secret: true}}
	run(t, s, nil, s.planned(order, nil))
	report := s.done(2)
	if steps(report) != "fetch= init= apply= outputs=" || string(s.outputs["open"].Value) != `"open"` ||
		!s.outputs["secret"].Sensitive {
		t.Errorf("%s %+v %+v", steps(report), report.Done.Failure, s.outputs)
	}
	if strings.Contains(string(s.state), "terraform_data") {
		t.Error("the state is not encrypted")
	}
}

func TestChangedInputIsNotApplied(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.VariableFiles = []runnerapi.VariableFiles{{Dir: "v"}}
	apply := s.planned(order, map[string]string{"v/a.tfvars": "size = 1"})
	run(t, s, map[string]string{"v/a.tfvars": "size = 2"}, apply)
	if failure := s.done(2).Done.Failure; failure == nil ||
		!strings.Contains(failure.Message, "Mismatch between input and plan variable value") || s.state != nil {
		t.Errorf("%+v", failure)
	}
}
