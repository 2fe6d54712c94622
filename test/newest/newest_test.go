//go:build newest

// Package newest reads plans of the newest Terraform that can be built (make test-newest). Its plan files have fields
// that no other engine of the tests writes: a field that planfile does not know makes a plan unverified, so each
// version that adds one must be seen here first.
package newest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/dev/tools"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/test/cloud"
)

// things is what most cases have applied before they plan.
const things = `
resource "cloud_thing" "a" { name = "a" }
resource "cloud_thing" "b" {
  name       = "b"
  replace_on = "1"
}
`

type testCase struct {
	name, before, code string
	args               []string
	// want is a substring of the plan as people read it; changes are those that rules decide on.
	want, changes, partial string
	// newest: only the newest Terraform can plan it.
	newest bool
}

var cases = []testCase{
	{
		name: "create", code: things + `
resource "terraform_data" "c" { input = { list = [1, 2.5, true, null], text = "x" } }
data "cloud_things" "all" { depends_on = [cloud_thing.a] }
output "id" { value = cloud_thing.a.id }
output "secret" {
  value     = sensitive("x")
  sensitive = true
}
check "named" {
  assert {
    condition     = cloud_thing.a.name == "a"
    error_message = "not a"
  }
}
`,
		changes: "create cloud_thing.a, create cloud_thing.b, create terraform_data.c",
	},
	{
		name: "every change", before: things + `resource "cloud_thing" "d" { name = "d" }
resource "cloud_thing" "e" { name = "e" }`,
		code: `
resource "cloud_thing" "new" { name = "a2" }
resource "cloud_thing" "b" {
  name       = "b"
  replace_on = "2"
}
moved {
  from = cloud_thing.a
  to   = cloud_thing.new
}
removed {
  from = cloud_thing.e
  lifecycle { destroy = false }
}
`,
		changes: "delete cloud_thing.d, replace cloud_thing.b, forget cloud_thing.e, update cloud_thing.new",
	},
	{
		name: "values of each kind", code: `
variable "secret" {
  default   = "hunter2"
  sensitive = true
}
variable "passing" {
  default   = "x"
  ephemeral = true
}
resource "cloud_thing" "each" {
  for_each            = { "a.b" = 1, "c\"d" = 2, "e[0]" = 3 }
  name                = each.key
  attributes          = each.value == 1 ? { size = 1, "x y" = "" } : {}
  secret              = var.secret
  password_wo         = var.passing
  password_wo_version = 1
  parts               = each.value
}
resource "cloud_thing" "count" {
  count      = 2
  name       = cloud_thing.each["a.b"].id
  attributes = { known = "a", unknown = cloud_thing.each["a.b"].token }
}
resource "terraform_data" "any" {
  input = {
    unknown = cloud_thing.count[0].id
    list    = [cloud_thing.count[1].id, "x", 12345678901234567890, 1e100, -0.5, { secret = var.secret }]
    empty   = { list = [], map = {}, text = "", none = null }
  }
  triggers_replace = [cloud_thing.count[*].part]
}
resource "terraform_data" "nothing" {}
output "any" {
  value     = { a = terraform_data.any, b = var.secret }
  sensitive = true
}
output "list" { value = [for t in cloud_thing.each : t.name] }
output "none" { value = null }
check "reads" {
  data "cloud_things" "nested" {}
  assert {
    condition     = length(data.cloud_things.nested.things) > 99
    error_message = "too few"
  }
}
`,
		changes: `create cloud_thing.count[0], create cloud_thing.count[1], create cloud_thing.each["a.b"], ` +
			`create cloud_thing.each["c\"d"], create cloud_thing.each["e[0]"], create terraform_data.any, create terraform_data.nothing`,
	},
	{
		name: "import and gone", before: `
resource "cloud_thing" "a" { name = "a" }
output "old" { value = 1 }
`,
		code: `
resource "cloud_thing" "a" { name = "a" }
import {
  to = cloud_thing.c
  id = "thing-000001"
}
resource "cloud_thing" "c" { name = "c" }
output "new" { value = cloud_thing.c.name }
`,
		want: "cloud_thing.c", changes: "update cloud_thing.c",
	},
	{
		name: "actions in several places", newest: true, before: things, code: `
resource "cloud_thing" "a" {
  name = "a"
  lifecycle {
    action_trigger {
      events    = [before_update]
      condition = true
      actions   = [action.cloud_backup.each["x"], action.cloud_backup.each["y"]]
    }
    action_trigger {
      events  = [after_update, after_create]
      actions = [action.cloud_backup.each["x"]]
    }
  }
  attributes = { new = cloud_thing.new.id }
}
resource "cloud_thing" "new" { name = "new" }
action "cloud_backup" "each" {
  for_each = toset(["x", "y"])
  config { name = "${each.key} of ${cloud_thing.new.id}" }
}
`,
		want: "action.cloud_backup.each",
		changes: `delete cloud_thing.b, invoke action.cloud_backup.each["x"], invoke action.cloud_backup.each["x"], ` +
			`invoke action.cloud_backup.each["y"], update cloud_thing.a, create cloud_thing.new`,
	},
	{name: "destroy", before: things, code: things, args: []string{"-destroy"},
		changes: "delete cloud_thing.a, delete cloud_thing.b"},
	{name: "refresh only", before: things, code: things, args: []string{"-refresh-only"}},
	{
		name: "replace by an option", before: things, code: things, args: []string{"-replace=cloud_thing.a"},
		changes: "replace cloud_thing.a",
	},
	{
		name: "targets", code: things, args: []string{"-target=cloud_thing.a"},
		changes: "create cloud_thing.a", partial: "it has only the targets cloud_thing.a",
	},
	{
		name: "action after a change", newest: true, code: `
resource "cloud_thing" "a" {
  name = "a"
  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.cloud_backup.nightly]
    }
  }
}
action "cloud_backup" "nightly" {
  config { name = "backup of a" }
}
`,
		want: "action.cloud_backup.nightly", changes: "invoke action.cloud_backup.nightly, create cloud_thing.a",
	},
	{
		name: "action of a command", newest: true, before: things, code: things + `
action "cloud_backup" "nightly" {
  config { name = "backup" }
}
`,
		args: []string{"-invoke=action.cloud_backup.nightly"},
		want: "action.cloud_backup.nightly", changes: "invoke action.cloud_backup.nightly",
	},
	{
		name: "deferral", newest: true, code: `
resource "cloud_thing" "a" { name = "a" }
resource "cloud_thing" "each" {
  for_each = toset([cloud_thing.a.id])
  name     = each.key
}
`,
		args: []string{"-allow-deferral"}, changes: "create cloud_thing.a", partial: "it defers cloud_thing.each[*]",
	},
}

func TestPlansAreRead(t *testing.T) {
	for _, test := range cases {
		t.Run("terraform/"+test.name, func(t *testing.T) { test.run(t, newEngine(t, "terraform-newest")) })
		if !test.newest {
			t.Run("tofu/"+test.name, func(t *testing.T) { test.run(t, newEngine(t, "tofu")) })
		}
	}
}

func (test testCase) run(t *testing.T, run *engineRun) {
	t.Helper()
	if test.before != "" {
		run.write(t, test.before)
		run.must(t, "init")
		run.must(t, "apply", "-auto-approve")
	}
	run.write(t, test.code)
	run.must(t, "init")
	run.must(t, append([]string{"plan", "-out=plan"}, test.args...)...)

	data, err := os.ReadFile(filepath.Join(run.dir, "plan"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := planfile.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	document, err := file.Document(run.must(t, "show", "-json", "plan"))
	if err != nil {
		t.Fatal(err)
	}
	if got := named(file.Changes()); got != test.changes {
		t.Errorf("changes of the plan file: %q, want %q", got, test.changes)
	}
	if got := file.Partial(); got != test.partial {
		t.Errorf("partial: %q, want %q", got, test.partial)
	}
	view, err := plan.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := plan.Text(&text, view); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), test.want) {
		t.Errorf("the text does not have %q:\n%s", test.want, &text)
	}
}

func named(changes engine.Changes) string {
	var all []string
	for _, c := range changes {
		all = append(all, strings.ToLower(fmt.Sprint(c.Action))+" "+c.Address)
	}
	return strings.Join(all, ", ")
}

// engineRun runs an engine in a directory.
type engineRun struct {
	program, dir string
	env          []string
}

func newEngine(t *testing.T, program string) *engineRun {
	t.Helper()
	program, err := tools.Path(program)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	providers := filepath.Join(home, "providers")
	if err := cloud.Folder(providers); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud.New())
	t.Cleanup(server.Close)
	config := filepath.Join(home, "terraformrc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", providers)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &engineRun{program: program, dir: t.TempDir(), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TF_CLI_CONFIG_FILE=" + config, "TF_IN_AUTOMATION=1",
		"CLOUD_URL=" + server.URL,
		"CHECKPOINT_DISABLE=1",
	}}
}

// write replaces the code.
func (e *engineRun) write(t *testing.T, code string) {
	t.Helper()
	code = "terraform {\n  required_providers {\n    cloud = { source = \"cairn.dev/test/cloud\" }\n  }\n}\n" + code
	if err := os.WriteFile(filepath.Join(e.dir, "main.tf"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
}

// must runs the engine and returns what it printed.
func (e *engineRun) must(t *testing.T, args ...string) []byte {
	t.Helper()
	if args[0] != "show" {
		args = append(args, "-no-color", "-input=false")
	}
	cmd := exec.Command(e.program, args...)
	cmd.Dir, cmd.Env = e.dir, e.env
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s: %v\n%s%s", args, err, out, exit.Stderr)
		}
		t.Fatal(err)
	}
	return out
}
