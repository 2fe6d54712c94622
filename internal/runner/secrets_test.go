package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

// The code prints one secret of each kind.
func TestSecretsStayInThePod(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
variable "by_file" {}
variable "by_value" {}
variable "by_tfvars" {}
variable "marked" {
  sensitive = true
  default   = "canary-marked-in-code"
}
resource "terraform_data" "canary-env-address" {}
resource "terraform_data" "a" {
  input = "${var.by_file} ${var.by_value} ${jsonencode(var.by_tfvars)}"
  provisioner "local-exec" {
    command = "echo \"$ONE $SECRET\" ${var.by_value}; printenv CAIRN_SERVER_CA_PEM TF_HTTP_PASSWORD; echo ${var.by_file} | base64; exit 3"
  }
}
resource "terraform_data" "b" { input = var.marked }
output "value" { value = var.by_value }
output "all" { value = "x${jsonencode(var.by_tfvars)}x" }
output "fine" { value = "fine" }
`)))
	order.Outputs = true
	order.VariableFiles = []runnerapi.VariableFiles{{Dir: "vars", Secret: true}}
	order.Variables = []runnerapi.Variable{
		{Name: "by_file", File: "one/password", Secret: true},
		{Name: "by_value", Value: json.RawMessage(`"canary-by-value"`), Secret: true},
	}
	order.SecretEnv = []string{"SECRET"}
	order.SecretDirs = []string{"dir"}
	inputs := map[string]string{
		"one/password":     "canary-by-file\n",
		"vars/db.tfvars":   `by_tfvars = { words = "canary words that are long enough to be wrapped somewhere in the text", list = ["canary-in-list<&>"] }`,
		"dir/key":          "canary-dir-line-1\ncanary-dir-line-2\n",
		"dir/..data/stale": "x",
	}
	p := startPod(t, s, inputs, "ONE=fine", "SECRET=canary-env")
	s.orders <- order
	first := waitDone(t, s, 1)
	if first.Done.Failure != nil {
		t.Fatalf("%+v\n%s", first.Done.Failure, p.output)
	}
	order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	second := s.done(2)
	if !strings.Contains(second.Done.Failure.Message, "local-exec provisioner error: Error running command") {
		t.Errorf("%+v", second.Done.Failure)
	}
	reports, _ := json.Marshal(s.reports)
	for name, text := range map[string]string{"pod": p.output.String(), "plan log": string(s.logs[1]),
		"apply log": string(s.logs[2]), "reports": string(reports)} {
		for _, canary := range []string{"canary", "Y2FuYXJ5", testToken} {
			if strings.Contains(text, canary) {
				t.Errorf("%s in %s:\n%s", canary, name, text)
			}
		}
		if !strings.Contains(text, "(sensitive)") {
			t.Errorf("nothing hidden in %s:\n%s", name, text)
		}
	}
	if !strings.Contains(string(s.logs[2]), "fine (sensitive)") {
		t.Errorf("%s", s.logs[2])
	}
}

func TestOutputsThatHoldSecretsAreSensitive(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
variable "password" {}
variable "marked" {
  sensitive = true
  default   = { pin = 123456 }
}
output "password" { value = "user:${var.password}@host" }
output "marked" {
  value     = var.marked
  sensitive = true
}
output "pin" { value = nonsensitive(var.marked.pin) }
output "long" { value = join("", [for i in range(1000) : "xx"]) }
output "fine" { value = { b = [1, true, null], a = "x" } }
`)))
	order.Outputs = true
	order.Variables = []runnerapi.Variable{{Name: "password", Value: json.RawMessage(`"canary-password"`),
		Secret: true}}
	run(t, s, nil, s.planned(order, nil))
	shown, _ := json.Marshal(s.done(2).Done.Outputs)
	if string(shown) != `{"fine":{"a":"x","b":[1,true,null]}}` {
		t.Errorf("%s", shown)
	}
	for name, sensitive := range map[string]bool{"password": true, "marked": true, "pin": true, "long": false,
		"fine": false} {
		if output, ok := s.outputs[name]; !ok || output.Sensitive != sensitive {
			t.Errorf("%s: %+v", name, output)
		}
	}
}
