package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/migration"
	"cairn.dev/cairn/internal/cli/session"
)

// program is another program, with commands that cairn lists as its own. It is separate to keep the command line small.
type program struct {
	name string
	// missing is where users get the program.
	missing string
}

// controller has the operator, the server, and the commands that run Cairn on this machine.
var controller = program{"cairn-controller", "put cairn-controller and cairn-runner of the same release " +
	"there, or build all programs with `make build`"}

// migrator converts objects of other systems and code.
var migrator = program{migration.Program, "copy it from the archive of the command line of the same release (" +
	version.Docs + "how-to/cli.md), or build all programs with `make build`"}

// devCommands returns the commands that run Cairn on this machine. cairn-controller has their flags, their help and
// their exit code.
func devCommands() []*cobra.Command {
	run := func(cmd *cobra.Command, args []string) error {
		return controller.run(cmd.Context(), append([]string{controller.name, cmd.Name()}, args...))
	}
	return []*cobra.Command{
		{
			Use:                "dev",
			Short:              "Run Cairn on this machine, without a cluster",
			DisableFlagParsing: true,
			RunE:               run,
		},
		{
			Use:                "demo",
			Short:              "Run Cairn on this machine with an example",
			DisableFlagParsing: true,
			RunE:               run,
		},
	}
}

// migrationCommands returns the commands of cairn-migrate, which gets the arguments of this process: their flags are
// checked here, for help and completion without that program.
func migrationCommands(s *session.Session) []*cobra.Command {
	return migration.Commands(s, migration.Actions{
		Migrate: func(ctx context.Context, _ migration.MigrateOptions) error { return migrator.run(ctx, os.Args) },
		Generate: func(ctx context.Context, _ string, _ migration.GenerateOptions) error {
			return migrator.run(ctx, os.Args)
		},
	})
}

// run replaces this process by the program, which has its streams, and whose exit code is that of the command. Windows
// cannot do that: there the program is a child process.
func (p program) run(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folders := []string{filepath.Dir(self)}
	if target, err := filepath.EvalSymlinks(self); err == nil && filepath.Dir(target) != folders[0] {
		folders = append(folders, filepath.Dir(target)) // of a link, as Homebrew and krew create
	}
	path, err := p.find(folders...)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		return syscall.Exec(path, args, os.Environ()) //nolint:gosec // the user's own program and arguments
	}
	// An interrupt of the terminal reaches the child too, which ends by itself.
	child := exec.CommandContext(context.WithoutCancel(ctx), path)
	child.Args = slices.Clone(args)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = child.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return session.ExitError{Code: exit.ExitCode()}
	}
	return err
}

// find returns the path of the program: in one of the folders, which are those of cairn, or else in PATH.
func (p program) find(folders ...string) (string, error) {
	for _, folder := range folders {
		beside := filepath.Join(folder, p.name)
		if path, err := exec.LookPath(beside); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(p.name)
	if err != nil {
		return "", fmt.Errorf("the program %s is neither in %s nor in PATH: %s", p.name, folders[0], p.missing)
	}
	return filepath.Abs(path)
}
