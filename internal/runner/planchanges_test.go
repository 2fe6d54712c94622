package runner

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/cloud"
)

// appliedWith plans and applies code in one pod, and returns the plan.
func (s *testServer) appliedWith(engine string, attempt int32, source string, env ...string) *runnerapi.Plan {
	s.t.Helper()
	order := s.plan(attempt, source)
	order.Engine = engine
	plan := s.replanned(order, env...)
	order.Kind, order.PlanDigest, order.Attempt = runnerapi.OrderApply, plan.Digest, attempt+1
	p := startPod(s.t, s, nil, env...)
	s.orders <- order
	report := waitDone(s.t, s, order.Attempt)
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil || report.Done.Failure != nil {
		s.t.Fatalf("%v, %+v\n%s", err, report.Done.Failure, p.output)
	}
	return plan
}

// replanned plans in a pod of its own, and returns the plan.
func (s *testServer) replanned(order runnerapi.Order, env ...string) *runnerapi.Plan {
	s.t.Helper()
	p := startPod(s.t, s, nil, env...)
	s.orders <- order
	report := waitDone(s.t, s, order.Attempt)
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil || report.Done.Plan == nil {
		s.t.Fatalf("%v, %+v\n%s", err, report.Done.Failure, p.output)
	}
	return report.Done.Plan
}

// The exit code of each plan says that there are changes: the apply reads the data source of the check again.
func TestACheckThatReadsADataSourceIsNoChange(t *testing.T) {
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			source := s.put(file("main.tf", `
resource "terraform_data" "a" {}
check "other" {
  data "terraform_remote_state" "other" {
    backend = "local"
    config  = { path = "${path.module}/other.tfstate" }
  }
  assert {
    condition     = data.terraform_remote_state.other.outputs.n == 1
    error_message = "n is not 1"
  }
}`), file("other.tfstate", `{"version":4,"terraform_version":"1.5.7","serial":1,"lineage":"o","outputs":{"n":{"value":1,"type":"number"}},"resources":[]}`))
			if plan := s.appliedWith(engine, 1, source); !plan.Changes || plan.Add != 1 {
				t.Fatalf("%+v", plan)
			}
			order := s.plan(3, source)
			order.Engine = engine
			plan := s.replanned(order)
			if got := step(t, s.done(3), "plan").Message; plan.Changes || got != "no changes" {
				t.Errorf("%+v: %s\n%s", plan, got, s.logs[3])
			}
		})
	}
}

// The state has it, and neither the code nor the cloud does: only an apply takes it out of the state.
func TestAResourceThatIsGoneEverywhereIsTakenOutOfTheState(t *testing.T) {
	folder := t.TempDir()
	if err := cloud.Folder(folder); err != nil {
		t.Fatal(err)
	}
	for _, engine := range bothEngines {
		for _, what := range []string{"out of the code", "before the destroy", "all before the destroy"} {
			t.Run(engine+", "+what, func(t *testing.T) {
				t.Parallel()
				clouds := cloud.New()
				server := httptest.NewServer(clouds)
				t.Cleanup(server.Close)
				config := filepath.Join(t.TempDir(), "engine.cfg")
				text := fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n", folder)
				if err := os.WriteFile(config, text, 0o600); err != nil {
					t.Fatal(err)
				}
				env := []string{"TF_CLI_CONFIG_FILE=" + config, "CLOUD_URL=" + server.URL}
				s := newTestServer(t)
				code := func(resources string) string {
					return s.put(
						file("main.tf", "terraform {\n  required_providers { cloud = { source = "+
							"\"cairn.dev/test/cloud\" } }\n}\n"+resources))
				}
				const a, b = `resource "cloud_thing" "a" { name = "a" }` +
					"\n", `resource "cloud_thing" "b" { name = "b" }` + "\n"
				s.appliedWith(engine, 1, code(a+b), env...)
				if err := clouds.Delete("b"); err != nil {
					t.Fatal(err)
				}
				source, want, says := code(a), "a", "1 to forget"
				order := s.plan(3, source)
				order.Engine = engine
				if what != "out of the code" {
					order.Source, order.Destroy, want, says = code(a+b), true, "", "1 to destroy"
				}
				if what == "all before the destroy" {
					says = "only the state changes: its resources no longer exist"
					if err := clouds.Delete("a"); err != nil {
						t.Fatal(err)
					}
				}
				plan := s.replanned(order, env...)
				if got := step(t, s.done(3), "plan").Message; !plan.Changes || got != says {
					t.Fatalf("%+v: %s\n%s", plan, got, s.logs[3])
				}
				order.Kind, order.PlanDigest, order.Attempt = runnerapi.OrderApply, plan.Digest, 4
				p := startPod(t, s, nil, env...)
				s.orders <- order
				waitDone(t, s, 4)
				close(s.orders)
				if err := p.wait(); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(s.resources(), " "); got != want {
					t.Errorf("the state has %q\n%s", got, s.logs[4])
				}
			})
		}
	}
}

// An apply of a plan with -refresh-only writes to the state what the plan lists, and calls nothing but reads of the
// cloud.
func TestDriftIsAcceptedInTheStateAlone(t *testing.T) {
	folder := t.TempDir()
	if err := cloud.Folder(folder); err != nil {
		t.Fatal(err)
	}
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			clouds := cloud.New()
			server := httptest.NewServer(clouds)
			t.Cleanup(server.Close)
			config := filepath.Join(t.TempDir(), "engine.cfg")
			text := fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n", folder)
			if err := os.WriteFile(config, text, 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{"TF_CLI_CONFIG_FILE=" + config, "CLOUD_URL=" + server.URL}
			s := newTestServer(t)
			code := func(size int, more string) string {
				return s.put(file("main.tf", fmt.Sprintf(`terraform {
  required_providers { cloud = { source = "cairn.dev/test/cloud" } }
}
resource "cloud_thing" "a" {
  name       = "a"
  attributes = { size = %d }
}
output "size" { value = cloud_thing.a.attributes.size }
`, size)+more))
			}
			const b = "resource \"cloud_thing\" \"b\" { name = \"b\" }\n"
			s.appliedWith(engine, 1, code(1, b), env...)
			if err := errors.Join(clouds.Drift("a", "size", "7"), clouds.Delete("b")); err != nil {
				t.Fatal(err)
			}
			calls := len(clouds.History())

			// The code has changed too, and that is not applied.
			order := s.plan(3, code(2, b+"resource \"cloud_thing\" \"c\" { name = \"c\" }\n"))
			order.Engine, order.PlanOptions = engine, &runnerapi.PlanOptions{RefreshOnly: true}
			plan := s.replanned(order, env...)
			if !plan.Changes || plan.StateOnly || plan.Refresh != 1 || plan.Forget != 1 ||
				plan.Add+plan.Change+plan.Destroy != 0 {
				t.Fatalf("%+v", plan)
			}
			if got := step(t, s.done(3), "plan").Message; got != "1 to forget, 1 to refresh in the state" {
				t.Errorf("the message is %q", got)
			}
			order.Kind, order.PlanDigest, order.Attempt = runnerapi.OrderApply, plan.Digest, 4
			p := startPod(t, s, nil, env...)
			s.orders <- order
			done := waitDone(t, s, 4).Done
			s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
			if err := p.wait(); err != nil || done.Failure != nil {
				t.Fatalf("%v, %+v\n%s", err, done.Failure, p.output)
			}
			if got := strings.Join(s.resources(), " "); got != "a" ||
				!strings.Contains(strings.ReplaceAll(string(s.state), " ", ""), `"size":"7"`) {
				t.Errorf("the state has %q\n%s", got, s.state)
			}
			for _, call := range clouds.History()[calls:] {
				if call.Verb == cloud.Create || call.Verb == cloud.Update || call.Verb == cloud.Delete {
					t.Errorf("the cloud got %+v", call)
				}
			}

			// Once the state has it, there is nothing to accept.
			order = s.plan(5, code(2, ""))
			order.Engine, order.PlanOptions = engine, &runnerapi.PlanOptions{RefreshOnly: true}
			if plan := s.replanned(order, env...); plan.Changes {
				t.Errorf("%+v: %s", plan, step(t, s.done(5), "plan").Message)
			}
		})
	}
}

// A state keeps its encryption until the engine writes it, and an engine that changes nothing writes none.
func TestAStateIsEncryptedAnewWhereNothingElseChanges(t *testing.T) {
	const resource = "resource \"terraform_data\" \"a\" {}\n"
	key := func(name string) string {
		return fmt.Sprintf("key_provider \"pbkdf2\" %[1]q {\n  passphrase = \"correct-horse-%[1]s\"\n  iterations = "+
			"200000\n}\nmethod \"aes_gcm\" %[1]q {\n  keys = key_provider.pbkdf2.%[1]s\n}\n", name)
	}
	const plain = "method \"unencrypted\" \"plain\" {}\n"
	state := func(method, fallback string) string {
		return fmt.Sprintf("state {\n  method = method.%s\n  fallback {\n    method = method.%s\n  }\n}\n",
			method, fallback)
	}
	for name, inVariable := range map[string]bool{"in the code": false, "in TF_ENCRYPTION": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.appliedWith("OpenTofu", 1, s.put(file("main.tf", resource)))
			attempt := int32(3)
			for _, stage := range []struct{ name, encryption, has string }{
				{"turned on", plain + key("one") + state("aes_gcm.one", "unencrypted.plain"),
					"key_provider.pbkdf2.one"},
				{"rotated", key("one") + key("two") + state("aes_gcm.two", "aes_gcm.one"), "key_provider.pbkdf2.two"},
				{"turned off", plain + key("two") + state("unencrypted.plain", "aes_gcm.two"), "terraform_data"},
			} {
				source, env := s.put(file("main.tf", "terraform {\nencryption {\n"+stage.encryption+"}\n}\n"+resource)),
					""
				if inVariable {
					source, env = s.put(file("main.tf", resource)), stage.encryption
				}
				plan := s.appliedWith("OpenTofu", attempt, source, "TF_ENCRYPTION="+env)
				got := step(t, s.done(attempt), "plan").Message
				if !plan.Changes || !plan.StateOnly || plan.Add != 0 ||
					got != "only the state changes: the code encrypts it in another way" {
					t.Fatalf("%s: %+v: %s\n%s", stage.name, plan, got, s.logs[attempt])
				}
				if !strings.Contains(string(s.state), stage.has) {
					t.Errorf("%s: %.300s", stage.name, s.state)
				}
				if again := s.replanned(s.plan(attempt+2, source), "TF_ENCRYPTION="+env); again.Changes {
					t.Errorf("%s: changes again: %s", stage.name, s.logs[attempt+2])
				}
				attempt += 3
			}
		})
	}
}
