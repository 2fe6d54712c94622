package engine

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"cairn.dev/cairn/dev/tools"
)

var (
	record    = flag.Bool("record", false, "run OpenTofu on testdata/*.tf and write its output beside them")
	terraform = flag.String("terraform", "", "record this Terraform, not OpenTofu")
)

// recorded is the output of an engine for a file of code.
type recorded struct {
	Step     Step
	ExitCode int
	Events   string `json:",omitempty"`
	// Text is the whole output of Terraform, which contains the events.
	Text string `json:",omitempty"`
}

// TestRecord runs OpenTofu on every testdata/*.tf, up to the first step that fails or to a plan, and stores the
// events of the last step. It does so only with -record. Other tests read the recordings.
func TestRecord(t *testing.T) {
	if !*record || *terraform != "" {
		t.Skip("not a test: writes the data of the others, which fail if it is missing. Use -record without -terraform")
	}
	files, _ := filepath.Glob("testdata/*.tf")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".tf")
		t.Run(name, func(t *testing.T) {
			last := run(t, OpenTofu, binary(t), file)
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

// TestRecordTerraform does the same with Terraform, and stores its whole output in one file with its version. With
// -run=TestRecordTerraform/NAME the rest of the file is kept.
func TestRecordTerraform(t *testing.T) {
	if !*record || *terraform == "" {
		t.Skip("not a test: writes the data of the others, which fail if it is missing. Use -record and " +
			"-terraform=PROGRAM")
	}
	out, err := exec.Command(*terraform, Terraform.Version()...).Output()
	if err != nil {
		t.Fatal(err)
	}
	version, err := ParseVersion(out)
	if err != nil {
		t.Fatal(err)
	}
	file := "testdata/terraform-" + version + ".json"
	all := map[string]recorded{}
	if data, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Concat(terraformCode, newTerraformCode) {
		t.Run(name, func(t *testing.T) { all[name] = run(t, Terraform, *terraform, "testdata/"+name+".tf") })
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// failingProvider builds the provider of testdata/provider and returns the CLI configuration for it.
func failingProvider(t *testing.T, dir string) string {
	t.Helper()
	mirror := filepath.Join(dir, "mirror")
	path := filepath.Join(mirror, "cairn.dev", "test", "failing", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH,
		"terraform-provider-failing_v1.0.0")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "testdata/provider"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := filepath.Join(dir, "cli.tfrc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return config
}

// answers is a server that answers each method with a status and a text, such as "GET 503 later"; others with 404. "GET
// interrupt" interrupts the engine that asks.
func answers(t *testing.T, lines []string, engine func() *os.Process) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, line := range lines {
			method, rest, _ := strings.Cut(line, " ")
			status, text, _ := strings.Cut(rest, " ")
			if method == r.Method && status == "interrupt" {
				engine().Signal(os.Interrupt)
				<-r.Context().Done()
				return
			}
			if code, err := strconv.Atoi(status); err == nil && method == r.Method {
				w.WriteHeader(code)
				io.WriteString(w, text)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	return server
}

// run runs a file of code. Comments at its start are options: "# file: NAME=TEXT" is a variable file, "# beside:
// NAME=LINE" is a line of a file beside the code, "# link: NAME=TARGET" is a symlink, "# before: CODE" is applied first
// in the same folder, "# apply" applies the plan too, "# destroy" plans a destroy, "# init: ARGUMENT" is an argument of
// init, "# plan: ARGUMENT" one of plan, "# no init" skips init, "# no code" omits the file itself, "# answer: METHOD
// STATUS TEXT" is the response of a server whose address replaces SERVER, which is also the registry registry.test, and
// "# provider" installs the provider of testdata/provider.
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
	var files, output []string
	var apply, destroy, none, noInit, registry bool
	var more, planOptions []string
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
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
		case strings.HasPrefix(line, "# beside: "):
			name, content, _ := strings.Cut(strings.TrimPrefix(line, "# beside: "), "=")
			progress, _ := os.ReadFile(filepath.Join(work, name))
			os.WriteFile(filepath.Join(work, name), append(progress, content+"\n"...), 0o644)
		case strings.HasPrefix(line, "# link: "):
			name, target, _ := strings.Cut(strings.TrimPrefix(line, "# link: "), "=")
			os.MkdirAll(filepath.Join(work, filepath.Dir(name)), 0o755)
			os.Symlink(target, filepath.Join(work, name))
		case strings.HasPrefix(line, "# answer: "):
			output = append(output, strings.TrimPrefix(line, "# answer: "))
		case line == "# provider":
			env = append(env, "TF_CLI_CONFIG_FILE="+failingProvider(t, dir))
		case strings.HasPrefix(line, "# init: "):
			more = append(more, strings.TrimPrefix(line, "# init: "))
		case strings.HasPrefix(line, "# plan: "):
			planOptions = append(planOptions, strings.TrimPrefix(line, "# plan: "))
		case line == "# no init":
			noInit = true
		case line == "# registry":
			registry = true
		case line == "# no code":
			none = true
		case line == "# apply":
			apply = true
		case line == "# destroy":
			destroy = true
		}
	}
	var current atomic.Pointer[os.Process]
	server := answers(t, output, current.Load).URL
	if registry {
		config := filepath.Join(dir, "registry.tfrc")
		text := fmt.Sprintf("host \"registry.test\" {\n  services = {\n    \"modules.v1\" = \"%[1]s/\"\n    "+
			"\"providers.v1\" = \"%[1]s/\"\n  }\n}\n", server)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		env = append(env, "TF_CLI_CONFIG_FILE="+config, "TF_REGISTRY_DISCOVERY_RETRY=0")
	}
	events := filepath.Join(dir, "events")
	plan := filepath.Join(dir, "plan")
	host, _ := os.Hostname()
	anywhere := strings.NewReplacer(dir, "/work", server, "http://server", "@"+host, "@here")
	step := func(step Step, args []string) recorded {
		os.Remove(events)
		cmd := exec.Command(program, args...)
		cmd.Dir = work
		cmd.Env = env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		current.Store(cmd.Process)
		cmd.Wait()
		data, _ := os.ReadFile(events)
		t.Logf("%s %d\n%s", step, cmd.ProcessState.ExitCode(), out.String())
		output := recorded{Step: step, ExitCode: cmd.ProcessState.ExitCode()}
		output.Events = anywhere.Replace(string(data))
		if !engine.Traits.eventsToFile {
			output.Text = anywhere.Replace(out.String())
		}
		return output
	}
	code := func(text string) {
		if err := os.WriteFile(filepath.Join(work, "main.tf"), []byte(strings.ReplaceAll(text, "SERVER", server)),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	if before != "" {
		code(before)
		step(StepInit, engine.Args(Init{Events: events}))
		step(StepPlan, engine.Args(Plan{Events: events, Out: plan}))
		step(StepApply, engine.Args(Apply{Events: events, Plan: plan}))
	}
	if !none {
		code(string(text))
	}
	var last recorded
	if !noInit {
		last = step(StepInit, append(engine.Args(Init{Events: events, VariableFiles: files}), more...))
	}
	if last.ExitCode != 0 {
		return last
	}
	last = step(StepPlan, append(engine.Args(Plan{Events: events, VariableFiles: files, Out: plan, Destroy: destroy}),
		planOptions...))
	if apply && last.ExitCode == PlanChanges {
		last = step(StepApply, engine.Args(Apply{Events: events, VariableFiles: files, Plan: plan}))
	}
	return last
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := tools.Path(OpenTofu.Program())
	if err != nil {
		t.Fatal(err)
	}
	return path
}
