package plan

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cairn.dev/cairn/dev/tools"
)

var (
	record = flag.Bool("record", false, "run OpenTofu on testdata/*.txtar and write its output beside them")
	update = flag.Bool("update", false, "write the golden files")
)

// TestRecord plans every testdata/*.txtar with OpenTofu, after an apply of the files under before/ in it, and stores
// the plan in JSON. It does so only with -record. Other tests read the recordings.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("not a test: writes the data of the others, which fail if it is missing. Use -record")
	}
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			keep(t, "testdata/"+name+".json", planOf(t, file))
		})
	}
}

func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// planOf plans with OpenTofu.
func planOf(t *testing.T, file string) (json []byte) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	code := filepath.Join(home, "code")
	tofu := runEngine(t, home, code)
	for _, stage := range []string{"before/", ""} {
		if !write(t, code, stage, archive) {
			continue
		}
		tofu("init")
		if stage != "" {
			tofu("apply", "-auto-approve")
			continue
		}
		args := []string{"plan", "-out=plan"}
		if strings.HasPrefix(string(archive.Comment), "destroy\n") {
			args = append(args, "-destroy")
		}
		tofu(args...)
		json = tofu("show", "-json", "plan")
	}
	return json
}

// write replaces the files by those of a stage, and returns whether the stage has any.
func write(t *testing.T, dir, stage string, archive *txtar.Archive) bool {
	t.Helper()
	var names []string
	for _, f := range archive.Files {
		if stage == "" && strings.HasPrefix(f.Name, "before/") || !strings.HasPrefix(f.Name, stage) {
			continue
		}
		name := filepath.Join(dir, strings.TrimPrefix(f.Name, stage))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		keep(t, name, f.Data)
		names = append(names, name)
	}
	return len(names) > 0
}

// runEngine returns a function that runs OpenTofu with the only provider of the tests.
func runEngine(t *testing.T, home, dir string) func(args ...string) []byte {
	t.Helper()
	bin, err := tools.Dir()
	if err != nil {
		t.Fatal(err)
	}
	provider := filepath.Join(home, "mirror", "registry.opentofu.org", "hashicorp", "time", "0.14.2", runtime.GOOS+"_"+
		runtime.GOARCH)
	if err := os.MkdirAll(provider, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(bin, "terraform-provider-time"),
		filepath.Join(provider, "terraform-provider-time_v0.14.2")); err != nil {
		t.Fatalf("%v: run make tools first", err)
	}
	config := filepath.Join(home, "tofurc")
	keep(t, config, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n",
		filepath.Join(home, "mirror")))
	return func(args ...string) []byte {
		cmd := exec.Command(filepath.Join(bin, "tofu"), args...)
		if args[0] != "show" {
			cmd.Args = append(cmd.Args, "-no-color", "-input=false")
		}
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TF_CLI_CONFIG_FILE=" + config,
			"TF_IN_AUTOMATION=1"}
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && args[0] != "apply" { // one recording is of an apply that fails
			t.Fatalf("%s: %s%s", args, out, exit.Stderr)
		} else if err != nil && exit == nil {
			t.Fatal(err)
		}
		return out
	}
}
