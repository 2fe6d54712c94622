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

// RunOfPod is the name of the Run whose pod has this name; empty when PodName does not return such a name. A user can create a
// pod of any name: only a Run that NamesPod has it.
func RunOfPod(pod string) string {
	for _, phase := range []v1alpha1.AttemptPhase{
		v1alpha1.AttemptPlan, v1alpha1.AttemptApply, v1alpha1.AttemptBuild, v1alpha1.AttemptShell,
	} {
		if run, ok := strings.CutSuffix(pod, PodName("", phase, int32(Number(pod)))); ok {
			return run
		}
	}
	return ""
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
