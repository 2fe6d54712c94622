package attempt

import (
	"os"
	"syscall"
	"testing"

	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestImageWithoutAShell(t *testing.T) {
	t.Parallel()
	err := cannotRun(hook{runnerapi.Hook{When: before, Script: "echo"}, "before-init"},
		&os.PathError{Op: "fork/exec", Path: process.Shell, Err: syscall.ENOENT})
	if want := "hook before-init cannot run: there is no /bin/sh in this image; let the script begin with #! and a " +
		"program that is"; err.Error() != want {
		t.Errorf("%v", err)
	}
}
