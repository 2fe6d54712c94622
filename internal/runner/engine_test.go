package runner

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// empty is a PATH on which there is no engine.
const empty = "PATH=/usr/bin:/bin"

func TestTerraformInOnePodAndInAnother(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(
		file("envs/prod/main.tf", `
variable "size" {}
module "m" {
  source = "../../modules/m"
  size   = var.size
}
output "size" { value = module.m.size }`),
		file("modules/m/main.tf", `
variable "size" {}
resource "terraform_data" "a" { input = var.size }
output "size" { value = terraform_data.a.output }`)))
	order.Engine, order.Path, order.Outputs = "Terraform", "envs/prod", true
	order.Variables = []runnerapi.Variable{{Name: "size", Value: json.RawMessage("7")}}
	p := startPod(t, s, nil)
	s.orders <- order
	first := waitDone(t, s, 1)
	plan := first.Done.Plan
	if steps(first) != "fetch= init= plan=" || plan == nil || plan.Add != 1 || plan.EngineVersion != "1.5.7" ||
		first.Steps[2].Message != "1 to add" {
		t.Fatalf("%s %+v %+v\n%s", steps(first), plan, first.Done.Failure, p.output)
	}
	apply := order
	apply.Kind, apply.Attempt, apply.PlanDigest, apply.EngineVersion = runnerapi.OrderApply, 2, plan.Digest, "= 1.5.7"
	s.orders <- apply
	second := waitDone(t, s, 2)
	if steps(second) != "apply= outputs=" || second.Steps[0].Message != "1 added" ||
		string(s.outputs["size"].Value) != "7" {
		t.Fatalf("%s %+v", steps(second), second.Done.Failure)
	}
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	for attempt, want := range map[int32][]string{
		1: {"Terraform has been successfully initialized!", "Terraform 1.5.7\n",
			"module.m.terraform_data.a: Plan to create\n", "Plan: 1 to add, 0 to change, 0 to destroy.\n"},
		2: {"module.m.terraform_data.a: Creating...\n", "Apply complete! Resources: 1 added"},
	} {
		for _, text := range want {
			if log := string(s.logs[attempt]); !strings.Contains(log, text) || strings.Contains(log, `{"@`) {
				t.Errorf("the log of attempt %d has no %q, or has events:\n%s", attempt, text, log)
			}
		}
	}

	order.Attempt, order.Variables = 3, []runnerapi.Variable{{Name: "size", Value: json.RawMessage("8")}}
	apply = s.planned(order, nil)
	apply.EngineVersion = "= " + s.done(3).Done.Plan.EngineVersion
	run(t, s, nil, apply)
	if report := s.done(4); steps(report) != "fetch= engine= init= apply= outputs=" ||
		report.Steps[1].Message != "Terraform 1.5.7" || string(s.outputs["size"].Value) != "8" {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

func TestErrorsOfTerraformAreReported(t *testing.T) {
	for name, test := range map[string]struct{ code, steps, message string }{
		"a syntax error": {"resource {\n", "fetch= init!", "(main.tf:1)"},
		"a missing variable": {`variable "need" {}`, "fetch= init= plan!",
			`No value for required variable: The root module input variable "need" is not set`},
	} {
		s := newTestServer(t)
		order := s.plan(1, s.put(file("main.tf", test.code)))
		order.Engine = "Terraform"
		run(t, s, nil, order)
		report := s.done(1)
		if failure := report.Done.Failure; steps(report) != test.steps || failure == nil ||
			failure.Class != "ConfigurationError" || !strings.Contains(failure.Message, test.message) {
			t.Errorf("%s: %s %+v", name, steps(report), failure)
		}
		if !strings.Contains(string(s.logs[1]), "\nError: ") {
			t.Errorf("%s: the log does not say it:\n%s", name, s.logs[1])
		}
	}
}

// A secret that is escaped in an event is redacted too.
func TestSecretsInEvents(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `
variable "secret" {}
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "cat <<'END'\n${var.secret}\nEND\nexit 3" }
}`)))
	order.Engine = "Terraform"
	const secret = `canary<"&\and more>`
	value, _ := json.Marshal(secret)
	order.Variables = []runnerapi.Variable{{Name: "secret", Value: value, Secret: true}}
	p := run(t, s, nil, s.planned(order, nil))
	failure := s.done(2).Done.Failure
	if failure == nil || !strings.Contains(failure.Message, "local-exec provisioner error") {
		t.Fatalf("%+v", failure)
	}
	for _, text := range []string{string(s.logs[1]), string(s.logs[2]), p.output.String(), failure.Message} {
		if strings.Contains(text, "canary") || strings.Contains(text, "more>") {
			t.Errorf("%s", text)
		}
	}
	if !strings.Contains(string(s.logs[2]), "(sensitive)") {
		t.Errorf("nothing was hidden:\n%s", s.logs[2])
	}
}

// keep stores an engine of the tests under a version. What is downloaded only starts it: it is large.
func (s *testServer) keep(name, program, version string) {
	s.t.Helper()
	data := []byte("#!/bin/sh\nexec '" + filepath.Join(bin(s.t), program) + "' \"$@\"\n")
	sum, err := workspace.Digest(bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	s.engines = map[string]engineKept{
		name: {runnerapi.EngineRelease{Version: version, Digest: sum, Size: int64(len(data))}, data}}
}

// countRequests counts the requests of this method and path.
func (s *testServer) countRequests(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r == request {
			n++
		}
	}
	return n
}

func TestEngineOfTheServer(t *testing.T) {
	s := newTestServer(t)
	s.keep("OpenTofu", "tofu", "1.12.6")
	source := s.put(file("main.tf", two))
	order := s.plan(1, source)
	p := startPod(t, s, nil, empty)
	s.orders <- order
	first := waitDone(t, s, 1)
	if steps(first) != "fetch= engine= init= plan=" || first.Steps[1].Message != "OpenTofu 1.12.6" ||
		first.Done.Plan.EngineVersion != "1.12.6" {
		t.Fatalf("%s %+v\n%s", steps(first), first.Done.Failure, p.output)
	}
	order.Attempt, order.EngineVersion = 2, "~> 1.12"
	s.orders <- order
	if second := waitDone(t, s, 2); second.Done.Failure != nil ||
		s.countRequests("GET /v1/engines/OpenTofu/1.12.6") != 1 {
		t.Errorf("%+v, %v", second.Done.Failure, s.requests)
	}
	kept := filepath.Join(p.work, "engines", "opentofu-1.12.6", "tofu")
	executable(t, kept, "#!/bin/sh\nexit 3") // by the code of that attempt, say
	order.Attempt = 3
	s.orders <- order
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if third := s.done(3); third.Done.Failure != nil || s.countRequests("GET /v1/engines/OpenTofu/1.12.6") != 2 {
		t.Errorf("%+v, %v", third.Done.Failure, s.requests)
	}
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// The message of its step reports it.
func TestEngineWithoutASignatureIsReported(t *testing.T) {
	s := newTestServer(t)
	s.keep("OpenTofu", "tofu", "1.12.6")
	kept := s.engines["OpenTofu"]
	kept.release.Unsigned = true
	s.engines["OpenTofu"] = kept
	p := startPod(t, s, nil, empty)
	s.orders <- s.plan(1, s.put(file("main.tf", two)))
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	const want = "OpenTofu 1.12.6 (without a signature: accepted by a digest in the configuration of Cairn)"
	if report := s.done(1); len(report.Steps) < 2 || report.Steps[1].Message != want {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

// The engine of the server is used if the version in the image is another one. The image is not changed.
func TestRequestedEngineIsUsed(t *testing.T) {
	s := newTestServer(t)
	s.keep("OpenTofu", "tofu", "1.12.6")
	fake := t.TempDir()
	executable(t, filepath.Join(fake, "tofu"),
		"#!/bin/sh\n[ $1 = version ] && echo '{\"terraform_version\":\"1.11.0\"}'")
	order := s.plan(1, s.put(file("main.tf", two)))
	order.EngineVersion = "~> 1.12"
	p := startPod(t, s, nil, "PATH="+fake+":/usr/bin:/bin")
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if report := s.done(1); steps(report) != "fetch= engine= init= plan=" ||
		report.Done.Plan.EngineVersion != "1.12.6" {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
}

func TestUnavailableEnginesFailTheAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(s *testServer, kept *engineKept)
		class, message string
	}{
		"not the promised bytes": {func(_ *testServer, kept *engineKept) { kept.program[0] ^= 1 }, "Transient",
			"fetch OpenTofu 1.12.6: its digest is"},
		"another version": {func(_ *testServer, kept *engineKept) {
			kept.release.Version = "1.11.0"
		}, "Transient", `the server returned OpenTofu "1.11.0" for "~> 1.12"`},
		"no version": {func(_ *testServer, kept *engineKept) { kept.release.Version = "../../x" }, "Transient",
			`the server returned OpenTofu "../../x"`},
		"none at all": {func(s *testServer, _ *engineKept) { s.engines = nil }, "ConfigurationError",
			"there is no program tofu in this image; the server answered 422: there is no OpenTofu ~> 1.12"},
		"away": {func(s *testServer, _ *engineKept) {
			s.refuse = func(r *http.Request) int {
				if strings.HasPrefix(r.URL.Path, "/v1/engines/") {
					return http.StatusForbidden
				}
				return 0
			}
		}, "Transient", "there is no program tofu in this image; ask the server for it: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			s.keep("OpenTofu", "tofu", "1.12.6")
			kept := s.engines["OpenTofu"]
			test.change(s, &kept)
			if s.engines != nil {
				s.engines["OpenTofu"] = kept
			}
			order := s.plan(1, s.put(file("main.tf", two)))
			order.EngineVersion = "~> 1.12"
			p := startPod(t, s, nil, empty)
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report := s.done(1)
			if failure := report.Done.Failure; steps(report) != "fetch= engine!" || failure.Class != test.class ||
				!strings.HasPrefix(failure.Message, test.message) {
				t.Errorf("%s %+v", steps(report), failure)
			}
			if left, _ := filepath.Glob(filepath.Join(p.work, "engines", "*", "tofu")); left != nil {
				t.Errorf("%v is there", left)
			}
		})
	}
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Engine = "Pulumi"
	run(t, s, nil, order)
	if failure := s.done(1).Done.Failure; failure == nil || failure.Class != "ConfigurationError" ||
		failure.Message != `there is no engine "Pulumi"` {
		t.Errorf("%+v", failure)
	}
}

func TestRootModuleIsAFolderOfTheCode(t *testing.T) {
	s := newTestServer(t)
	source := s.put(
		file("main.tf", "terraform {\n cloud {}\n}"), // not the root module
		file("a/b/main.tf", two), file("a/b/errored.tfstate", "{}"),
		file("a/b/.terraform/terraform.tfstate", `{"version":3,"backend":{"type":"local","config":{},"hash":1}}`))
	order := s.plan(1, source)
	order.Path, order.Outputs = "a/b", true
	run(t, s, nil, s.planned(order, nil))
	if report := s.done(2); report.Done.Failure != nil || steps(report) != "fetch= init= apply= outputs=" {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	for path, message := range map[string]string{
		"../a/b":    `the path "../a/b" leads out of the code`,
		"/a/b":      `the path "/a/b" leads out of the code`,
		"a/c":       "there is no folder a/c in the code",
		"main.tf":   "there is no folder main.tf in the code",
		"a":         "there is no code: no file named *.tf or *.tofu in the root module",
		"a/../a/b/": "",
	} {
		order := s.plan(3, source)
		order.Path = path
		run(t, s, nil, order)
		got := ""
		if failure := s.done(3).Done.Failure; failure != nil {
			got = failure.Class + " " + failure.Message
		}
		if message != "" {
			message = "ConfigurationError " + message
		}
		if got != message {
			t.Errorf("%s: got %q, want %q", path, got, message)
		}
		clear(s.reports)
	}
}

// The root module can be any folder of the code.
func TestStateIsRescuedFromTheRootModule(t *testing.T) {
	for _, name := range []string{"OpenTofu", "Terraform", "Terragrunt"} {
		s := newTestServer(t)
		order := s.plan(1, s.put(file("a/b/main.tf", two), file("a/b/terragrunt.hcl", "")))
		order.Path, order.Engine, order.Patience = "a/b", name, 1
		apply := s.plannedIn(t, order)
		s.refuse = func(r *http.Request) int {
			if r.Method == http.MethodPost && r.URL.Path == "/v1/state" {
				return http.StatusInternalServerError
			}
			return 0
		}
		p := startPod(t, s, nil, withTerragrunt(t))
		s.orders <- apply
		close(s.orders)
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		report := s.done(2)
		if !strings.HasSuffix(steps(report), "apply! rescue=") ||
			!bytes.Contains(s.rescued, []byte(`"terraform_data"`)) {
			t.Errorf("%s: %s %+v\n%s", name, steps(report), report.Done.Failure, p.output)
		}
		left := 0
		filepath.WalkDir(p.work, func(path string, _ os.DirEntry, _ error) error {
			if filepath.Base(path) == "errored.tfstate" {
				left++
			}
			return nil
		})
		if left != 1 {
			t.Errorf("%s left %d states; the test says nothing", name, left)
		}
	}
}

// plannedIn is planned in a pod that has a Terragrunt.
func (s *testServer) plannedIn(t *testing.T, order runnerapi.Order) runnerapi.Order {
	t.Helper()
	p := startPod(t, s, nil, withTerragrunt(t))
	s.orders <- order
	report := waitDone(t, s, order.Attempt)
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil || report.Done.Plan == nil {
		t.Fatalf("%v, %+v\n%s", err, report.Done.Failure, p.output)
	}
	order.Kind, order.PlanDigest, order.EngineVersion = runnerapi.OrderApply, report.Done.Plan.Digest,
		"= "+report.Done.Plan.EngineVersion
	order.Attempt++
	return order
}
