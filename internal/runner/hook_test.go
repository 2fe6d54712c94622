package runner

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

func hookAt(when, step, script string) runnerapi.Hook {
	return runnerapi.Hook{Step: step, When: when, Script: script}
}

// inOrder finds marks in a log in this order, with anything between them.
func inOrder(t *testing.T, log string, marks ...string) {
	t.Helper()
	rest := log
	for _, mark := range marks {
		_, after, found := strings.Cut(rest, mark)
		if !found {
			t.Fatalf("%q does not follow in\n%s", mark, log)
		}
		rest = after
	}
}

// Hooks run in one pod, in the order of the list, in the folder of the root module, with the engine's own program.
func TestHooksRunAroundTheirSteps(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("envs/prod/main.tf", two)))
	order.Path, order.Outputs = "envs/prod", true
	order.Hooks = []runnerapi.Hook{
		hookAt("Before", "fetch", "echo no code in $PWD; ls -d envs 2>/dev/null || true"),
		hookAt("After", "fetch", "#!/bin/sh\necho code in ${PWD##*/}"),
		hookAt("Before", "engine", "echo engine comes"),
		hookAt("Before", "init", "echo about to init; [ ! -e .terraform ]"),
		hookAt("After", "plan", "#!/usr/bin/env -S sh -e\ntofu version | head -n1; grep -c 'will be created' "+
			"$CAIRN_PLAN_TEXT"),
		hookAt("After", "plan", "echo second"),
		hookAt("Before", "apply", "echo about to apply"),
		hookAt("After", "apply", "tofu output -json size"),
		hookAt("After", "outputs", "echo written"),
	}
	p := startPod(t, s, nil)
	s.orders <- order
	first := waitDone(t, s, 1)
	if got := allSteps(first); got != "before-fetch= fetch= after-fetch= before-engine= engine= before-init= init= "+
		"plan= after-plan= after-plan-2= outputs- after-outputs-" {
		t.Fatalf("%s %+v\n%s", got, first.Done.Failure, p.output)
	}
	if skipped := step(t, first, "after-outputs"); skipped.Message != "the plan has changes" ||
		skipped.StartedAt != nil {
		t.Errorf("%+v", skipped)
	}
	if done := step(t, first, "after-plan"); done.ExitCode == nil || *done.ExitCode != 0 || done.StartedAt == nil ||
		done.FinishedAt == nil {
		t.Errorf("%+v", done)
	}
	order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, first.Done.Plan.Digest
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	second := s.done(2)
	if got := allSteps(second); got != "before-apply= apply= after-apply= outputs= after-outputs=" ||
		second.Done.Failure != nil || second.Done.Changed != nil {
		t.Errorf("%s %+v", got, second.Done)
	}
	inOrder(t, string(s.logs[1]), "── before-fetch ──\nno code in "+p.work+
		"\n── fetch ──\n── after-fetch ──\ncode in prod\n",
		"── before-engine ──\nengine comes\n", "── before-init ──\nabout to init\n── init ──\n", "── plan ──\n",
		"Plan: 2 to add", "── after-plan ──\nOpenTofu v1.12.6\n2\n── after-plan-2 ──\nsecond\n")
	inOrder(t, string(s.logs[2]), "── before-apply ──\nabout to apply\n── apply ──\n", "Apply complete!",
		"── after-apply ──\n1\n── outputs ──\n── after-outputs ──\nwritten\n")
}

// The forms of the plan come from the server.
func TestHooksInAnotherPodReceiveThePlan(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	apply := s.planned(order, nil)
	report := `env | grep ^CAIRN_PLAN | sed "s,=$HOME/\.\.,=," | sort; cat $CAIRN_PLAN_TEXT; grep -o '"format_version"' $CAIRN_PLAN_JSON | head -n1; test -s $CAIRN_PLAN_FILE`
	apply.Hooks = []runnerapi.Hook{hookAt("Before", "fetch", "env | grep ^CAIRN_PLAN || echo no plan yet"),
		hookAt("Before", "apply", report)}
	p := run(t, s, nil, apply)
	if got := s.done(2); allSteps(got) != "before-fetch= fetch= init= before-apply= apply=" {
		t.Fatalf("%s\n%s", allSteps(got), p.output)
	}
	inOrder(t, string(s.logs[2]), "no plan yet",
		"── before-apply "+
			"──\nCAIRN_PLAN_ADD=2\nCAIRN_PLAN_CHANGE=0\nCAIRN_PLAN_CHANGES=true\nCAIRN_PLAN_DESTROY=0\n"+
			"CAIRN_PLAN_DIGEST="+apply.PlanDigest+
			"\nCAIRN_PLAN_FILE="+p.work+
			"/plan\nCAIRN_PLAN_FORGET=0\nCAIRN_PLAN_IMPORT=0\nCAIRN_PLAN_INVOKE=0\nCAIRN_PLAN_JSON="+p.work+
			"/plan.json\nCAIRN_PLAN_REFRESH=0\nCAIRN_PLAN_REPLACE=0\nCAIRN_PLAN_TEXT="+p.work+"/plan.txt\n",
		"Plan: 2 to add", `"format_version"`, "── apply ──")

	// A plan without forms is applied all the same.
	clear(s.forms)
	s.state, s.versions = nil, 0
	order.Attempt = 3
	apply = s.planned(order, nil)
	clear(s.forms)
	apply.Hooks = []runnerapi.Hook{hookAt("Before", "apply", "env | grep ^CAIRN_PLAN | cut -d= -f1 | sort")}
	run(t, s, nil, apply)
	if got := s.done(4); steps(got) != "fetch= init= before-apply= apply=" {
		t.Errorf("%s %+v", steps(got), got.Done.Failure)
	}
	inOrder(t, string(s.logs[4]), "── before-apply ──\nCAIRN_PLAN_CHANGES\nCAIRN_PLAN_DIGEST\nCAIRN_PLAN_FILE\n── "+
		"apply ──")
}

func TestEnvironmentOfAHook(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Operation, order.Cause, order.Revision = "Apply", "commit 1f3c by alice\nWiden it", "main@sha1:1f3c"
	order.Hooks = []runnerapi.Hook{
		hookAt("After", "plan", `env -0 | sort -z | grep -z '^CAIRN\|^TF_\|^PATH\|^MINE\|^PWD' | tr '\0' '\n'`)}
	p := startPod(t, s, nil, "MINE=1", "CAIRN_SERVER_CA_PEM=no", "CAIRN_SPOOF=no", "TF_DATA_DIR=no")
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(string(s.logs[1]), "── after-plan ──\n")
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		if strings.HasPrefix(line, "TF_HTTP_") { // the way to the state, another each time
			line = strings.Split(line, "=")[0]
		}
		lines = append(lines, line)
	}
	digest := s.done(1).Done.Plan.Digest
	want := []string{
		"CAIRN_ATTEMPT=1", "CAIRN_CAUSE=commit 1f3c by alice", "Widen it", "CAIRN_NAMESPACE=prod",
		"CAIRN_OPERATION=Apply",
		"CAIRN_PLAN_ADD=2", "CAIRN_PLAN_CHANGE=0", "CAIRN_PLAN_CHANGES=true", "CAIRN_PLAN_DESTROY=0",
		"CAIRN_PLAN_DIGEST=" + digest,
		"CAIRN_PLAN_FILE=" + p.work + "/plan", "CAIRN_PLAN_FORGET=0", "CAIRN_PLAN_IMPORT=0", "CAIRN_PLAN_INVOKE=0",
		"CAIRN_PLAN_JSON=" + p.work + "/plan.json",
		"CAIRN_PLAN_REFRESH=0", "CAIRN_PLAN_REPLACE=0", "CAIRN_PLAN_TEXT=" + p.work + "/plan.txt",
		"CAIRN_REVISION=main@sha1:1f3c", "CAIRN_RUN=net-1",
		"CAIRN_STACK=net", "CAIRN_STEP=plan", "CAIRN_WHEN=After", "MINE=1", "PATH=" + p.work + "/bin:" + bin(t) +
			":/usr/bin:/bin",
		"PWD=" + p.work + "/code", "TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_PASSWORD", "TF_HTTP_RETRY_MAX",
		"TF_HTTP_UNLOCK_ADDRESS", "TF_HTTP_USERNAME", "TF_INPUT=0", "TF_IN_AUTOMATION=1",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// It is available as text. There is no JSON of it, which would take another launch.
func TestPlanWithoutChangesIsAvailableToHooks(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	source := s.put(file("main.tf", two))
	run(t, s, nil, s.planned(s.plan(1, source), nil))
	clear(s.forms)
	order := s.plan(3, source)
	order.Hooks = []runnerapi.Hook{
		hookAt("After", "plan", "echo $CAIRN_PLAN_CHANGES $CAIRN_PLAN_ADD ${CAIRN_PLAN_JSON:-none}; cat "+
			"$CAIRN_PLAN_TEXT")}
	run(t, s, nil, order)
	inOrder(t, string(s.logs[3]), "── after-plan ──\nfalse 0 none\n", "No changes.")
	if len(s.forms) != 0 {
		t.Errorf("%v", s.forms)
	}
}

func TestFailedHooks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook    runnerapi.Hook
		steps   string
		failure runnerapi.Failure
		log     string
	}{
		"an exit code": {hookAt("Before", "init", "echo one; echo two >&2; exit 3"), "fetch= before-init! init- plan-",
			runnerapi.Failure{Class: "ConfigurationError",
				Message: "hook before-init ended with exit code 3: one; two"}, "── before-init ──\none\ntwo\n"},
		"an exit code without a word": {hookAt("After", "plan", "exit 1"), "fetch= init= plan= after-plan!",
			runnerapi.Failure{Class: "ConfigurationError", Message: "hook after-plan ended with exit code 1 and " +
				"printed nothing"}, "── after-plan ──\n"},
		"a transient failure": {hookAt("Before", "init", "echo later; exit 75"), "fetch= before-init! init- plan-",
			runnerapi.Failure{Class: "Transient", Message: "hook before-init ended with exit code 75: later"},
			"later\n"},
		"a signal": {hookAt("Before", "init", "kill -9 $$"), "fetch= before-init! init- plan-",
			runnerapi.Failure{Class: "Transient", Message: "hook before-init was killed (SIGKILL): most likely the " +
				"container ran out of memory: raise spec.runner.resources.limits.memory"}, ""},
		"no such interpreter": {hookAt("Before", "fetch", "#!/usr/bin/nothing -x\necho no"),
			"before-fetch! fetch- init- plan-",
			runnerapi.Failure{Class: "ConfigurationError",
				Message: `hook before-fetch cannot run: its first line is "#!/usr/bin/nothing -x", and there is no such program in this image`},
			"before-fetch: hook before-fetch cannot run"},
		"an interpreter with the line ends of another system": {hookAt("Before", "fetch", "#!/bin/sh\r\necho no\r\n"),
			"before-fetch! fetch- init- plan-",
			runnerapi.Failure{Class: "ConfigurationError",
				Message: `hook before-fetch cannot run: its first line is "#!/bin/sh\r", and there is no such program in this image`}, ""},
		"an interpreter that is no program": {hookAt("Before", "fetch", "#!/etc/passwd\n"),
			"before-fetch! fetch- init- plan-",
			runnerapi.Failure{Class: "ConfigurationError",
				Message: `hook before-fetch cannot run: its first line is "#!/etc/passwd": fork/exec `}, ""},
		"a program that it does not find": {hookAt("Before", "fetch", "nothing-of-this-name"),
			"before-fetch! fetch- init- plan-",
			runnerapi.Failure{Class: "ConfigurationError", Message: "hook before-fetch ended with exit code 127: "},
			""},
		"a NUL in its script": {hookAt("Before", "fetch", "#!/bin/\x00sh\n"), "before-fetch! fetch- init- plan-",
			runnerapi.Failure{Class: "ConfigurationError",
				Message: `hook before-fetch cannot run: its first line is "#!/bin/\x00sh"`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Hooks = []runnerapi.Hook{test.hook}
			run(t, s, nil, order)
			report := s.done(1)
			failure := report.Done.Failure
			if allSteps(report) != test.steps || failure == nil || failure.Class != test.failure.Class ||
				!strings.HasPrefix(failure.Message, test.failure.Message) {
				t.Errorf("%s %+v", allSteps(report), failure)
			}
			if log := string(s.logs[1]); !strings.Contains(log, test.log) || strings.Contains(log, "no\n") {
				t.Errorf("the log is\n%s", log)
			}
		})
	}
}

func TestHookThatMayFail(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Hooks = []runnerapi.Hook{{Step: "init", When: "Before", Script: "echo sorry; exit 3", Continue: true}}
	run(t, s, nil, order)
	report := s.done(1)
	if allSteps(report) != "fetch= before-init! init= plan=" || report.Done.Failure != nil || report.Done.Plan == nil {
		t.Errorf("%s %+v", allSteps(report), report.Done)
	}
	if got := step(t, report, "before-init"); *got.ExitCode != 3 ||
		got.Message != "hook before-init ended with exit code 3: sorry" {
		t.Errorf("%+v", got)
	}
	inOrder(t, string(s.logs[1]), "sorry\nbefore-init failed; the attempt continues, as its onFailure is set\n── "+
		"init ──")
}

// The report has the number of changes nevertheless, and the outputs are written for the Stacks that wait for them.
func TestHookAfterAFailedApply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook  runnerapi.Hook
		steps string
	}{
		"after the apply": {hookAt("After", "apply", "exit 1"),
			"fetch= init= apply= after-apply! before-outputs- outputs= after-outputs-"},
		"before the outputs": {hookAt("Before", "outputs", "exit 1"),
			"fetch= init= apply= before-outputs! before-outputs-2- outputs= after-outputs-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Outputs = true
			apply := s.planned(order, nil)
			apply.Hooks = []runnerapi.Hook{test.hook, hookAt("Before", "outputs", "true"),
				hookAt("After", "outputs", "true")}
			run(t, s, nil, apply)
			report := s.done(2)
			if allSteps(report) != test.steps || report.Done.Changed == nil || *report.Done.Changed != 2 ||
				s.lock != nil {
				t.Errorf("%s %+v", allSteps(report), report.Done)
			}
			if failure := report.Done.Failure; failure == nil || failure.Class != "ConfigurationError" ||
				len(s.outputs) != 1 || len(report.Done.Outputs) != 1 {
				t.Errorf("%+v, outputs %v", failure, s.outputs)
			}
		})
	}
}

// A state that it failed to write could not be rescued.
func TestEngineInAHookDoesNotWriteTheState(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"OpenTofu", "Terraform"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(file("main.tf", two)))
			order.Engine = engine
			apply := s.planned(order, nil)
			program := map[string]string{"OpenTofu": "tofu", "Terraform": "terraform"}[engine]
			apply.Hooks = []runnerapi.Hook{
				{Step: "apply", When: "Before", Script: program + " apply -auto-approve -no-color", Continue: true},
				{Step: "apply", When: "After", Script: program + " state rm terraform_data.b", Continue: true},
				{Step: "apply", When: "After", Script: program + " state list"},
			}
			run(t, s, nil, apply)
			report := s.done(2)
			if allSteps(report) != "fetch= init= before-apply! apply= after-apply! after-apply-2=" ||
				len(s.resources()) != 2 || s.lock != nil {
				t.Errorf("%s, lock %s, state %s\n%s", allSteps(report), s.lock, s.state, s.logs[2])
			}
			inOrder(t, string(s.logs[2]), "── before-apply ──\n", "ID=hooks read the state,", "── after-apply ──\n",
				"ID=hooks read the state,", "── after-apply-2 ──\nterraform_data.a\nterraform_data.b\n")
		})
	}
}

func TestSecretsInTheOutputOfAHookAreRedacted(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.SecretEnv = []string{"TOKEN"}
	order.Hooks = []runnerapi.Hook{
		hookAt("Before", "init", `echo "it is $TOKEN"; env; printf 'canary-%s' value-7f3a | cut -c1-100; exit 3`)}
	p := startPod(t, s, nil, "TOKEN=canary-value-7f3a")
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(1)
	for name, text := range map[string]string{"log": string(s.logs[1]), "pod's log": p.output.String(),
		"message": report.Done.Failure.Message} {
		if strings.Contains(text, "value-7f3a") || strings.Contains(text, "TF_HTTP_PASSWORD=") &&
			!strings.Contains(text, "TF_HTTP_PASSWORD="+redact.Mask) {
			t.Errorf("the %s contains:\n%s", name, text)
		}
	}
	inOrder(t, string(s.logs[1]), "it is "+redact.Mask)
}

// A hook has ended when its process ends, even if a background process still has its output open.
func TestHookEndsDespiteBackgroundProcesses(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Hooks = []runnerapi.Hook{hookAt("Before", "init", "sleep 600 & echo $! >pid; echo left")}
	begin := time.Now()
	p := run(t, s, nil, order)
	pid := readPID(t, filepath.Join(p.work, "code", "pid"))
	if took := time.Since(begin); steps(s.done(1)) != "fetch= before-init= init= plan=" || took > 2*time.Minute ||
		!alive(pid) {
		t.Errorf("%s after %s", steps(s.done(1)), took)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func readPID(t *testing.T, path string) int {
	t.Helper()
	var pid int
	wait(t, func() bool {
		data, _ := os.ReadFile(path)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	return pid
}

// The approved plan is applied nevertheless.
func TestRejectedPlanFormIsLeftOut(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	apply.Hooks = []runnerapi.Hook{
		hookAt("Before", "apply", "echo json ${CAIRN_PLAN_JSON:-none} text ${CAIRN_PLAN_TEXT:-none}")}
	s.refuse = func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/json") {
			return http.StatusForbidden
		}
		return 0
	}
	run(t, s, nil, apply)
	if report := s.done(2); allSteps(report) != "fetch= init= before-apply= apply=" {
		t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
	}
	inOrder(t, string(s.logs[2]), "the plan's JSON is left out: the server answered 403: refused by the test\n",
		"── before-apply ──\njson none text none\n")
}

// It does not fail the hook.
func TestPlanFormThatCannotBeFetchedFailsTheFetch(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	apply.Hooks = []runnerapi.Hook{hookAt("Before", "apply", "true")}
	apply.Patience = 100 * time.Millisecond
	s.refuse = func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/json") {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	run(t, s, nil, apply)
	report := s.done(2)
	if allSteps(report) != "fetch! init- before-apply- apply-" || report.Done.Failure.Class != "Transient" ||
		!strings.HasPrefix(report.Done.Failure.Message, "fetch the plan's JSON: ") {
		t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
	}
}
