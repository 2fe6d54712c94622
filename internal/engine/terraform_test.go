package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// terraformCode are the files of testdata that were recorded with Terraform too.
var terraformCode = []string{
	"backend-type", "duplicate", "local-module", "registry-module", "registry-provider", "remote-module",
	"required-version", "syntax", "variable-file-syntax",
	"count", "cycle", "missing-variable", "plan-create", "plan-destroy", "plan-moves", "plan-nothing", "plan-outputs",
	"postcondition-plan", "precondition", "prevent-destroy", "remote-state-down", "unknown-argument", "wrong-type",
	"apply-replace", "local-exec", "postcondition",
}

// newTerraformCode was recorded with the first version of terraforms only.
var newTerraformCode = []string{
	"backend-argument", "backend-forbidden", "backend-throttled", "backend-unavailable", "checks", "half", "lock-held",
	"lock-unavailable", "module-answer", "module-interrupted", "module-unavailable", "no-code", "no-init",
	"option-replace", "option-target", "option-unknown", "provider-built-in", "provider-checksum", "provider-config",
	"provider-crash",
	"provider-crash-apply", "provider-locked", "provider-lock-file", "provider-network", "provider-quota",
	"provider-throttled", "provider-unavailable", "provider-unheard-of", "provider-unknown", "provider-version",
	"state-unwritten", "undeclared-value",
}

// terraforms are the versions: the last one that is free software, and one whose init can write events.
var terraforms = []string{"1.5.7", "1.13.5"}

// recordedWith returns the versions of Terraform that a file of testdata was recorded with.
func recordedWith(name string) []string {
	if slices.Contains(newTerraformCode, name) {
		return terraforms[:1]
	}
	return terraforms
}

// readRecording returns the recorded output of Terraform: its events, or the errors in its text, and the text for
// users.
func readRecording(t *testing.T, version, name string) (recorded, Events, string) {
	t.Helper()
	data, err := os.ReadFile("testdata/terraform-" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]recorded
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	r := all[name]
	if r.Text == "" {
		t.Fatalf("%s is not recorded", name)
	}
	if !Terraform.PrintsEvents(r.Step) {
		return r, Events{Errors: ReadErrors(r.Text)}, r.Text
	}
	var text strings.Builder
	listener := NewListener(&text)
	for part := []byte(r.Text); len(part) > 0; part = part[min(7, len(part)):] { // as pipes do, not line by line
		if n, err := listener.Write(part[:min(7, len(part))]); err != nil || n != min(7, len(part)) {
			t.Fatal(n, err)
		}
	}
	events, err := listener.Close()
	if err != nil {
		t.Fatal(err)
	}
	if events.Version != version {
		t.Errorf("%s has the version %q", name, events.Version)
	}
	return r, events, text.String()
}

func TestClassifyTerraform(t *testing.T) {
	for _, test := range []struct {
		name    string
		step    Step
		class   Class
		message string
	}{
		{"backend-type", StepInit, ConfigurationError, "Unsupported backend type: There is no backend type named"},
		{"duplicate", StepInit, ConfigurationError, "Duplicate variable declaration: A variable named"},
		{"local-module", StepInit, ConfigurationError, "Unreadable module directory: "},
		{"required-version", StepInit, ConfigurationError, "Unsupported Terraform Core version: "},
		{"syntax", StepInit, ConfigurationError, "Invalid expression: Expected the start of an expression, but found " +
			"an invalid expression token. (main.tf:2)"},
		{"registry-module", StepInit, Transient, "Error accessing remote module registry: "},
		{"registry-provider", StepInit, Transient, "Failed to query available provider packages: "},
		{"remote-module", StepInit, Transient, "Failed to download module: "},
		{"count", StepPlan, ConfigurationError, "Invalid count argument: "},
		{"cycle", StepPlan, ConfigurationError, "Cycle: terraform_data."},
		{"missing-variable", StepPlan, ConfigurationError,
			`No value for required variable: The root module input variable "need" is not set, and has no default value. ` +
				"Set it in spec.variables of the Stack, or set a default in the code. (main.tf:1)"},
		{"precondition", StepPlan, ConfigurationError, "Resource precondition failed: no way (main.tf:5)"},
		{"prevent-destroy", StepPlan, ConfigurationError, "Instance cannot be destroyed: "},
		{"unknown-argument", StepPlan, ConfigurationError, "Unsupported argument: "},
		{"wrong-type", StepPlan, ConfigurationError, "Invalid value for input variable: "},
		{"postcondition-plan", StepPlan, Transient, "Resource postcondition failed: no way "},
		{"remote-state-down", StepPlan, Transient, "Failed to get state: "},
		{"local-exec", StepApply, Transient, "local-exec provisioner error: Error running command 'echo boo; exit " +
			"3': exit status 3. Output: boo (terraform_data.x, main.tf:3)"},
		{"postcondition", StepApply, Transient, "Resource postcondition failed: no way "},
		{"backend-argument", StepInit, ConfigurationError, "Invalid backend configuration argument: "},
		{"provider-built-in", StepInit, ConfigurationError, "Invalid dependency on built-in provider: "},
		{"provider-checksum", StepInit, ConfigurationError, "Failed to install provider: "},
		{"provider-lock-file", StepInit, ConfigurationError, "Provider dependency changes detected: "},
		{"provider-locked", StepInit, ConfigurationError, "Failed to query available provider packages: "},
		{"provider-unheard-of", StepInit, ConfigurationError, "Failed to query available provider packages: "},
		{"provider-unknown", StepInit, ConfigurationError, "Failed to query available provider packages: "},
		{"provider-version", StepInit, ConfigurationError, "Failed to query available provider packages: "},
		{"module-answer", StepInit, Transient, "Invalid response from remote module registry: "},
		{"module-interrupted", StepInit, Transient, "Failed to download module: "},
		{"module-unavailable", StepInit, Transient, "Error accessing remote module registry: "},
		{"provider-unavailable", StepInit, Transient, "Failed to query available provider packages: "},
		{"option-target", StepPlan, ConfigurationError,
			`Invalid target "terraform_data.a[": Index brackets must contain`},
		{"option-replace", StepPlan, ConfigurationError,
			`Invalid force-replace address "module.m": A resource instance address is required here.`},
		{"option-unknown", StepPlan, ConfigurationError, "Failed to parse command-line flags: flag provided but not " +
			"defined: -nonsense"},
		{"no-code", StepPlan, ConfigurationError, "No configuration files: "},
		{"no-init", StepPlan, ConfigurationError, "Inconsistent dependency lock file: "},
		{"provider-config", StepPlan, Transient, "No valid credential sources found: "},
		{"provider-network", StepPlan, Transient, "reading things: Get "},
		{"provider-throttled", StepPlan, Transient, "reading things: operation error EC2: "},
		{"half", StepApply, Transient, "local-exec provisioner error: "},
		{"lock-held", StepApply, Transient, "Error acquiring the state lock: "},
		{"lock-unavailable", StepApply, Transient, "Error acquiring the state lock: "},
		{"provider-crash-apply", StepApply, Transient, "Plugin did not respond: "},
		{"provider-quota", StepApply, Transient, "creating a thing: api error LimitExceeded: "},
		{"state-unwritten", StepApply, Transient, "Failed to save state: "},
	} {
		for _, version := range recordedWith(test.name) {
			t.Run(test.name+" "+version, func(t *testing.T) {
				r, events, text := readRecording(t, version, test.name)
				if r.Step != test.step || r.ExitCode != 1 {
					t.Fatalf("recorded is %s with exit code %d", r.Step, r.ExitCode)
				}
				if got := Classify(r.Step, r.ExitCode, events.Errors); got != test.class {
					t.Errorf("got %s, want %s", got, test.class)
				}
				first := FirstError(events.Errors)
				if first == nil || !strings.HasPrefix(first.String(), test.message) {
					t.Fatalf("got %v, want %q", first, test.message)
				}
				if !strings.Contains(text, "Error: "+first.Summary) {
					t.Errorf("the text lacks the message:\n%s", text)
				}
			})
		}
	}
}

func TestPlansOfTerraform(t *testing.T) {
	for _, test := range []struct {
		name    string
		exit    int
		changes Changes
	}{
		{"plan-nothing", 0, nil},
		{"plan-outputs", 2, nil},
		{"plan-moves", 2, Changes{{Address: "terraform_data.b", Action: Move}}},
		{"plan-create", 2, Changes{{Address: "terraform_data.a", Action: Create},
			{Address: "terraform_data.b", Action: Create}}},
		{"plan-destroy", 2, Changes{{Address: "terraform_data.a", Action: Delete},
			{Address: "terraform_data.b", Action: Delete}}},
	} {
		for _, version := range terraforms {
			r, events, _ := readRecording(t, version, test.name)
			if r.ExitCode != test.exit || len(events.Errors) > 0 {
				t.Errorf("%s %s: exit code %d, %v", test.name, version, r.ExitCode, events.Errors)
			}
			if diff := cmp.Diff(test.changes, events.Changes); diff != "" {
				t.Errorf("%s %s: %s", test.name, version, diff)
			}
		}
	}
}

func TestTextOfATerraformApply(t *testing.T) {
	for _, version := range terraforms {
		_, events, text := readRecording(t, version, "apply-replace")
		if events.Done == nil || events.Done.String() != "2 added, 1 destroyed" {
			t.Errorf("%s: %+v", version, events.Done)
		}
		for _, want := range []string{"Terraform " + version + "\n", "terraform_data.b: Creating...\n",
			"terraform_data.a: Destruction complete after 0s\n",
			"\nApply complete! Resources: 2 added, 0 changed, 1 destroyed.\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", version, want, text)
			}
		}
		if strings.Contains(text, "{") {
			t.Errorf("%s: there are events in\n%s", version, text)
		}
	}
}

func TestChangesOfATerraformApply(t *testing.T) {
	for name, want := range map[string][]string{
		"apply-replace": {"terraform_data.a", "terraform_data.b"}, "half": {"terraform_data.a", "terraform_data.b"},
		"local-exec": nil,
	} {
		for _, version := range recordedWith(name) {
			_, events, _ := readRecording(t, version, name)
			if got := slices.Sorted(maps.Keys(events.Changed)); !slices.Equal(got, want) {
				t.Errorf("%s %s changed %v, want %v", name, version, got, want)
			}
		}
	}
}

// TestUnavailableBackendIsTransient checks Terraform, whose init reports no error for it.
func TestUnavailableBackendIsTransient(t *testing.T) {
	for _, name := range []string{"backend-forbidden", "backend-throttled", "backend-unavailable"} {
		r, events, text := readRecording(t, terraforms[0], name)
		if got := Classify(r.Step, r.ExitCode, events.Errors); got != Transient || r.ExitCode != 1 ||
			!strings.Contains(text, "Error refreshing state: ") {
			t.Errorf("%s: %s, exit code %d\n%s", name, got, r.ExitCode, text)
		}
	}
	// A crash of a provider is reported as a canceled request, or as one without a response.
	r, events, _ := readRecording(t, terraforms[0], "provider-crash")
	if got := Classify(r.Step, r.ExitCode, events.Errors); got != Transient || r.ExitCode != 1 ||
		len(events.Errors) == 0 {
		t.Errorf("%s, exit code %d, %v", got, r.ExitCode, events.Errors)
	}
}

func TestListenerPrintsAnErrorWithItsDetails(t *testing.T) {
	var text bytes.Buffer
	listener := NewListener(&text)
	for _, line := range []string{
		`{"@message":"Error: No such thing","type":"diagnostic","diagnostic":{"severity":"error","summary":"No such thing","detail":"Look\nelsewhere.","address":"a.b","range":{"filename":"main.tf","start":{"line":3}}}}` + "\n",
		"plain words\n",
		`{"some":"JSON of a provider"}` + "\n",
		strings.Repeat("x", longestEvent+1) + "\n",
		"\n",
		`{"@message":"cut off","type":"lo`,
	} {
		listener.Write([]byte(line))
	}
	events, err := listener.Close()
	if err != nil || len(events.Errors) != 1 {
		t.Fatalf("%+v, %v", events, err)
	}
	want := "\nError: No such thing\n\n  with a.b\n  on main.tf line 3\n\nLook\nelsewhere.\n\n" +
		"plain words\n{\"some\":\"JSON of a provider\"}\n(a line of the engine that is too long was left " +
		"out)\n\n{\"@message\":\"cut off\",\"type\":\"lo\n"
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestReadErrors(t *testing.T) {
	got := ReadErrors("Error: nothing is ours before a line begins with it? It is.\n\nWarning: Old\n\n  on a.tf line " +
		"1:\n\nno matter\n\nError: First\n\n  with module.m.a[\"x\"],\n  on m/main.tf line 12, in resource \"a\" " +
		"\"b\":\n  12:   x = 1\n\nIt is\nso.\n\n  - indeed\n\nError: Second\r\n")
	want := []Diagnostic{
		{Severity: "error", Summary: "nothing is ours before a line begins with it? It is."},
		{Severity: "error", Summary: "First", Detail: "It is so. - indeed", Address: `module.m.a["x"]`,
			Range: &Range{Filename: "m/main.tf", Start: Position{Line: 12}}},
		{Severity: "error", Summary: "Second"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := ReadErrors(strings.Repeat("Error: x\n", 100)); len(got) != mostErrors {
		t.Errorf("%d errors", len(got))
	}
	if got := ReadErrors("all is well\n  Error: within\n"); got != nil {
		t.Errorf("%v", got)
	}
}

func FuzzReadErrors(f *testing.F) {
	f.Add("Error: a\n\n  with b,\n  on c line 1:\n   1: d\n\ne\nWarning: f\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range ReadErrors(text) {
			_ = d.String()
		}
		Classify(StepInit, 1, ReadErrors(text))
	})
}

// FuzzListener checks that the result does not depend on the chunks of the output, and that lines which are no events
// are kept.
func FuzzListener(f *testing.F) {
	f.Add([]byte(`{"type":"version","terraform":"1.5.7"}`+"\nplain\n"), 3)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		var whole, cut bytes.Buffer
		one, two := NewListener(&whole), NewListener(&cut)
		one.Write(data)
		at = min(max(at, 0), len(data))
		two.Write(data[:at])
		two.Write(data[at:])
		a, _ := one.Close()
		b, _ := two.Close()
		if diff := cmp.Diff(a, b); diff != "" || whole.String() != cut.String() {
			t.Error(diff)
		}
	})
}
