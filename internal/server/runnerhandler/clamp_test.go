package runnerhandler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

func TestClampKeepsAValidReport(t *testing.T) {
	code, changed := int32(1), int32(7)
	honest := runnerapi.Report{
		Steps: []runnerapi.Step{
			{Name: "init", State: "Succeeded"}, {Name: "plan", State: "Failed", ExitCode: &code,
				Message: "Error: größe is not declared"},
			{Name: "after-plan-2", State: "Skipped", Message: "plan failed"}, {Name: "apply", State: "Waiting"},
			{Name: "outputs", State: "Running"},
		},
		Done: &runnerapi.Done{
			Failure: &runnerapi.Failure{Class: "ConfigurationError", Reason: "BackendInCode", Message: "no"},
			Plan: &runnerapi.Plan{Digest: "sha256:1", Changes: true, Add: 3, Resources: []runnerapi.ResourceChange{
				{Address: `module.net["ä"].x.y`, Action: "create"}}},
			Outputs: map[string]json.RawMessage{"id": json.RawMessage(`"vpc-1"`)},
			Changed: &changed,
		},
	}
	if diff := cmp.Diff(honest, Clamp(honest)); diff != "" {
		t.Fatal(diff)
	}
	for _, class := range []string{"Transient", "ConfigurationError", "PolicyDenied", "Canceled", "StateNotSaved"} {
		if got := clampFailure(&runnerapi.Failure{Class: class}).Class; got != class {
			t.Errorf("class %s becomes %s", class, got)
		}
	}
}

// All steps of an attempt with every hook that a Stack may have are reported.
func TestClampKeepsTheMostStepsOfAnAttempt(t *testing.T) {
	const hooks, plain = 50, 7
	if maxSteps < hooks+plain {
		t.Errorf("%d steps are kept of %d", maxSteps, hooks+plain)
	}
}

func TestClampBoundsAHostileReport(t *testing.T) {
	long := strings.Repeat("\xff\n\u2028ä", 1<<20)
	hostile := runnerapi.Report{Done: &runnerapi.Done{
		Failure: &runnerapi.Failure{Class: "PodLost", Reason: long, Message: long},
		Plan:    &runnerapi.Plan{Add: -5},
		Changed: new(int32),
		Outputs: map[string]json.RawMessage{long: json.RawMessage(`1`), "bad": json.RawMessage("\"\xff\""),
			"empty": nil},
	}}
	for i := range 10_000 {
		hostile.Steps = append(hostile.Steps, runnerapi.Step{Name: long, State: long, Message: long})
		hostile.Done.Plan.Differences = append(hostile.Done.Plan.Differences,
			runnerapi.Difference{Address: "a.b", Action: "update"})
		hostile.Done.Plan.Resources = append(hostile.Done.Plan.Resources,
			runnerapi.ResourceChange{Address: long, Action: long})
		hostile.Done.Outputs[fmt.Sprint("o", i)] = json.RawMessage(`"` + strings.Repeat("x", 1+i%2*2000) + `"`)
	}
	*hostile.Done.Changed = -7
	got := Clamp(hostile)
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Done.Plan.Differences != nil {
		t.Error("differences that a pod reports stay")
	}
	if *got.Done.Changed != 0 || *hostile.Done.Changed != -7 {
		t.Errorf("%d resources were changed", *got.Done.Changed)
	}
	said := 0
	for _, step := range got.Steps {
		said += len(step.Message)
	}
	if said > maxMessages || said < maxMessages/2 {
		t.Errorf("the steps have %d bytes of messages", said)
	}
	if len(data) > 300<<10 || !utf8.Valid(data) {
		t.Errorf("%d bytes, valid %v", len(data), utf8.Valid(data))
	}
	if len(got.Steps) != maxSteps || len(got.Done.Plan.Resources) != maxResources ||
		len(got.Done.Outputs) != maxOutputs {
		t.Errorf("%d steps, %d resources, %d outputs", len(got.Steps), len(got.Done.Plan.Resources),
			len(got.Done.Outputs))
	}
	if s := got.Steps[0]; s.State != "Running" || strings.ContainsAny(s.Message, "\n\u2028") ||
		len(s.Message) > maxMessage {
		t.Errorf("step %+v", s)
	}
	if f := got.Done.Failure; f.Class != "Transient" || f.Reason != "" || got.Done.Plan.Add != 0 {
		t.Errorf("failure %q, add %d", f.Class, got.Done.Plan.Add)
	}
	for name, value := range got.Done.Outputs {
		if len(value) > maxOutput || len(name) > maxKey || !json.Valid(value) {
			t.Errorf("output %.40q: %.40q", name, value)
		}
	}
}
