package runner

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

// withVariable is code that needs a value which only Cairn gives it.
const withVariable = `variable "n" {}
resource "terraform_data" "a" { input = var.n }
output "n" { value = terraform_data.a.output }`

// commanded plans with a script in place of the engine's apply, and gives the order to apply.
func commanded(t *testing.T, s *testServer, script string, change ...func(*runnerapi.Order)) runnerapi.Order {
	t.Helper()
	order := s.plan(1, s.put(file("main.tf", withVariable)))
	order.Variables = []runnerapi.Variable{{Name: "n", Value: []byte(`"seven"`)}}
	order.Outputs, order.Command = true, script
	for _, c := range change {
		c(&order)
	}
	apply := s.planned(order, nil)
	if plan := s.done(order.Attempt).Done.Plan; !plan.Script {
		t.Errorf("the plan does not say that a script applies it: %+v", plan)
	}
	return apply
}

func lastLog(s *testServer, attempt int32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.logs[attempt])
}

// The command replaces the engine: it applies the file of the plan, or a plan of its own that gets the same variables.
func TestCommandAppliesThePlan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		engine, script, log string
		changed             string
	}{
		"the plan's file": {"OpenTofu", `tofu apply -no-color "$CAIRN_PLAN_FILE"`,
			"Apply complete! Resources: 1 added", ": 1 resource changed"},
		"a plan of its own": {"OpenTofu", "#!/bin/sh -e\ntofu apply -no-color -auto-approve",
			"Apply complete! Resources: 1 added", ": 1 resource changed"},
		"in two parts": {"OpenTofu", "tofu apply -no-color -auto-approve -target=terraform_data.a && tofu " +
			"apply -no-color -auto-approve", "Apply complete! Resources: 0 added", ": 1 resource changed"},
		"Terraform": {"Terraform", `terraform apply -no-color "$CAIRN_PLAN_FILE"`,
			"Apply complete! Resources: 1 added", ""},
		"Terraform plans anew": {"Terraform", `terraform apply -no-color -auto-approve`,
			"Apply complete! Resources: 1 added", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			apply := commanded(t, s, test.script, func(o *runnerapi.Order) { o.Engine = test.engine })
			run(t, s, nil, apply)
			report := s.done(2)
			if allSteps(report) != "fetch= init= apply= outputs=" || report.Done.Failure != nil {
				t.Fatalf("%s %+v\n%s", allSteps(report), report.Done.Failure, lastLog(s, 2))
			}
			if done := step(t, report, "apply"); *done.ExitCode != 0 ||
				done.Message != "by the script of spec.commands.apply"+test.changed {
				t.Errorf("%+v", done)
			}
			inOrder(t, lastLog(s, 2), "── apply ──\nthe script of spec.commands.apply runs in place of "+test.engine+
				"\n", test.log, "── outputs ──")
			if got := string(s.outputs["n"].Value); got != `"seven"` || s.lock != nil ||
				strings.Join(s.resources(), " ") != "a" {
				t.Errorf("output %s, lock %s, state %s", got, s.lock, s.state)
			}
			if name != "in two parts" && !report.Done.Saved {
				t.Error("the state has it all, and the report does not say so")
			}
		})
	}
}

// It is the environment of hooks.
func TestEnvironmentOfACommand(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := commanded(t, s, `echo $CAIRN_STEP ${CAIRN_WHEN-no side} $CAIRN_OPERATION $CAIRN_PLAN_ADD ${PWD##*/} $CAIRN_PLAN_DIGEST; grep -c 'will be created' $CAIRN_PLAN_TEXT
test -s $CAIRN_PLAN_JSON && tofu apply -no-color "$CAIRN_PLAN_FILE"`, func(o *runnerapi.Order) {
		o.Operation = "Apply"
	})
	run(t, s, nil, apply)
	inOrder(t, lastLog(s, 2), "apply no side Apply 1 code "+apply.PlanDigest+"\n1\n", "Apply complete!")
}

// The digest is compared before, and a plan is not applied twice.
func TestCommandRunsOnlyForTheApprovedPlan(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := commanded(t, s, "echo never; exit 1")
	s.mu.Lock()
	s.plans[apply.PlanDigest] = append(s.plans[apply.PlanDigest], 'x')
	s.mu.Unlock()
	run(t, s, nil, apply)
	if report := s.done(2); report.Done.Failure == nil || strings.Contains(lastLog(s, 2), "never") {
		t.Errorf("%s %+v\n%s", allSteps(report), report.Done.Failure, lastLog(s, 2))
	}
	s = newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Command = "echo once; exit 75"
	p := startPod(t, s, nil)
	s.orders <- order
	order.Kind, order.Attempt, order.PlanDigest = runnerapi.OrderApply, 2, waitDone(t, s, 1).Done.Plan.Digest
	s.orders <- order
	waitDone(t, s, 2)
	order.Attempt = 3
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.done(3).Done.Failure; strings.Count(p.output.String(), "once\n") != 1 || got == nil ||
		!strings.Contains(got.Message, "another try needs a new plan") {
		t.Errorf("%+v\n%s", got, p.output)
	}
}

func TestFailedCommands(t *testing.T) {
	t.Parallel()
	const broken = `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "exit 3" }
}
output "n" { value = 1 }`
	const called = "the script of spec.commands.apply"
	for name, test := range map[string]struct {
		code, script string
		failure      runnerapi.Failure
		log          string
	}{
		"an exit code": {withVariable, "echo one; echo two >&2; exit 3",
			runnerapi.Failure{Class: "ConfigurationError", Message: called + " ended with exit code 3: one; two"},
			"one\ntwo\n"},
		"a transient failure": {withVariable, "echo later; exit 75",
			runnerapi.Failure{Class: "Transient", Message: called + " ended with exit code 75: later"}, "later\n"},
		"a signal": {withVariable, "kill -9 $$", runnerapi.Failure{Class: "Transient", Message: called +
			" was killed (SIGKILL)"}, ""},
		"a signal to what it runs": {withVariable, "sh -c 'kill -9 $$'; exit $?",
			runnerapi.Failure{Class: "Transient", Message: called + " ended with exit code 137"}, ""},
		"what its engine says": {broken, "tofu apply -no-color -auto-approve",
			runnerapi.Failure{Class: "Transient", Message: "local-exec provisioner error"}, "exit status 3"},
		"no such interpreter": {withVariable, "#!/usr/bin/nothing\n", runnerapi.Failure{Class: "ConfigurationError",
			Message: called + ` cannot run: its first line is "#!/usr/bin/nothing"`}, ""},
		"nothing is applied": {withVariable, "echo all is well", runnerapi.Failure{Class: "ConfigurationError",
			Message: called + ` ended well, but wrote no state, so that nothing of the plan is applied: let it apply the plan, as in tofu apply "$CAIRN_PLAN_FILE", or fail`}, "all is well"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			apply := commanded(t, s, test.script, func(o *runnerapi.Order) {
				o.Source = s.put(file("main.tf", test.code))
				if test.code == broken {
					o.Variables = nil
				}
			})
			run(t, s, nil, apply)
			report := s.done(2)
			failure := report.Done.Failure
			if allSteps(report) != "fetch= init= apply! outputs-" || failure == nil ||
				failure.Class != test.failure.Class || !strings.Contains(failure.Message, test.failure.Message) {
				t.Errorf("%s %+v", allSteps(report), failure)
			}
			if !strings.Contains(lastLog(s, 2), test.log) || s.lock != nil || s.outputs != nil {
				t.Errorf("lock %s, outputs %v, log\n%s", s.lock, s.outputs, lastLog(s, 2))
			}
			if changed := report.Done.Changed; changed != nil && (*changed != 0 || name != "what its engine says") {
				t.Errorf("%d changes are reported, and the number is not known", *changed)
			}
		})
	}
}

// A command that continued would create resources twice. The state is rescued, whatever exit code the script returns.
func TestCommandStopsWhenItsStateCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := commanded(t, s, "tofu apply -no-color -auto-approve; tofu apply -no-color -auto-approve; exit 0")
	s.refuse = refuseStates(http.StatusConflict)
	run(t, s, nil, apply)
	report := s.done(2)
	if allSteps(report) != "fetch= init= apply! rescue= outputs-" || report.Done.Failure.Class != "Transient" ||
		!strings.Contains(report.Done.Failure.Message, "its engine could not write the state: state not written: the "+
			"server answered 409") {
		t.Errorf("%s %+v\n%s", allSteps(report), report.Done.Failure, lastLog(s, 2))
	}
	if n := strings.Count(lastLog(s, 2), "terraform_data.a: Creation complete"); n != 1 {
		t.Errorf("it was created %d times\n%s", n, lastLog(s, 2))
	}
	inOrder(t, lastLog(s, 2), "Creation complete", "ID=a state could not be")
	s.state = s.rescued
	if got := s.resources(); len(got) != 1 || s.lock != nil {
		t.Errorf("rescued %v, lock %s", got, s.lock)
	}
}

// slowTen are resources that take minutes each, one after the other, but for the first.
const slowTen = `resource "terraform_data" "first" {}
resource "terraform_data" "slow" {
  count = 10
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = "echo slow${count.index}; sleep 300" }
}`

// The engine of the command finishes the operations in flight and saves the state, even if its shell ignores the
// interrupt.
func TestCancelACommand(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a shell that waits": "tofu apply -no-color -parallelism=1 -auto-approve; echo never",
		"a shell that ends":  "#!/bin/sh\ntrap 'exit 9' INT\ntofu apply -no-color -parallelism=1 -auto-approve & wait",
		"one that ignores it": "#!/bin/bash\ntrap '' TERM; trap 'echo not now' INT; tofu apply -no-color " +
			"-parallelism=1 -auto-approve; while :; do sleep 0.05; done",
		"one that becomes it": "exec tofu apply -no-color -parallelism=1 -auto-approve",
	} {
		for _, how := range []string{"canceled", "timed out"} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				var s *testServer
				var want runnerapi.Failure
				for timeout := 3 * time.Second; ; timeout *= 2 {
					s = newTestServer(t)
					apply := commanded(t, s, script, func(o *runnerapi.Order) {
						o.Source, o.Variables = s.put(file("main.tf", slowTen)), nil
					})
					if how == "timed out" {
						apply.Timeout, want = timeout, runnerapi.Failure{Class: "Transient",
							Message: "timed out after " + timeout.String()}
					}
					p := startPod(t, s, nil)
					s.orders <- apply
					atWork := func() bool { return strings.Contains(p.output.String(), "(local-exec): slow") }
					if how == "canceled" {
						wait(t, atWork)
						s.cancels <- "canceled by bob"
						want = runnerapi.Failure{Class: "Canceled", Message: "canceled by bob"}
					}
					close(s.orders)
					if err := p.wait(); err != nil {
						t.Fatal(err)
					}
					if atWork() || timeout > time.Minute {
						break // or the machine is too busy to get so far in that time
					}
				}
				report := s.done(2)
				if allSteps(report) != "fetch= init= apply! outputs-" || *report.Done.Failure != want {
					t.Errorf("%s %+v", allSteps(report), report.Done.Failure)
				}
				log := lastLog(s, 2)
				inOrder(t, log, "the script of spec.commands.apply is interrupted and waited for ──")
				if s.lock != nil || s.rescued != nil || len(s.resources()) != 2 ||
					strings.Contains(log, "Two interrupts") || strings.Contains(log, "never") {
					t.Errorf("lock %s, state has %v\n%s", s.lock, s.resources(), log)
				}
				if changed := report.Done.Changed; changed == nil || *changed != 1 || *changed != s.countCreated() {
					t.Errorf("%d changed\n%s", *changed, log)
				}
			})
		}
	}
}

// The runner interrupts the engine and waits for it, and the command fails. Other processes that it leaves continue.
func TestEngineLeftByACommandIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := commanded(t, s, "sleep 600 & echo $! >other\ntofu apply -no-color -parallelism=1 -auto-approve & while "+
		"! [ -e begun ]; do sleep 0.05; done; exit 0", func(o *runnerapi.Order) {
		o.Source, o.Variables = s.put(
			file("main.tf", strings.ReplaceAll(slowTen, "echo slow", "touch begun; echo slow"))), nil
	})
	p := startPod(t, s, nil)
	s.orders <- apply
	report := waitDone(t, s, 2)
	other := readPID(t, filepath.Join(p.work, "code", "other"))
	if !alive(other) {
		t.Error("what it left that is no engine was ended")
	}
	_ = syscall.Kill(other, syscall.SIGKILL)
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	inOrder(t, lastLog(s, 2), "has ended, and an engine that it started has not: it is interrupted and waited for")
	if s.lock != nil || len(s.resources()) != 2 || allSteps(report) != "fetch= init= apply! outputs-" ||
		report.Done.Failure.Class != "ConfigurationError" ||
		!strings.Contains(report.Done.Failure.Message, "ended well, but before an engine that it started, which was "+
			"interrupted: let it wait for it") {
		t.Errorf("lock %s, state has %v, %s %+v", s.lock, s.resources(), allSteps(report), report.Done.Failure)
	}
}

// The engine of the command was killed: the failure, the lock and the journal of the created resources show it.
func TestLockLeftByACommandIsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ end, message string }{
		"leaves the lock and succeeds": {"exit 0", "ended well, but left the state's lock"},
		"leaves the lock and fails":    {"exit 3", "; it left the state's lock, which the next attempt takes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			apply := commanded(t, s, "tofu apply -no-color -parallelism=1 -auto-approve; "+test.end,
				func(o *runnerapi.Order) {
					o.Source, o.Variables = s.put(
						file("main.tf", strings.ReplaceAll(slowTen, "echo slow${count.index}; sleep 300",
							"kill -9 $PPID; sleep 1"))), nil
				})
			run(t, s, nil, apply)
			report := s.done(2)
			if allSteps(report) != "fetch= init= apply! outputs-" || !strings.Contains(report.Done.Failure.Message,
				test.message) || report.Done.Saved {
				t.Errorf("%s %+v", allSteps(report), report.Done)
			}
			if s.lock == nil || len(s.journal) != 1 || s.journal[0].Address != "terraform_data.first" ||
				s.journal[0].ID == "" {
				t.Errorf("lock %s, journal %+v", s.lock, s.journal)
			}
			// The next plan imports the created resources, and reports them unless the command is known to apply this
			// plan.
			for attempt, script := range map[int32]string{5: "tofu apply -auto-approve",
				7: `tofu apply "$CAIRN_PLAN_FILE"`} {
				again := apply
				again.Kind, again.Attempt, again.Command = runnerapi.OrderPlan, attempt, script
				run(t, s, nil, again)
				plan := s.done(attempt).Done.Plan
				orphans := 0
				if attempt == 5 {
					orphans = 1
				}
				if plan == nil || plan.Import != 1 || len(plan.Untracked) != orphans {
					t.Errorf("with %q: %+v", script, plan)
				}
			}
		})
	}
}

// The runner checks which resources are left: the exit code of the script does not empty a state.
func TestDestroyByACommandChecksTheState(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, resources, outputs string }{
		"destroys":      {"tofu destroy -no-color -auto-approve", "", ""},
		"with the plan": {`tofu apply -no-color "$CAIRN_PLAN_FILE"`, "", ""},
		"does nothing":  {"true", "a", `"seven"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			apply := commanded(t, s, "tofu apply -auto-approve")
			run(t, s, nil, apply)
			order := apply
			order.Kind, order.Attempt, order.PlanDigest, order.Destroy, order.Command = runnerapi.OrderPlan, 3, "",
				true, test.script
			destroy := s.planned(order, nil)
			run(t, s, nil, destroy)
			report := s.done(4)
			if allSteps(report) != "fetch= init= apply= outputs=" ||
				!strings.HasPrefix(step(t, report, "apply").Message, "by the script of spec.commands.destroy") {
				t.Errorf("%s %+v\n%s", allSteps(report), report.Done.Failure, lastLog(s, 4))
			}
			if got := strings.Join(s.resources(), " "); got != test.resources ||
				string(s.outputs["n"].Value) != test.outputs {
				t.Errorf("left are %q, outputs %v", got, s.outputs)
			}
		})
	}
}

// Only the engine can read it: the exit code of a script does not empty it.
func TestEncryptedStateIsReadByTheEngine(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"true": "the script of spec.commands.destroy ended well, but the state holds " +
			"1 resources still",
		"tofu destroy -no-color -auto-approve": "",
	} {
		s := newTestServer(t)
		order := s.plan(1, s.put(file("main.tf", `terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "correct-horse-battery"
      iterations = 200000 # the fewest that it takes
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state { method = method.aes_gcm.m }
  }
}
resource "terraform_data" "a" {}`)))
		apply := s.planned(order, nil)
		run(t, s, nil, apply)
		order.Attempt, order.Destroy, order.Command = 3, true, script
		destroy := s.planned(order, nil)
		run(t, s, nil, destroy)
		got := ""
		if failure := s.done(4).Done.Failure; failure != nil {
			got = failure.Message
		}
		if got != want || !strings.Contains(string(s.state), "encrypted_data") {
			t.Errorf("with %q: %q\n%s", script, got, lastLog(s, 4))
		}
	}
}

func TestSecretsInTheOutputOfACommandAreRedacted(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	apply := commanded(t, s, `echo "it is $TOKEN"; env; printf 'canary-%s' value-7f3a; exit 3`,
		func(o *runnerapi.Order) {
			o.SecretEnv = []string{"TOKEN"}
		})
	p := startPod(t, s, nil, "TOKEN=canary-value-7f3a")
	s.orders <- apply
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"log": lastLog(s, 2), "pod's log": p.output.String(),
		"message": s.done(2).Done.Failure.Message} {
		if strings.Contains(text, "value-7f3a") || strings.Contains(text, "TF_HTTP_PASSWORD=") &&
			!strings.Contains(text, "TF_HTTP_PASSWORD="+redact.Mask) {
			t.Errorf("the %s contains:\n%s", name, text)
		}
	}
	inOrder(t, lastLog(s, 2), "it is "+redact.Mask)
}

// Terragrunt uses the prepared files, and does nothing twice.
func TestTerragruntInACommand(t *testing.T) {
	t.Parallel()
	got := strings.Join(engine.Terragrunt.Around(engine.OpenTofu, "/bin/tofu", "/work/cache").Environment(), " ")
	if got != "TG_NON_INTERACTIVE=true TG_NO_AUTO_RETRY=true TG_TF_PATH=/bin/tofu TG_DOWNLOAD_DIR=/work/cache" {
		t.Error(got)
	}
}
