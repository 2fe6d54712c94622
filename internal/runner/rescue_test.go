package runner

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/attempt"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

func refuseStates(code int) func(*http.Request) int {
	return func(r *http.Request) int {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/state" {
			return code
		}
		return 0
	}
}

func TestStateThatCannotBeWrittenIsRescued(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two), file("errored.tfstate", "old"))), nil)
	s.refuse = refuseStates(http.StatusConflict)
	run(t, s, nil, apply)
	report := s.done(2)
	if steps(report) != "fetch= init= apply! rescue=" || report.Done.Failure.Class != "Transient" {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	if got := report.Done.Failure.Message; !strings.Contains(got, "Failed to save state") ||
		!strings.HasSuffix(got, "; state not written: the server answered 409: refused by the test") {
		t.Errorf("%q", got)
	}
	if got := report.Steps[3].Message; got != "the state with serial 2 could not be written and was rescued; it is "+
		"written before the next plan" {
		t.Errorf("%q", got)
	}
	s.state = s.rescued
	if got := s.resources(); len(got) != 2 || s.lock != nil {
		t.Errorf("%v, lock %s", got, s.lock)
	}
}

// The base is the version that was current when the engine acquired the lock.
func TestRescuedStateNamesItsBaseVersion(t *testing.T) {
	s := newTestServer(t)
	s.applied(s.plan(1, s.put(file("main.tf", `resource "terraform_data" "a" {}`))), nil)
	was, err := workspace.Digest(bytes.NewReader(s.state))
	if err != nil {
		t.Fatal(err)
	}
	apply := s.planned(s.plan(3, s.put(file("main.tf", two))), nil)
	s.refuse, s.forked = refuseStates(http.StatusConflict), "merge the two"
	run(t, s, nil, apply)
	if report := s.done(4); s.base != was || report.Done.Failure.Class != "ConfigurationError" ||
		report.Done.Failure.Message != "merge the two" {
		t.Errorf("the base is %q, want %q; %+v", s.base, was, report.Done.Failure)
	}
}

// The server is unavailable when the first state of a Stack is written: the engine could not check for an existing one,
// and leaves the lineage out.
func TestFirstStateIsRescuedWithALineage(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Patience = 200 * time.Millisecond
	apply := s.planned(order, nil)
	locked, read := false, 0
	s.refuse = func(r *http.Request) int {
		switch {
		case r.URL.Path != "/v1/state":
			return 0
		case r.Method == "LOCK":
			locked = true
			return 0
		case r.Method == http.MethodGet:
			if locked {
				read++
			}
			if read <= 1 { // it compares what the plan was made on
				return 0
			}
			return http.StatusServiceUnavailable
		case r.Method == http.MethodPost:
			return http.StatusServiceUnavailable
		}
		return 0
	}
	run(t, s, nil, apply)
	rescued, err := engine.ParseState(s.rescued)
	if err != nil || rescued.Lineage == "" {
		t.Errorf("%+v, %v", rescued, err)
	}
	s.state = s.rescued
	if got := s.resources(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// The disk is full when the engine leaves the file: what it sent before is complete.
func TestIncompleteFileOfTheEngineIsNotRescued(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	s.refuse = refuseStates(http.StatusConflict)
	fake := t.TempDir()
	executable(t, filepath.Join(fake, "tofu"), `#!/bin/sh
`+filepath.Join(bin(t), "tofu")+` "$@"
code=$?
[ ! -e errored.tfstate ] || truncate -s 100 errored.tfstate
exit $code
`)
	p := startPod(t, s, nil, "PATH="+fake+":/usr/bin:/bin")
	s.orders <- apply
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if report := s.done(2); steps(report) != "fetch= init= apply! rescue=" {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	s.state = s.rescued
	if got := s.resources(); len(got) != 2 {
		t.Errorf("%s", s.rescued)
	}
}

func TestStateThatCannotBeSentIsInTheLogOfThePod(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", `resource "terraform_data" "a" { input = "canary-in-state" }`)))
	order.Recipient, order.Patience = identity.Recipient().String(), 200*time.Millisecond
	apply := s.planned(order, nil)
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/rescue" {
			return http.StatusServiceUnavailable
		}
		return refuseStates(http.StatusServiceUnavailable)(r)
	}
	p := run(t, s, nil, apply)
	report := s.done(2)
	if steps(report) != "fetch= init= apply! rescue!" ||
		!strings.Contains(report.Steps[3].Message, "it is in the pod's log, encrypted: read it back with cairn "+
			"state recover") {
		t.Errorf("%s %+v", steps(report), report.Steps)
	}
	if failure := report.Done.Failure; failure.Class != runnerapi.FailureStateNotSaved ||
		failure.Message != report.Steps[3].Message {
		t.Errorf("%+v", failure)
	}
	_, text, _ := strings.Cut(p.output.String(), armor.Header)
	text, _, found := strings.Cut(text, armor.Footer)
	if !found {
		t.Fatalf("no armor in\n%s", p.output)
	}
	plain, err := age.Decrypt(armor.NewReader(strings.NewReader(armor.Header+text+armor.Footer)), identity)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(plain)
	if err != nil {
		t.Fatal(err)
	}
	if unpacked.Name != "prod/net/net-1/2" {
		t.Errorf("it is of attempt %q", unpacked.Name)
	}
	data, err := io.ReadAll(unpacked)
	if state, bad := engine.ParseState(data); err != nil || bad != nil || state.Serial != 2 ||
		!strings.Contains(string(data), "canary-in-state") {
		t.Errorf("%s, %v, %v", data, err, bad)
	}
}

// The exit code of the program reports a stranded state if no report can be sent.
func TestStrandedStateSetsTheExitCode(t *testing.T) {
	s := newTestServer(t)
	apply := s.planned(s.plan(1, s.put(file("main.tf", two))), nil)
	apply.Patience = 100 * time.Millisecond // and no recipient: it cannot even be printed
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/rescue" || r.URL.Path == "/v1/steps" {
			return http.StatusServiceUnavailable
		}
		return refuseStates(http.StatusServiceUnavailable)(r)
	}
	p := startPod(t, s, nil)
	s.orders <- apply
	if err := p.wait(); !errors.Is(err, attempt.ErrStranded) || runnerapi.Code(err) != http.StatusServiceUnavailable {
		t.Errorf("%v", err)
	}
}
