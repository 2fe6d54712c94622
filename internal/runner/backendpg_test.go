package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/postgres"
)

// The state is adopted, moved there from another backend, and not accessible with a wrong password, with each engine,
// and while another user holds the lock.
func TestStateInPostgreSQL(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	for name, program := range map[string]string{"OpenTofu": "tofu", "Terraform": "terraform"} {
		t.Run(name, func(t *testing.T) { aStateInPostgreSQL(t, server, name, program) })
	}
}

func aStateInPostgreSQL(t *testing.T, server *postgres.Server, name, program string) {
	b := &runnerapi.Backend{Type: "pg", Config: schema(program), ConfigDirs: []string{"backend/00"}}
	inputs := map[string]string{"backend/00/conn_str": server.URL()}
	dir := t.TempDir()
	text := fmt.Sprintf("terraform {\n  backend \"pg\" {\n    conn_str    = %q\n    schema_name = %q\n  }\n}\n%s",
		server.URL(), program, two)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plainly(t, program, dir, "init", "-input=false")
	plainly(t, program, dir, "apply", "-auto-approve")

	s := newTestServer(t)
	order := s.inBackend(1, two, b)
	order.Engine = name
	p := run(t, s, inputs, order)
	if done := s.done(1).Done; done.Failure != nil || done.Plan.Changes || strings.Join(s.resources(), " ") != "a b" ||
		s.backend.Serial == 0 {
		t.Fatalf("%+v %v\n%s", done, s.resources(), p.output)
	}
	order.Attempt, order.Source = 2, s.put(file("main.tf", two+`resource "terraform_data" "c" {}`))
	s.applied(order, inputs)
	if there := strings.TrimSuffix(plainly(t, program, dir, "state", "pull"), "\n"); there != string(s.state) ||
		strings.Join(s.resources(), " ") != "a b c" {
		t.Errorf("%v\n%s\n%s", s.resources(), there, s.state)
	}
	if all := p.output.String() + fmt.Sprint(s.reports); strings.Contains(all, server.Password) {
		t.Error("the password is in a log or a report")
	}

	// A user who applies without Cairn has the lock.
	hold := filepath.Join(dir, "hold")
	held := text + "resource \"terraform_data\" \"c\" {}\nresource \"terraform_data\" \"d\" {\n  provisioner " +
		"\"local-exec\" { command = \"echo >begun; cat hold\" }\n}\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "main.tf"), []byte(held), 0o600),
		syscall.Mkfifo(hold, 0o600)); err != nil {
		t.Fatal(err)
	}
	theirs := plainCommand(t, program, dir, "apply", "-auto-approve")
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil })
	order.Attempt, order.Source = 4, s.put(file("main.tf", two))
	p = run(t, s, inputs, s.planned(order, inputs))
	if f := s.done(5).Done.Failure; f == nil || f.Class != "Transient" || s.lock != nil || s.done(5).Done.Saved ||
		!strings.HasPrefix(f.Message, "Error acquiring the state lock: another client has it, and PostgreSQL does "+
			"not show which. ") ||
		!strings.Contains(f.Message, "pg_stat_activity") || !strings.Contains(f.Message, "already locked: default") ||
		strings.Contains(f.Message, "Who:") {
		t.Errorf("%+v %s\n%s", f, s.lock, p.output)
	}
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Wait(); err != nil {
		t.Fatal(err)
	}
	order.Attempt, order.Source = 6, s.put(file("main.tf", two))
	s.applied(order, inputs)
	if got := strings.Join(s.resources(), " "); got != "a b" {
		t.Errorf("after the lock was free: %s", got)
	}

	// In a shell.
	order.Attempt = 8
	said, shell := shellIn(t, s, order, inputs, program+" state mv terraform_data.b terraform_data.e")
	if there := strings.TrimSuffix(plainly(t, program, dir, "state", "pull"), "\n"); shell.Done.Failure != nil ||
		there != string(s.state) || strings.Join(s.resources(), " ") != "a e" {
		t.Errorf("%+v %v\n%s", shell.Done.Failure, s.resources(), said)
	}
	order.Attempt = 9
	shellIn(t, s, order, inputs, program+" state mv terraform_data.e terraform_data.b")

	// Into another schema, which is empty: first it is said, then it is put there.
	b.Config = schema(program + "_other")
	order.Attempt = 10
	if got := s.rejectedPlan(order, inputs); !strings.Contains(got,
		"backend pg has no state there, and Cairn has one") {
		t.Error(got)
	}
	order.Attempt, s.move = 11, true
	was := s.backend.Serial
	p = run(t, s, inputs, order)
	if done := s.done(11).Done; done.Failure != nil || done.Plan.Changes || s.move || s.backend.Serial != was+1 {
		t.Errorf("%+v %+v\n%s", done, s.backend, p.output)
	}

	inputs["backend/00/conn_str"] = strings.Replace(server.URL(), server.Password, "wrong-canary-password", 1)
	order.Attempt = 12
	if got := s.rejectedPlan(order, inputs); !strings.Contains(got, "password authentication failed") ||
		strings.Contains(got, "wrong-canary-password") {
		t.Error(got)
	}
}

// schema is where in the database a state is.
func schema(name string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"schema_name": json.RawMessage(`"` + name + `"`)}
}

// newPostgres starts PostgreSQL until the end of the test.
func newPostgres(t *testing.T) *postgres.Server {
	t.Helper()
	server, err := postgres.New(t.Context())
	if errors.Is(err, postgres.ErrNone) && os.Getenv("CI") == "" {
		t.Skip("PostgreSQL is not installed, which fails in CI:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}
