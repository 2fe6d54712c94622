package engine

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	record    = flag.Bool("record", false, "run the real engine over testdata/*.tf and write what it says beside them")
	terraform = flag.String("terraform", "", "record this Terraform, not OpenTofu")
)

// recorded is what the real engine said about a file of code.
type recorded struct {
	Step     Step
	ExitCode int
	Events   string `json:",omitempty"`
	// Text is what it printed; only of Terraform, whose events are in it.
	Text string `json:",omitempty"`
}

// TestRecord runs the real engine over every testdata/*.tf, up to the first step that fails or to a plan, and keeps the
// events of the last step. It does so only with -record; other tests read what it kept.
func TestRecord(t *testing.T) {
	if !*record || *terraform != "" {
		t.Skip("only with -record, without -terraform")
	}
	files, _ := filepath.Glob("testdata/*.tf")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".tf")
		t.Run(name, func(t *testing.T) {
			last := run(t, OpenTofu{}, binary(t), file)
			data, err := json.MarshalIndent(last, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("testdata/"+name+".json", append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRecordTerraform does the same with a Terraform, and keeps all that it says in one file with its version.
func TestRecordTerraform(t *testing.T) {
	if !*record || *terraform == "" {
		t.Skip("only with -record and -terraform=PROGRAM")
	}
	all := map[string]recorded{}
	for _, name := range terraformCode {
		all[name] = run(t, Terraform{}, *terraform, "testdata/"+name+".tf")
	}
	events, err := ReadEvents(strings.NewReader(all["plan-create"].Text))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/terraform-"+events.Version+".json", append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a file of code. Comments at its beginning say how: "# files: NAME=TEXT", "# before: CODE" is applied first
// in the same place, "# apply" applies the plan too, "# destroy" plans a destroy.
func run(t *testing.T, engine Engine, program, file string) recorded {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "code")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	var files []string
	var apply, destroy bool
	var before string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# file: "):
			name, content, _ := strings.Cut(strings.TrimPrefix(line, "# file: "), "=")
			os.WriteFile(filepath.Join(dir, name), []byte(content+"\n"), 0o644)
			files = append(files, filepath.Join("..", name))
		case strings.HasPrefix(line, "# before: "):
			before += strings.TrimPrefix(line, "# before: ") + "\n"
		case line == "# apply":
			apply = true
		case line == "# destroy":
			destroy = true
		}
	}
	events := filepath.Join(dir, "events")
	plan := filepath.Join(dir, "plan")
	step := func(step Step, args []string) recorded {
		os.Remove(events)
		cmd := exec.Command(program, args...)
		cmd.Dir = work
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
		out, _ := cmd.CombinedOutput()
		data, _ := os.ReadFile(events)
		t.Logf("%s %d\n%s", step, cmd.ProcessState.ExitCode(), out)
		said := recorded{Step: step, ExitCode: cmd.ProcessState.ExitCode()}
		said.Events = strings.ReplaceAll(string(data), dir, "/work")
		if _, ok := engine.(Terraform); ok {
			said.Text = strings.ReplaceAll(string(out), dir, "/work")
		}
		return said
	}
	code := func(text string) {
		if err := os.WriteFile(filepath.Join(work, "main.tf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if before != "" {
		code(before)
		step(StepInit, engine.Init(Init{Events: events}))
		step(StepPlan, engine.Plan(Plan{Events: events, Out: plan}))
		step(StepApply, engine.Apply(Apply{Events: events, Plan: plan}))
	}
	code(string(text))
	last := step(StepInit, engine.Init(Init{Events: events, VariableFiles: files}))
	if last.ExitCode != 0 {
		return last
	}
	last = step(StepPlan, engine.Plan(Plan{Events: events, VariableFiles: files, Out: plan, Destroy: destroy}))
	if apply && last.ExitCode == PlanChanges {
		last = step(StepApply, engine.Apply(Apply{Events: events, VariableFiles: files, Plan: plan}))
	}
	return last
}

func binary(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CAIRN_BIN")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "cairn", "bin")
	}
	path := filepath.Join(dir, OpenTofu{}.Program())
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make tools first", err)
	}
	return path
}
