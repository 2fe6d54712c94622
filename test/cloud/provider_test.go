package cloud_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cairn.dev/cairn/dev/tools"
	"cairn.dev/cairn/test/cloud"
)

// module is a folder with code, an engine and its own cloud.
type module struct {
	t      *testing.T
	cloud  *cloud.Cloud
	engine string
	dir    string
	env    []string
}

// engines runs a test with each engine.
func engines(t *testing.T, test func(*testing.T, *module)) {
	for _, engine := range []string{"tofu", "terraform"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newModule(t, engine))
		})
	}
}

// providerFolder is shared by all tests.
var providerFolder = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cloud-provider-")
	if err != nil {
		return "", err
	}
	return dir, cloud.Folder(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := providerFolder(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func newModule(t *testing.T, engine string) *module {
	t.Helper()
	program, err := tools.Path(engine)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := providerFolder()
	if err != nil {
		t.Fatal(err)
	}
	c := cloud.New()
	server := httptest.NewServer(c)
	t.Cleanup(func() {
		c.EndFaults()
		server.Close()
	})
	dir := t.TempDir()
	config := filepath.Join(dir, "engine.cfg")
	if err := os.WriteFile(config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n",
		folder), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &module{t: t, cloud: c, engine: program, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_CLI_CONFIG_FILE=" + config, "TF_IN_AUTOMATION=1",
		"CLOUD_URL=" + server.URL, "CLOUD_CALLER=" + engine,
	}}
	m.code("")
	m.run("init")
	return m
}

// code writes the code.
func (m *module) code(text string) {
	m.t.Helper()
	text = `terraform {
  required_providers { cloud = { source = "cairn.dev/test/cloud" } }
}
` + text
	if err := os.WriteFile(filepath.Join(m.dir, "main.tf"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// try returns the output of the engine and its exit code.
func (m *module) try(args ...string) (string, int) {
	m.t.Helper()
	flags := []string{args[0]}
	switch args[0] {
	case "apply", "destroy":
		flags = append(flags, "-auto-approve", "-no-color", "-input=false")
	case "plan", "import", "init":
		flags = append(flags, "-no-color", "-input=false")
	}
	cmd := exec.CommandContext(m.t.Context(), m.engine, append(flags, args[1:]...)...)
	cmd.Dir, cmd.Env = m.dir, m.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// run fails the test if the engine fails.
func (m *module) run(args ...string) string {
	m.t.Helper()
	out, code := m.try(args...)
	if code != 0 {
		m.t.Fatalf("%v: %d\n%s", args, code, out)
	}
	return out
}

// unchanged fails the test unless a plan has no changes.
func (m *module) unchanged() {
	m.t.Helper()
	if out, code := m.try("plan", "-detailed-exitcode"); code != 0 {
		m.t.Fatalf("%d\n%s", code, out)
	}
}

func (m *module) named(name string) cloud.Resource {
	m.t.Helper()
	resource, err := m.cloud.Named(name)
	if err != nil {
		m.t.Fatal(err)
	}
	return resource
}

func (m *module) has(text string, all ...string) {
	m.t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			m.t.Fatalf("no %q in:\n%s", want, text)
		}
	}
}

const whole = `
resource "cloud_thing" "a" {
  name       = "a"
  attributes = { size = 1 }
  secret     = "hush-1"
  replace_on = "v1"
  parts      = 100
}
`

func TestResourceLifecycle(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		m.code(whole)
		out := m.run("apply")
		made := m.named("a")
		if made.Secret != "hush-1" || made.Attributes["size"] != "1" ||
			m.cloud.History()[0].Caller != filepath.Base(m.engine) || m.cloud.History()[0].Token == "" {
			t.Fatalf("%+v %v", made, m.cloud.History())
		}
		if strings.Contains(out, "hush-1") || strings.Contains(out, made.Token) {
			t.Errorf("the output has a secret:\n%s", out)
		}
		m.unchanged()
		if state, err := os.ReadFile(filepath.Join(m.dir, "terraform.tfstate")); err != nil ||
			bytes.Count(state, []byte(`"digest"`)) != 100 {
			t.Errorf("%v: %d parts", err, bytes.Count(state, []byte(`"digest"`)))
		}

		m.code(strings.ReplaceAll(strings.Replace(whole, `name       = "a"`, `name       = "b"`, 1),
			"hush-1", "hush-2"))
		m.has(m.run("apply"), "0 added, 1 changed, 0 destroyed")
		if changed := m.named("b"); changed.ID != made.ID || changed.Token != made.Token || changed.Secret != "hush-2" {
			t.Errorf("%+v", changed)
		}
		m.unchanged()

		m.code(strings.ReplaceAll(whole, `"v1"`, `"v2"`))
		m.has(m.run("apply"), "1 added, 0 changed, 1 destroyed")
		if m.named("a").ID == made.ID {
			t.Error("the resource was not replaced")
		}
		m.unchanged()

		m.run("destroy")
		if left := m.cloud.Resources(); len(left) > 0 {
			t.Errorf("%+v", left)
		}
	})
}

func TestDriftIsCorrected(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		m.code(whole)
		m.run("apply")
		if err := m.cloud.Drift("a", "size", "7"); err != nil {
			t.Fatal(err)
		}
		m.has(m.run("plan"), `"7" -> "1"`)
		m.has(m.run("apply"), "0 added, 1 changed, 0 destroyed")
		if m.named("a").Attributes["size"] != "1" {
			t.Error("the drift was not corrected")
		}
		if err := m.cloud.Delete("a"); err != nil {
			t.Fatal(err)
		}
		m.has(m.run("apply"), "1 added, 0 changed, 0 destroyed")
		m.unchanged()
		if err := m.cloud.Delete("a"); err != nil {
			t.Fatal(err)
		}
		m.run("destroy", "-refresh=false") // deleting a deleted resource succeeds
	})
}

// The plan after an import by ID has no changes.
func TestImport(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		m.code(whole)
		m.run("apply")
		m.run("state", "rm", "cloud_thing.a")
		m.run("import", "cloud_thing.a", m.named("a").ID)
		m.unchanged()
		if _, code := m.try("import", "cloud_thing.b", "none"); code == 0 {
			t.Error("the import of a resource that does not exist succeeded")
		}
	})
}

func TestDataSource(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		m.code(whole)
		m.run("apply")
		m.code(whole + `
data "cloud_things" "all" {}
output "names" { value = [for t in data.cloud_things.all.things : "${t.name} ${t.id} ${t.attributes.size}"] }
`)
		m.run("apply")
		m.has(m.run("output", "-json", "names"), `["a `+m.named("a").ID+` 1"]`)
	})
}

// Write-only and ephemeral values are in the cloud, and not in the state. Terraform 1.5 supports neither.
func TestWriteOnly(t *testing.T) {
	t.Parallel()
	m := newModule(t, "tofu")
	code := `
variable "password" {
  type      = string
  ephemeral = true
}
variable "turn" { type = number }
resource "cloud_thing" "a" {
  name                = "a"
  password_wo         = var.password
  password_wo_version = var.turn
}
ephemeral "cloud_token" "a" { id = cloud_thing.a.id }
resource "cloud_thing" "b" {
  name                = "b"
  password_wo         = ephemeral.cloud_token.a.token
  password_wo_version = 1
}
`
	m.code(code)
	m.run("apply", "-var=password=hush-1", "-var=turn=1")
	a, b := m.named("a"), m.named("b")
	if a.Password != "hush-1" || b.Password != a.Token {
		t.Fatalf("%+v %+v", a, b)
	}
	m.run("apply", "-var=password=hush-2", "-var=turn=1")
	if m.named("a").Password != "hush-1" {
		t.Error("the password changed without password_wo_version")
	}
	m.run("apply", "-var=password=hush-2", "-var=turn=2")
	if m.named("a").Password != "hush-2" {
		t.Error("the password did not change with password_wo_version")
	}
	if state, err := os.ReadFile(filepath.Join(m.dir, "terraform.tfstate")); err != nil ||
		bytes.Contains(state, []byte("hush")) {
		t.Errorf("%v: a password is in the state", err)
	}
}

// many returns code with n resources.
func many(n int) string {
	return fmt.Sprintf(`
resource "cloud_thing" "it" {
  count = %d
  name  = "it-${count.index}"
}
`, n)
}

// A throttled call is retried with the same client token.
func TestThrottledCallIsRetried(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		m.cloud.Inject(cloud.Fault{Verb: cloud.Create, Times: 2, Status: 429, RetryAfter: 1})
		m.code(many(3))
		m.run("apply")
		throttled, byToken := 0, map[string]int{}
		for _, call := range m.cloud.History() {
			byToken[call.Token]++
			if call.Status == 429 {
				throttled++
			}
		}
		if throttled != 2 || len(byToken) != 3 || len(m.cloud.Twice()) > 0 {
			t.Errorf("%v", m.cloud.History())
		}
		m.env = append(m.env, "CLOUD_RETRIES=0")
		m.cloud.Inject(cloud.Fault{Verb: cloud.Delete, Times: 1, Status: 429})
		out, code := m.try("destroy")
		if m.has(out, "429 Too Many Requests"); code == 0 {
			t.Error("the destroy did not fail")
		}
	})
}

// A creation without a response may have taken effect: the provider reports that and does not retry.
func TestCreationWithoutResponse(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		for _, fault := range []cloud.Fault{
			{Verb: cloud.Create, Name: "it-1", After: true, Reset: true},
			{Verb: cloud.Create, Name: "it-1", After: true, Hold: true}, // until the provider's timeout
		} {
			m.env = append(m.env, "CLOUD_TIMEOUT=1s")
			injected := m.cloud.Inject(fault)
			m.code(many(2))
			out, code := m.try("apply")
			injected.End()
			if m.has(out, "Cannot make it-1", "the cloud did not answer, and may have done it"); code == 0 {
				t.Fatal(out)
			}
			if n := len(m.cloud.Resources()); n != 2 {
				t.Fatalf("%d resources: %v", n, m.cloud.History())
			}
			m.run("destroy")
			if err := m.cloud.Delete("it-1"); err != nil { // the state lacks it
				t.Fatal(err)
			}
		}
	})
}

// An engine that is killed has created the resources with a response, and none of the held ones.
func TestEngineIsKilledWhileCallsAreHeld(t *testing.T) {
	engines(t, func(t *testing.T, m *module) {
		gate := m.cloud.Inject(cloud.Fault{Verb: cloud.Create, From: 3, Hold: true})
		m.code(many(5))
		ctx, kill := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, m.engine, "apply", "-auto-approve", "-input=false")
		cmd.Dir, cmd.Env = m.dir, m.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := gate.Held(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		kill()
		_ = cmd.Wait() // killed
		if err := m.cloud.Until(t.Context(), m.cloud.Quiet); err != nil {
			t.Fatal(err)
		}
		gate.End()
		if n := len(m.cloud.Resources()); n != 2 {
			t.Errorf("%d resources: %v", n, m.cloud.History())
		}
	})
}
