package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// controllerProgram is the program with the operator, the server, and the commands that run Cairn on this machine. It
// is separate to keep the command line small.
const controllerProgram = "cairn-controller"

// devCommands returns the commands that run Cairn on this machine. cairn-controller replaces this process, and has
// their flags, help and exit code.
func devCommands() []*cobra.Command {
	return []*cobra.Command{
		{
			Use:                "dev",
			Short:              "Run Cairn on this machine, without a cluster",
			DisableFlagParsing: true,
			RunE:               runController,
		},
		{
			Use:                "demo",
			Short:              "Run Cairn on this machine with an example",
			DisableFlagParsing: true,
			RunE:               runController,
		},
	}
}

func runController(cmd *cobra.Command, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path, err := findController(filepath.Dir(self))
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{controllerProgram, cmd.Name()}, args...), os.Environ())
}

// findController returns the path of cairn-controller: in the folder of this program, or else in PATH.
func findController(folder string) (string, error) {
	beside := filepath.Join(folder, controllerProgram)
	if _, err := exec.LookPath(beside); err == nil {
		return beside, nil
	}
	path, err := exec.LookPath(controllerProgram)
	if err != nil {
		return "", fmt.Errorf("the program %[1]s is neither in %[2]s nor in PATH: put %[1]s and cairn-runner of the same "+
			"release there, "+
			"or build all programs with `make build`", controllerProgram, folder)
	}
	return filepath.Abs(path)
}
