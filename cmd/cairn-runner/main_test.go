package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/runner/attempt"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestCommands(t *testing.T) {
	var out bytes.Buffer
	if err := command([]string{"version"}, &out); err != nil || out.String() != version.Version+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	for _, args := range [][]string{nil, {"help"}, {"copy"}, {"version", "x"}, {"run"},
		{"run", "--server=x", "--token=x", "--work=x", "--inputs=x", "more"}} {
		if err := command(args, &out); err == nil || !strings.Contains(err.Error(), "usage:") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := command([]string{"run", "--server=http://x", "--token=x", "--work=x", "--inputs=x"}, &out); err == nil ||
		!strings.Contains(err.Error(), "not https") {
		t.Errorf("%v", err)
	}
}

func TestExitCode(t *testing.T) {
	if got := exitCode(fmt.Errorf("report: %w", errors.Join(attempt.ErrStranded, errors.New("away")))); got !=
		runnerapi.ExitStranded {
		t.Errorf("stranded: %d", got)
	}
	if got := exitCode(errors.New("away")); got != 1 {
		t.Errorf("otherwise: %d", got)
	}
}

// TestCopy copies a real build of this program, from the copy again too.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "first")
	if out, err := exec.Command("go", "build", "-o", first, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	other := filepath.Join(dir, "other")
	for _, dest := range []string{other, other, first} {
		if out, err := exec.Command(first, "copy", dest).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := exec.Command(other, "version").Output(); err != nil || string(out) != version.Version+"\n" {
		t.Errorf("%q, %v", out, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := copyFile(first, filepath.Join(dir, "copied")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "copied")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if err := copySelf(filepath.Join(dir, "missing", "x")); err == nil {
		t.Error("copied into a folder that is not there")
	}
}
