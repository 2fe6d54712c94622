package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// ci runs .ci/run on a machine that has all packages, with a make that fails for the targets of failing, and returns
// what it prints and the calls of make.
func ci(t *testing.T, scheduled bool, failing string, args ...string) (printed string, calls []string, err error) {
	t.Helper()
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	for name, script := range map[string]string{
		"dpkg-query": "printf installed",
		"node":       "",
		"make":       `echo "$*" >>"$LOG"; [[ -z "$FAILING" || " $* " != *" $FAILING "* ]]`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("../../.ci/run"); err != nil { // go test does not see what bash reads
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"../../.ci/run"}, args...)...)
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PATH="+path, "LOG="+log, "FAILING="+failing, "CI_SCHEDULED=")
	if scheduled {
		cmd.Env = append(cmd.Env, "CI_SCHEDULED=1")
	}
	out, err := cmd.CombinedOutput()
	made, _ := os.ReadFile(log) // none without a call
	for line := range strings.Lines(string(made)) {
		if !strings.HasPrefix(line, "--version") {
			calls = append(calls, strings.TrimSpace(line))
		}
	}
	return string(out), calls, err
}

// stages are those that .ci/run lists.
func stages(t *testing.T, scheduled bool) (all []string) {
	t.Helper()
	out, _, err := ci(t, scheduled, "", "--list")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return all
}

func TestStagesOfCI(t *testing.T) {
	daily := stages(t, false)
	for _, scheduled := range []bool{false, true} {
		var each []string
		for _, stage := range stages(t, scheduled) {
			out, calls, err := ci(t, scheduled, "", stage)
			if err != nil || len(calls) == 0 {
				t.Errorf("stage %s: %v, calls of make: %q\n%s", stage, err, calls, out)
			}
			each = append(each, calls...)
		}
		out, calls, err := ci(t, scheduled, "")
		if err != nil || len(calls) != len(each) {
			t.Errorf("all stages: %v, calls of make: %q, want %q\n%s", err, calls, each, out)
		}
		if scheduled != (len(each) > len(daily)+1) {
			t.Errorf("scheduled %v: %q", scheduled, each)
		}
	}
}

func TestCINamesStagesThatFail(t *testing.T) {
	for _, failing := range []string{"docs", "lint", "e2e"} {
		out, calls, err := ci(t, false, failing)
		stage := map[string]string{"docs": "node"}[failing]
		if stage == "" {
			stage = failing
		}
		if err == nil || !strings.HasSuffix(out, " FAILED: "+stage+"; \n") || !slices.Contains(calls, "e2e") {
			t.Errorf("%s fails: %v, calls of make: %q\n%s", failing, err, calls, out)
		}
	}
	out, calls, err := ci(t, false, "", "tests")
	if err == nil || !strings.Contains(out, "no stage is called tests") || calls != nil {
		t.Errorf("%v, calls of make: %q\n%s", err, calls, out)
	}
}

// The workflow has no list of its own: each stage that .ci/run lists is a job.
func TestWorkflowRunsEachStage(t *testing.T) {
	data, err := os.ReadFile("../../.github/workflows/ci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		ID, Run, Uses string
		With          map[string]any
	}
	var workflow struct {
		On          map[string]any
		Env         map[string]string
		Permissions map[string]string
		Jobs        map[string]struct {
			Permissions map[string]string
			Outputs     map[string]string
			Needs       string
			Strategy    struct{ Matrix map[string]string }
			Steps       []step
		}
	}
	// "on" is a string in YAML 1.2, and a boolean in the version that this package reads.
	text := strings.Replace(string(data), "\non:\n", "\n\"on\":\n", 1)
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	list, stage := workflow.Jobs["stages"], workflow.Jobs["stage"]
	if len(list.Steps) == 0 || list.Outputs["stages"] != "${{ steps.list.outputs.stages }}" {
		t.Fatalf("the job stages has %+v", list)
	}
	if last := list.Steps[len(list.Steps)-1]; last.ID != "list" ||
		!strings.Contains(last.Run, "$(bash .ci/run --list)") {
		t.Errorf("the list of stages is of %+v", last)
	}
	if stage.Needs != "stages" || stage.Strategy.Matrix["stage"] != "${{ fromJSON(needs.stages.outputs.stages) }}" {
		t.Errorf("the jobs are %+v", stage.Strategy.Matrix)
	}
	if last := stage.Steps[len(stage.Steps)-1]; last.Run != "bash .ci/run ${{ matrix.stage }}" {
		t.Errorf("a job runs %q", last.Run)
	}
	const scheduled = "${{ github.event_name == 'schedule' && '1' || '' }}"
	if workflow.Env["CI_SCHEDULED"] != scheduled || workflow.On["schedule"] == nil {
		t.Errorf("what takes longer is never run: %+v %+v", workflow.Env, workflow.On)
	}
	if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" || len(workflow.Jobs) != 2 {
		t.Errorf("permissions %v of %d jobs", workflow.Permissions, len(workflow.Jobs))
	}
	for name, job := range workflow.Jobs {
		if job.Permissions != nil {
			t.Errorf("job %s has permissions of its own: %v", name, job.Permissions)
		}
		for _, s := range job.Steps {
			if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
				t.Errorf("job %s keeps credentials in the checkout", name)
			}
		}
	}
}
