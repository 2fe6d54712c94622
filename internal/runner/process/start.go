package process

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"cairn.dev/cairn/internal/engine"
)

// explainStart returns why a program cannot be started. Arguments and variables that are too long for the kernel are
// the same the next time.
func explainStart(name string, cmd *exec.Cmd, err error) error {
	if !errors.Is(err, syscall.E2BIG) {
		return err
	}
	total := 0
	for _, text := range slices.Concat(cmd.Args, cmd.Env) {
		total += len(text) + 1
	}
	largest := slices.MaxFunc(append(slices.Clone(cmd.Env), ""), func(a, b string) int {
		return cmp.Compare(len(a), len(b))
	})
	variable, value, _ := strings.Cut(largest, "=")
	return &engine.Rejection{Reason: fmt.Sprintf("%s cannot be started: its environment variables and arguments have "+
		"%d bytes, and Linux accepts 128 KiB for each and about 2 MiB for all; the largest variable is %s with %d "+
		"bytes: set large values with spec.variables or spec.variableFiles, and not with spec.env, spec.envFrom or "+
		"variables of hooks",
		name, total, variable, len(value))}
}
