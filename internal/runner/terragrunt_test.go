package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/releases"
)

// withTerragrunt gives a PATH with a Terragrunt.
func withTerragrunt(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(bin(t), "terragrunt")); err == nil {
		return "PATH=" + bin(t) + ":/usr/bin:/bin"
	}
	dir := t.TempDir()
	executable(t, filepath.Join(dir, "terragrunt"), releases.Terragrunt)
	return "PATH=" + dir + ":" + bin(t) + ":/usr/bin:/bin"
}

// only gives a PATH with a Terragrunt and no other engine than one.
func only(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(bin(t), program), filepath.Join(dir, program)); err != nil {
		t.Fatal(err)
	}
	grunt := filepath.SplitList(strings.TrimPrefix(withTerragrunt(t), "PATH="))[0]
	if err := os.Symlink(filepath.Join(grunt, "terragrunt"), filepath.Join(dir, "terragrunt")); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":/usr/bin:/bin"
}

func TestTerragrunt(t *testing.T) {
	for _, program := range []string{"tofu", "terraform"} {
		t.Run(program, func(t *testing.T) {
			s := newTestServer(t)
			order := s.plan(1,
				s.put(file("live/net/terragrunt.hcl", "terraform {\n  source = \"../../modules/m\"\n}\n"),
					file("modules/m/main.tf", two)))
			order.Engine, order.Path, order.Outputs = "Terragrunt", "live/net", true
			order.Variables = []runnerapi.Variable{{Name: "size", Value: []byte("4")}}
			p := startPod(t, s, nil, only(t, program))
			s.orders <- order
			first := waitDone(t, s, 1)
			plan := first.Done.Plan
			if steps(first) != "fetch= engine= init= plan=" || plan == nil || plan.Add != 2 ||
				plan.EngineVersion == "" || !strings.HasPrefix(first.Steps[1].Message, "Terragrunt "+plan.EngineVersion+
				", which runs ") {
				t.Fatalf("%s %+v\n%s", steps(first), first.Done.Failure, p.output)
			}
			if got := string(s.forms[plan.Digest+"/json"]); !strings.Contains(got, "terraform_data.a") {
				t.Errorf("the plan's JSON is %q\n%s", got, p.output)
			}
			s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			order.Kind, order.Attempt, order.PlanDigest, order.EngineVersion = runnerapi.OrderApply, 2, plan.Digest,
				"= "+plan.EngineVersion
			p = startPod(t, s, nil, only(t, program)) // in another folder
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			if report := s.done(2); steps(report) != "fetch= engine= init= apply= outputs=" ||
				report.Steps[3].Message != "2 added" || string(s.outputs["size"].Value) != "4" ||
				len(s.resources()) != 2 {
				t.Errorf("%s %+v\n%s", steps(report), report.Done.Failure, p.output)
			}
			if log := string(s.logs[2]); !strings.Contains(log, "Apply complete! Resources: 2 added") ||
				strings.Contains(log, `{"@`) {
				t.Errorf("%s", log)
			}
		})
	}
}

// The engine is that of the image if its version is the requested one, and otherwise that of the server.
func TestTerragruntRunsTheRequestedEngine(t *testing.T) {
	asked := func(name, version string) runnerapi.WrappedEngine {
		return runnerapi.WrappedEngine{Name: name, Version: version}
	}
	for name, test := range map[string]struct {
		// image has these programs beside Terragrunt, and the server the rest.
		image   []string
		wrapped []runnerapi.WrappedEngine
		// ran is the engine, and fetched that it came from the server.
		ran     string
		fetched bool
		message string
	}{
		"the image's OpenTofu when nothing is asked for": {[]string{"tofu", "terraform"}, nil, "OpenTofu",
			false, "Terragrunt 1.0.0, which runs OpenTofu"},
		"the image's Terraform when there is no OpenTofu": {[]string{"terraform"}, nil, "Terraform", false,
			"Terragrunt 1.0.0, which runs Terraform"},
		"the server's OpenTofu in an image without an engine": {nil, nil, "OpenTofu", true,
			"Terragrunt 1.0.0, which runs OpenTofu 1.12.6"},
		"the image's OpenTofu when it meets what is asked for": {[]string{"tofu"},
			[]runnerapi.WrappedEngine{asked("OpenTofu", "~> 1.12"), asked("Terraform", "= 1.5.7")}, "OpenTofu", false,
			"Terragrunt 1.0.0, which runs OpenTofu 1.12.6"},
		"the image's Terraform in the version that is for it": {[]string{"terraform"},
			[]runnerapi.WrappedEngine{asked("OpenTofu", "~> 1.12"), asked("Terraform", "= 1.5.7")}, "Terraform", false,
			"Terragrunt 1.0.0, which runs Terraform 1.5.7"},
		"the server's Terraform beside the image's OpenTofu": {[]string{"tofu"},
			[]runnerapi.WrappedEngine{asked("Terraform", "")}, "Terraform", true,
			"Terragrunt 1.0.0, which runs Terraform 1.5.7"},
		"the server's OpenTofu beside an older one of the image": {[]string{"old"},
			[]runnerapi.WrappedEngine{asked("OpenTofu", "~> 1.12")}, "OpenTofu", true,
			"Terragrunt 1.0.0, which runs OpenTofu 1.12.6"},
		"no other engine because the image's has another version": {[]string{"old", "terraform"},
			[]runnerapi.WrappedEngine{asked("OpenTofu", "~> 1.12"), asked("Terraform", "")}, "OpenTofu", true,
			"Terragrunt 1.0.0, which runs OpenTofu 1.12.6"},
		"an exact version, as an order to apply names the plan's": {nil,
			[]runnerapi.WrappedEngine{asked("Terraform", "= 1.5.7")}, "Terraform", true,
			"Terragrunt 1.0.0, which runs Terraform 1.5.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.keep("OpenTofu", "tofu", "1.12.6")
			kept := s.engines["OpenTofu"]
			s.keep("Terraform", "terraform", "1.5.7")
			s.engines["OpenTofu"] = kept
			dir := t.TempDir()
			executable(t, filepath.Join(dir, "terragrunt"), releases.Terragrunt)
			for _, program := range test.image {
				if program == "old" {
					executable(t, filepath.Join(dir, "tofu"),
						"#!/bin/sh\n[ $1 = version ] && echo '{\"terraform_version\":\"1.8.0\"}'")
				} else if err := os.Symlink(filepath.Join(bin(t), program), filepath.Join(dir, program)); err != nil {
					t.Fatal(err)
				}
			}
			order := s.plan(1, s.put(file("terragrunt.hcl", ""), file("main.tf", two)))
			order.Engine, order.Wrapped = "Terragrunt", test.wrapped
			p := startPod(t, s, nil, "PATH="+dir+":/usr/bin:/bin")
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report := s.done(1)
			if report.Done.Failure != nil || steps(report) != "fetch= engine= init= plan=" ||
				report.Steps[1].Message != test.message {
				t.Fatalf("%s %+v %q\n%s", steps(report), report.Done.Failure, report.Steps[1].Message, p.output)
			}
			version := map[string]string{"OpenTofu": "1.12.6", "Terraform": "1.5.7"}[test.ran]
			if plan := report.Done.Plan; plan.EngineVersion != "1.0.0" || plan.Wrapped == nil ||
				*plan.Wrapped != asked(test.ran, version) {
				t.Errorf("the plan is by %s and %+v", plan.EngineVersion, plan.Wrapped)
			}
			if fetched := s.countRequests("GET /v1/engines/"+test.ran+"/"+version) == 1; fetched != test.fetched {
				t.Errorf("fetched: %v, %v", fetched, s.requests)
			}
		})
	}
}

// Terragrunt asks git for the root, and git rejects the folder of another user.
func TestTerragruntFindsTheRootOfTheRepository(t *testing.T) {
	const unit = "terraform {\n  source = \"${get_repo_root()}/modules/m\"\n}\n"
	for name, test := range map[string]struct{ path, prefix string }{
		"a unit below it":          {"live/net", "live/net/"},
		"a unit that is the root":  {"", ""},
		"a path through a symlink": {"linked", "live/net/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			files := []entry{file(test.prefix+"terragrunt.hcl", unit), file("modules/m/main.tf", two)}
			if test.path == "linked" {
				files = append(files, link("linked", "live/net"))
			}
			order := s.plan(1, s.put(files...))
			order.Engine, order.Path = "Terragrunt", test.path
			p := startPod(t, s, nil, withTerragrunt(t))
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			if report := s.done(1); report.Done.Failure != nil || report.Done.Plan.Add != 2 {
				t.Errorf("%s %+v\n%s", steps(report), report.Done.Failure, p.output)
			}
		})
	}
}

// The folders of the cache have the same names in each attempt.
func TestTerragruntCacheIsEmptyInEachAttempt(t *testing.T) {
	s := newTestServer(t)
	grunt := file("live/terragrunt.hcl", "terraform {\n  source = \"../m\"\n}\n")
	first := s.plan(1, s.put(grunt, file("m/main.tf", two)))
	first.Engine, first.Path = "Terragrunt", "live"
	second := first
	second.Attempt, second.Source = 2, s.put(grunt, file("m/other.tf", `resource "terraform_data" "c" {}`))
	p := startPod(t, s, nil, withTerragrunt(t))
	s.orders <- first
	s.orders <- second
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if plan := s.done(2).Done.Plan; plan == nil || plan.Add != 1 {
		t.Errorf("%+v\n%s", plan, p.output)
	}
}

func TestForbiddenTerragruntSettingsAreRejected(t *testing.T) {
	const fails = "resource \"terraform_data\" \"x\" {\n  provisioner \"local-exec\" { command = \"echo once " +
		">>${path.module}/tries; exit 3\" }\n}\n"
	for name, test := range map[string]struct {
		grunt, code, override string
		path                  string
		steps, class, message string
	}{
		"keep the state elsewhere": {grunt: "terraform {\n  source = \"../m\"\n}\n", code: two,
			override: "terraform {\n  backend \"local\" {}\n}",
			steps:    "fetch= engine= init!", class: "ConfigurationError",
			message: `the code keeps its state elsewhere (backend "local"); Cairn's zz_cairn_override.tf does not come last in it`},
		"take a failure for success": {grunt: "errors {\n  ignore \"all\" {\n    ignorable_errors = [\".*\"]\n  " +
			"}\n}\nterraform {\n  source = \"../m\"\n}\n", code: fails,
			steps: "fetch= engine= init= apply!", class: "Transient", message: "local-exec provisioner error: "},
		"leave the apply out": {grunt: "exclude {\n  if      = true\n  actions = [\"apply\"]\n  no_run  = " +
			"true\n}\nterraform {\n  source = \"../m\"\n}\n", code: two,
			steps: "fetch= engine= init= apply!", class: "Transient",
			message: "Terragrunt ended before all was applied"},
		"be called for plain code": {code: two, steps: "fetch!", class: "ConfigurationError",
			message: "there is no terragrunt.hcl in the root module's folder"},
		"have a mistake in its own code": {grunt: "foo {}\n", code: two, steps: "fetch= engine= init!",
			class:   "ConfigurationError",
			message: `Unsupported block type: Blocks of type "foo" are not expected here.`},
		"be without an engine": {grunt: " ", code: two, path: "PATH=none", steps: "fetch= engine!",
			class:   "ConfigurationError",
			message: "there is no program tofu in this image; the server answered 422: there is no OpenTofu"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			files := []entry{file("m/main.tf", test.code), file("live/README", "")}
			if test.override != "" {
				files = append(files, file("m/zzz_override.tf", test.override))
			}
			if test.grunt != "" {
				files = append(files, file("live/terragrunt.hcl", test.grunt))
			}
			order := s.plan(1, s.put(files...))
			order.Engine, order.Path = "Terragrunt", "live"
			path := withTerragrunt(t)
			if test.path != "" {
				dir := t.TempDir()
				grunt := filepath.SplitList(strings.TrimPrefix(path, "PATH="))[0]
				if err := os.Symlink(filepath.Join(grunt, "terragrunt"), filepath.Join(dir, "terragrunt")); err != nil {
					t.Fatal(err)
				}
				path = "PATH=" + dir + ":/usr/bin:/bin"
			}
			last := int32(1)
			if strings.Contains(test.steps, "apply") {
				order, last = s.plannedIn(t, order), 2
			}
			p := startPod(t, s, nil, path)
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report := s.done(last)
			if failure := report.Done.Failure; steps(report) != test.steps || failure == nil ||
				failure.Class != test.class || !strings.HasPrefix(failure.Message, test.message) {
				t.Errorf("%s %+v\n%s", steps(report), failure, p.output)
			}
		})
	}
}

// The backend is set in the Stack or in the code.
func TestTerragruntWithAnOwnBackend(t *testing.T) {
	t.Parallel()
	for name, fromCode := range map[string]bool{"of the Stack": false, "of the code": true} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			server, b, inputs := aBucket(t, true)
			dir := plain(t, server, two)
			code, err := os.ReadFile(filepath.Join(dir, "main.tf"))
			if err != nil {
				t.Fatal(err)
			}
			text := two
			if fromCode {
				b, inputs, text = &runnerapi.Backend{}, nil, string(code)
			}
			order := s.inBackend(1, two, b)
			order.Source = s.put(file("live/net/terragrunt.hcl", "terraform {\n  source = \"../../modules/m\"\n}\n"),
				file("modules/m/main.tf", text))
			order.Engine, order.Path = "Terragrunt", "live/net"
			p := startPod(t, s, inputs, withTerragrunt(t))
			s.orders <- order
			first := waitDone(t, s, 1)
			if first.Done.Failure != nil || steps(first) != "fetch= engine= init= state= plan=" {
				t.Fatalf("%s %+v\n%s", steps(first), first.Done.Failure, p.output)
			}
			s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
			p = startPod(t, s, inputs, withTerragrunt(t)) // in another folder
			s.orders <- order
			second := waitDone(t, s, 2)
			s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			there := strings.TrimSuffix(tofu(t, dir, "state", "pull"), "\n")
			if second.Done.Failure != nil || strings.Join(s.resources(), " ") != "a b" || there != string(s.state) ||
				s.backend.Type != "s3" {
				t.Errorf("%s %+v %v %+v\n%s", steps(second), second.Done.Failure, s.resources(), s.backend, p.output)
			}
		})
	}
}

// Terragrunt may report success although its engine was killed, after it has written a part of the state.
func TestIgnoredKillOfAnEngineKeepsTheJournal(t *testing.T) {
	const onTheWay = `{"version":4,"terraform_version":"1.12.0","serial":1,"lineage":"on-the-way","outputs":{},"resources":[]}`
	killed := filepath.Join(t.TempDir(), "killed")
	for _, program := range []string{"tofu", "terraform"} {
		t.Run(program, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if _, err := os.Stat(killed); err != nil {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				io.WriteString(w, onTheWay)
			}))
			t.Cleanup(server.Close)
			s := newTestServer(t)
			b := &runnerapi.Backend{Type: "http",
				Config: map[string]json.RawMessage{"address": json.RawMessage(`"` + server.URL + `"`)}}
			order := s.inBackend(1, two, b)
			order.Source = s.put(file("terragrunt.hcl", "errors {\n}\n"), file("main.tf", `
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "touch `+killed+`; kill -9 $PPID; sleep 1" }
}`))
			order.Engine = "Terragrunt"
			p := startPod(t, s, nil, only(t, program))
			s.orders <- order
			first := waitDone(t, s, 1)
			if first.Done.Plan == nil {
				t.Fatalf("%+v\n%s", first.Done.Failure, p.output)
			}
			order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
			s.orders <- order
			s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			done := s.done(2).Done
			if done.Failure == nil || !strings.Contains(string(s.state), "on-the-way") || done.Saved ||
				s.created()["a"] == "" {
				t.Errorf("%+v, journal %v, state %s\n%s", done, s.journal, s.state, p.output)
			}
			if err := os.Remove(killed); err != nil {
				t.Error(err)
			}
		})
	}
}

// A killed Terragrunt leaves a running engine: the runner waits for it, and its resources are in the state before
// another attempt can begin.
func TestKilledTerragruntWaitsForItsEngine(t *testing.T) {
	for _, program := range []string{"tofu", "terraform"} {
		t.Run(program, func(t *testing.T) {
			s := newTestServer(t)
			dir := t.TempDir()
			executable(t, filepath.Join(dir, "terragrunt"), releases.Terragrunt)
			if err := os.Symlink(filepath.Join(bin(t), program), filepath.Join(dir, program)); err != nil {
				t.Fatal(err)
			}
			order := s.plan(1, s.put(file("terragrunt.hcl", "dies = true\n"), file("main.tf", `
resource "terraform_data" "a" {
  `+strings.ReplaceAll(writePID, "%SLEEP%", "5")+`
}`)))
			order.Engine = "Terragrunt"
			p := startPod(t, s, nil, "PATH="+dir+":/usr/bin:/bin")
			s.orders <- order
			first := waitDone(t, s, 1)
			if first.Done.Plan == nil {
				t.Fatalf("%+v\n%s", first.Done.Failure, p.output)
			}
			order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			failure := s.done(2).Done.Failure
			if failure == nil || failure.Class != "Transient" ||
				!strings.Contains(failure.Message, "Terragrunt was killed (SIGKILL)") {
				t.Errorf("%+v", failure)
			}
			if s.lock != nil || len(s.resources()) != 1 {
				t.Errorf("lock %s, state %s\n%s", s.lock, s.state, p.output)
			}
		})
	}
}

// This holds while Cairn has no state, from whatever file Terragrunt reads the backend.
func TestBackendOfAUnitIsNotReplaced(t *testing.T) {
	const (
		unit     = "terraform {\n  source = \"../../m\"\n}\n"
		included = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n" + unit
		remote   = "remote_state {\n  backend = \"s3\"\n  config = {}\n}\n"
		generate = "remote_state {\n  backend = \"s3\"\n  generate = {\n    path = \"backend.tf\"\n  }\n}\n"
		block    = "terraform {\n  backend \"s3\" {}\n}\n"
	)
	for name, files := range map[string][]entry{
		"remote_state of the unit": {file("live/net/terragrunt.hcl", generate+unit),
			file("m/main.tf", two)},
		"remote_state of an included file": {file("live/net/terragrunt.hcl", included),
			file("root.hcl", generate), file("m/main.tf", two)},
		"remote_state for a block of the module": {file("live/net/terragrunt.hcl", included),
			file("root.hcl", remote), file("m/main.tf", block+two)},
		"a block of the module": {file("live/net/terragrunt.hcl", unit), file("m/main.tf", two),
			file("m/backend.tf", block)},
		"a block beside the unit": {file("live/net/terragrunt.hcl", unit),
			file("live/net/backend.tf", block), file("m/main.tf", two)},
		"a block of a unit whose code is beside it": {file("live/net/terragrunt.hcl", ""),
			file("live/net/main.tf", block+two)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(files...))
			order.Engine, order.Path, order.Stack = "Terragrunt", "live/net", "net"
			p := startPod(t, s, nil, withTerragrunt(t))
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report := s.done(1)
			failure := report.Done.Failure
			if failure == nil || failure.Class != "ConfigurationError" || failure.Reason != "BackendInCode" ||
				!strings.Contains(failure.Message, `the code keeps its state in backend "s3"`) ||
				!strings.Contains(failure.Message, "terragrunt run -- state pull") {
				t.Errorf("%s %+v %+v\n%s", steps(report), failure, report.Done.Plan, p.output)
			}
		})
	}
}

// An old release has a valid signature too, and the signed list of checksums names no version.
func TestOldTerragruntIsNotAcceptedAsANewOne(t *testing.T) {
	program := []byte(releases.Terragrunt) // 1.0.0
	sum, err := workspace.Digest(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	for announced, want := range map[string]string{
		"1.1.3": "the program that was downloaded as Terragrunt 1.1.3 reports version 1.0.0",
		"1.0.0": "there is no program tofu in this image",
	} {
		s := newTestServer(t)
		s.engines = map[string]engineKept{
			"Terragrunt": {runnerapi.EngineRelease{Version: announced, Digest: sum, Size: int64(len(program))},
				program}}
		order := s.plan(1, s.put(file("terragrunt.hcl", ""), file("main.tf", two)))
		order.Engine, order.EngineVersion = "Terragrunt", "~> 1.0"
		p := startPod(t, s, nil, empty)
		s.orders <- order
		close(s.orders)
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		report := s.done(1)
		failure := report.Done.Failure
		if failure == nil || steps(report) != "fetch= engine!" || failure.Class != "ConfigurationError" ||
			!strings.HasPrefix(failure.Message, want) {
			t.Errorf("%s: %s %+v", announced, steps(report), failure)
		}
	}
}
