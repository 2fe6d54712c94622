package engine

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func load(t *testing.T, name string) (recorded, Events) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	events, err := ReadEvents(strings.NewReader(r.Events))
	if err != nil {
		t.Fatal(err)
	}
	return r, events
}

// Each name is a file of code in testdata and, beside it, what the real engine said about it.
func TestClassify(t *testing.T) {
	for _, test := range []struct {
		name    string
		step    Step
		class   Class
		message string
	}{
		{"backend-type", StepInit, Config, "Unsupported backend type: There is no backend type named"},
		{"duplicate", StepInit, Config, "Duplicate variable declaration: A variable named"},
		{"encryption", StepInit, Config, "Reference to undeclared encryption method: "},
		{"engine-version", StepInit, Config, "Incompatible module: This module is not compatible with OpenTofu v1.12.6."},
		{"local-module", StepInit, Config, "Unreadable module directory: "},
		{"syntax", StepInit, Config, "Invalid expression: Expected the start of an expression, but found an invalid expression token. (main.tf:2)"},
		{"variable-file-json", StepInit, Config, "Missing JSON value: "},
		{"variable-file-syntax", StepInit, Config, "Invalid multi-line string: "},
		{"backend-down", StepInit, Transient, "Error refreshing state: "},
		{"registry-module", StepInit, Transient, "Error accessing remote module registry: "},
		{"registry-provider", StepInit, Transient, "Failed to resolve provider packages: "},
		{"remote-module", StepInit, Transient, "Failed to download module: "},
		{"count", StepPlan, Config, "Invalid count argument: "},
		{"cycle", StepPlan, Config, "Cycle: terraform_data."},
		{"function", StepPlan, Config, "Invalid function argument: "},
		{"missing-variable", StepPlan, Config, "No value for required variable: "},
		{"precondition", StepPlan, Config, "Resource precondition failed: no way (main.tf:5)"},
		{"prevent-destroy", StepPlan, Config, "Resource instance cannot be destroyed: "},
		{"sensitive-output", StepPlan, Config, "Output refers to sensitive values: "},
		{"undeclared-resource", StepPlan, Config, "Reference to undeclared resource: "},
		{"undeclared-variable", StepPlan, Config, "Reference to undeclared input variable: "},
		{"unknown-argument", StepPlan, Config, "Unsupported argument: "},
		{"unknown-attribute", StepPlan, Config, "Unsupported attribute: "},
		{"variable-validation", StepPlan, Config, "Invalid value for variable: must be more than ten "},
		{"wrong-type", StepPlan, Config, "Invalid value for input variable: "},
		{"postcondition-plan", StepPlan, Transient, "Resource postcondition failed: no way "},
		{"remote-state-down", StepPlan, Transient, "Failed to get state: GET http://127.0.0.1:1/x giving up"},
		{"remote-state-missing", StepPlan, Transient, "data.terraform_remote_state.x: Unable to read remote state"},
		{"local-exec", StepApply, Transient, "local-exec provisioner error: Error running command 'echo boo; exit 3': exit status 3. Output: boo (terraform_data.x, main.tf:3)"},
		{"postcondition", StepApply, Transient, "Resource postcondition failed: no way "},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, events := load(t, test.name)
			if r.Step != test.step || r.ExitCode != 1 {
				t.Fatalf("recorded is %s with exit code %d", r.Step, r.ExitCode)
			}
			if got := Classify(r.Step, r.ExitCode, events.Errors); got != test.class {
				t.Errorf("got %s, want %s", got, test.class)
			}
			if got := FirstError(events.Errors).String(); !strings.HasPrefix(got, test.message) {
				t.Errorf("got %q, want %q", got, test.message)
			}
		})
	}
}

func TestAnEngineThatSaidNothingOrWasKilledIsNotAtFault(t *testing.T) {
	mistake := []Diagnostic{{Severity: "error", Summary: "Invalid expression", Range: &Range{Filename: "main.tf"}}}
	for name, got := range map[string]Class{
		"said nothing": Classify(StepPlan, 1, nil),
		"was killed":   Classify(StepPlan, -1, mistake),
		"ran out":      Classify(StepInit, 137, mistake),
	} {
		if got != Transient {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFirstErrorIsTheCauseOfAHalt(t *testing.T) {
	halt := Diagnostic{Severity: "error", Summary: halted}
	cause := Diagnostic{Severity: "error", Summary: "cause"}
	warning := Diagnostic{Severity: "warning", Summary: "deprecated"}
	for _, test := range []struct {
		list []Diagnostic
		want string
	}{
		{[]Diagnostic{warning, halt, halt, cause}, "cause"},
		{[]Diagnostic{warning, halt}, halted},
		{[]Diagnostic{warning}, ""},
	} {
		got := ""
		if first := FirstError(test.list); first != nil {
			got = first.Summary
		}
		if got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
