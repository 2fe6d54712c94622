package runinfo

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// PodName of an attempt: deterministic, so that a second create of the same attempt fails with AlreadyExists.
func PodName(run string, phase v1alpha1.AttemptPhase, number int32) string {
	return fmt.Sprintf("%s-%s-%d", run, strings.ToLower(string(phase)), number)
}

// ShellCommand is what a user executes in the pod of a shell, in the container ShellContainer: a command, or a shell.
func ShellCommand(command []string) []string {
	return append([]string{DirBin + "/cairn-runner", "shell", "--work=" + DirWork, "--"}, command...)
}

// ShellContainer is the container that a runner works in.
const ShellContainer = "engine"

// Folders of a runner pod.
const (
	DirCairn = "/cairn"
	DirBin   = DirCairn + "/bin"
	DirWork  = DirCairn + "/work"
)
