package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestClassify checks recorded failures. Each name is a file of code in testdata with the recorded output of OpenTofu.
func TestClassify(t *testing.T) {
	for _, test := range []struct {
		name    string
		step    Step
		class   Class
		message string
	}{
		{"backend-type", StepInit, ConfigurationError, "Unsupported backend type: There is no backend type named"},
		{"duplicate", StepInit, ConfigurationError, "Duplicate variable declaration: A variable named"},
		{"encryption", StepInit, ConfigurationError, "Reference to undeclared encryption method: "},
		{"engine-version", StepInit, ConfigurationError, "Incompatible module: This module is not compatible with " +
			"OpenTofu v1.12.6."},
		{"local-module", StepInit, ConfigurationError, "Unreadable module directory: "},
		{"symlink-dangling", StepInit, ConfigurationError, "Failed to read file: "},
		{"syntax", StepInit, ConfigurationError, "Invalid expression: Expected the start of an expression, but found " +
			"an invalid expression token. (main.tf:2)"},
		{"variable-file-json", StepInit, ConfigurationError, "Missing JSON value: "},
		{"variable-file-syntax", StepInit, ConfigurationError, "Invalid multi-line string: "},
		{"backend-argument", StepInit, ConfigurationError,
			`Invalid backend configuration argument: The backend configuration argument "nonsense"`},
		{"provider-built-in", StepInit, ConfigurationError, "Invalid dependency on built-in provider: "},
		{"provider-checksum", StepInit, ConfigurationError,
			"Failed to install provider: Error while installing cairn.dev/test/failing v1.0.0: the local package"},
		{"provider-lock-file", StepInit, ConfigurationError, "Provider dependency changes detected: "},
		{"provider-locked", StepInit, ConfigurationError, "Failed to resolve provider packages: Could not resolve " +
			"provider cairn.dev/test/failing: locked provider"},
		{"provider-unheard-of", StepInit, ConfigurationError, "Failed to query available provider packages: "},
		{"provider-unknown", StepInit, ConfigurationError, "Failed to query available provider packages: "},
		{"provider-version", StepInit, ConfigurationError, "Failed to resolve provider packages: "},
		{"backend-consul-denied", StepInit, ConfigurationError,
			"Failed to get existing workspaces: Unexpected response code: 403 (rpc error"},
		{"backend-gcs-credentials", StepInit, ConfigurationError,
			"the string provided in credentials is neither valid json nor a valid file path"},
		{"backend-kubernetes-none", StepInit, ConfigurationError,
			"Failed to initialize kubernetes configuration: invalid configuration: no configuration has been provided"},
		{"backend-s3-bucket", StepInit, ConfigurationError, "Failed to get existing workspaces: S3 bucket does not " +
			"exist. The referenced S3 bucket"},
		{"backend-s3-credentials", StepInit, ConfigurationError, "No valid credential sources found: "},
		{"backend-s3-denied", StepInit, ConfigurationError, "Error refreshing state: "},
		{"backend-s3-key", StepInit, ConfigurationError, "Failed to get existing workspaces: operation error S3: " +
			"ListObjectsV2, https response error StatusCode: 403"},
		{"backend-s3-slow", StepInit, Transient, "Failed to get existing workspaces: operation error S3: " +
			"ListObjectsV2, exceeded maximum number of attempts"},
		{"backend-s3-unknown", StepInit, ConfigurationError, "Failed to get existing workspaces: operation error S3: " +
			"ListObjectsV2, https response error StatusCode: 403"},
		{"backend-forbidden", StepInit, Transient, "Error refreshing state: HTTP remote state endpoint invalid auth"},
		{"backend-throttled", StepInit, Transient, "Error refreshing state: Failed to get state: "},
		{"backend-unavailable", StepInit, Transient, "Error refreshing state: Failed to get state: "},
		{"module-answer", StepInit, Transient, "Invalid response from remote module registry: "},
		{"module-interrupted", StepInit, Transient, "Module installation canceled: "},
		{"module-unavailable", StepInit, Transient, "Error accessing remote module registry: "},
		{"provider-unavailable", StepInit, Transient, "Failed to resolve provider packages: "},
		{"backend-down", StepInit, Transient, "Error refreshing state: "},
		{"registry-module", StepInit, Transient, "Error accessing remote module registry: "},
		{"registry-provider", StepInit, Transient, "Failed to resolve provider packages: "},
		{"remote-module", StepInit, Transient, "Failed to download module: "},
		{"count", StepPlan, ConfigurationError, "Invalid count argument: "},
		{"cycle", StepPlan, ConfigurationError, "Cycle: terraform_data."},
		{"function", StepPlan, ConfigurationError, "Invalid function argument: "},
		{"missing-variable", StepPlan, ConfigurationError,
			`No value for required variable: The root module input variable "need" is not set, and has no default value. ` +
				"Set it in spec.variables of the Stack, or set a default in the code. (main.tf:1)"},
		{"precondition", StepPlan, ConfigurationError, "Resource precondition failed: no way (main.tf:5)"},
		{"prevent-destroy", StepPlan, ConfigurationError, "Resource instance cannot be destroyed: "},
		{"sensitive-output", StepPlan, ConfigurationError, "Output refers to sensitive values: "},
		{"undeclared-resource", StepPlan, ConfigurationError, "Reference to undeclared resource: "},
		{"undeclared-variable", StepPlan, ConfigurationError, "Reference to undeclared input variable: "},
		{"unknown-argument", StepPlan, ConfigurationError, "Unsupported argument: "},
		{"unknown-attribute", StepPlan, ConfigurationError, "Unsupported attribute: "},
		{"variable-validation", StepPlan, ConfigurationError, "Invalid value for variable: must be more than ten "},
		{"wrong-type", StepPlan, ConfigurationError, "Invalid value for input variable: "},
		{"option-target", StepPlan, ConfigurationError,
			`Invalid target "terraform_data.a[": Index brackets must contain`},
		{"option-exclude", StepPlan, ConfigurationError,
			`Invalid exclude "terraform_data": Resource specification must include`},
		{"option-replace", StepPlan, ConfigurationError,
			`Invalid force-replace address "module.m": A resource instance address is required here.`},
		{"option-unknown", StepPlan, ConfigurationError, "Failed to parse command-line flags: flag provided but not " +
			"defined: -nonsense"},
		{"no-code", StepPlan, ConfigurationError, "No configuration files: "},
		{"no-init", StepPlan, ConfigurationError, "Inconsistent dependency lock file: "},
		{"provider-config", StepPlan, Transient, "No valid credential sources found: "},
		{"provider-crash", StepPlan, Transient, "Plugin did not respond: "},
		{"provider-network", StepPlan, Transient, "reading things: Get "},
		{"provider-throttled", StepPlan, Transient, "reading things: operation error EC2: DescribeVpcs, https " +
			"response error StatusCode: 503, api error RequestLimitExceeded"},
		{"postcondition-plan", StepPlan, Transient, "Resource postcondition failed: no way "},
		{"remote-state-down", StepPlan, Transient, "Failed to get state: GET http://127.0.0.1:1/x giving up"},
		{"remote-state-missing", StepPlan, Transient, "data.terraform_remote_state.x: Unable to read remote state"},
		{"local-exec", StepApply, Transient, "local-exec provisioner error: Error running command 'echo boo; exit " +
			"3': exit status 3. Output: boo (terraform_data.x, main.tf:3)"},
		{"half", StepApply, Transient, "local-exec provisioner error: "},
		{"lock-held", StepApply, Transient, "Error acquiring the state lock: Error message: HTTP remote state " +
			"already locked: ID=8d4f5661"},
		{"lock-unavailable", StepApply, Transient, "Error acquiring the state lock: Error message: Failed to lock: "},
		{"postcondition", StepApply, Transient, "Resource postcondition failed: no way "},
		{"provider-crash-apply", StepApply, Transient, "Plugin did not respond: "},
		{"provider-quota", StepApply, Transient, "creating a thing: api error LimitExceeded: "},
		{"state-unwritten", StepApply, Transient, "Failed to save state: "},
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

// TestEachRuleMatchesARecordedFailure checks that each rule matches a recorded failure of OpenTofu or of Terraform.
func TestEachRuleMatchesARecordedFailure(t *testing.T) {
	used := map[rule]bool{}
	use := func(step Step, errors []Diagnostic) {
		first := FirstError(errors)
		if first == nil || step == StepApply {
			return
		}
		if i := slices.IndexFunc(rules, func(r rule) bool { return r.fits(*first) }); i >= 0 {
			used[rules[i]] = true
		}
	}
	files, _ := filepath.Glob("testdata/*.tf")
	for _, file := range files {
		r, events := load(t, strings.TrimSuffix(filepath.Base(file), ".tf"))
		use(r.Step, events.Errors)
	}
	for _, name := range slices.Concat(terraformCode, newTerraformCode) {
		r, events, _ := readRecording(t, terraforms[0], name)
		use(r.Step, events.Errors)
	}
	for _, rule := range rules {
		if !used[rule] {
			t.Errorf("no recording has %q with %q", rule.summary, rule.detail)
		}
	}
}

// TestRulesAreDocumented checks that docs/troubleshooting/failures.md has each rule, in the same order.
func TestRulesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&want, "| %s | %s | %s |\n", strings.TrimSpace(r.summary), r.detail, r.class)
	}
	table := strings.ReplaceAll(want.String(), "|  |", "| |")
	if !strings.Contains(string(text), "|---|---|---|\n"+table+"\n") {
		t.Errorf("docs/troubleshooting/failures.md does not have this table:\n%s", table)
	}
}

// TestWarningsAreNoFailures checks a check block that fails, and a value for a variable that is not declared.
func TestWarningsAreNoFailures(t *testing.T) {
	for _, name := range []string{"checks", "undeclared-value"} {
		if r, events := load(t, name); r.ExitCode != PlanChanges || len(events.Errors) > 0 ||
			!strings.Contains(r.Events, `"severity":"warning"`) {
			t.Errorf("%s: exit code %d, %v", name, r.ExitCode, events.Errors)
		}
		if r, events, _ := readRecording(t, terraforms[0], name); r.ExitCode != PlanChanges || len(events.Errors) > 0 {
			t.Errorf("%s of Terraform: exit code %d, %v", name, r.ExitCode, events.Errors)
		}
	}
}

func TestValueWithoutAVariableIsAWarning(t *testing.T) {
	want := []Undeclared{{Variable: "unknown", File: "a.tfvars"}}
	_, events := load(t, "undeclared-value")
	if diff := cmp.Diff(want, events.Undeclared); diff != "" {
		t.Error(diff)
	}
	if _, events, _ := readRecording(t, terraforms[0], "undeclared-value"); !cmp.Equal(want, events.Undeclared) {
		t.Errorf("Terraform: %v", events.Undeclared)
	}
}

func TestClassifyByExitCode(t *testing.T) {
	configurationError := []Diagnostic{{Severity: "error", Summary: "Invalid expression",
		Range: &Range{Filename: "main.tf"}}}
	for _, test := range []struct {
		name     string
		step     Step
		code     int
		reported []Diagnostic
		want     Class
	}{
		{"found a mistake", StepPlan, 1, configurationError, ConfigurationError},
		{"reports the error during the apply", StepApply, 1, configurationError, Transient},
		{"reports no error", StepPlan, 1, nil, Transient},
		{"reports an error and exits with 0, as Terragrunt may", StepPlan, 0, configurationError, Transient},
		{"exits with an unknown code", StepPlan, 2, configurationError, Transient},
		{"crashed", StepInit, 11, configurationError, Transient},
		{"was interrupted", StepInit, 130, configurationError, Transient},
		{"was killed, such as for its memory", StepInit, 137, configurationError, Transient},
		{"was terminated", StepPlan, 143, configurationError, Transient},
		{"has no exit code", StepPlan, -1, configurationError, Transient},
	} {
		if got := Classify(test.step, test.code, test.reported); got != test.want {
			t.Errorf("an engine that %s: %s", test.name, got)
		}
	}
}

func TestFirstErrorIsTheCause(t *testing.T) {
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

// A Run plans all of the code, so that such an advice leads nowhere.
func TestAdviceToSelectAPartOfTheCodeIsLeftOut(t *testing.T) {
	for _, test := range []struct{ detail, want string }{
		{
			"Resource instance terraform_data.x has prevent_destroy set, but the plan calls for it to be " +
				"destroyed.\n\nTo proceed, either disable prevent_destroy for this resource or exclude instances of " +
				"this resource from this round using:\n    -exclude=\"terraform_data.x\"",
			"S: Resource instance terraform_data.x has prevent_destroy set, but the plan calls for it to be destroyed",
		},
		{
			"The count depends on a. To work around this, use the -target option to first apply only the resources " +
				"that the count depends on. Or else.",
			"S: The count depends on a. Or else",
		},
		{"The file on-target-x.tf is wrong.", "S: The file on-target-x.tf is wrong."},
	} {
		if got := (Diagnostic{Severity: "error", Summary: "S", Detail: test.detail}).String(); got != test.want {
			t.Errorf("%s", got)
		}
	}
	for _, name := range []string{"prevent-destroy"} {
		_, events := load(t, name)
		first := FirstError(events.Errors)
		if !first.PreventsDestroy() || !first.AdvisesSelection() || strings.Contains(first.String(), "exclude") {
			t.Errorf("%s", first)
		}
	}
}
