package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/screen"
)

// Main runs the command of this process and returns its exit code.
func Main(command func(*Session) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := FromProcess()
	return ExitCode(s.ErrOut, s.Program, command(s).ExecuteContext(ctx))
}

// ExitCode prints an error and returns its exit code.
func ExitCode(stderr io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	var exit ExitError
	if !errors.As(err, &exit) {
		exit = ExitError{Code: ExitFailed, Err: err}
	}
	if exit.Err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", program, screen.CleanLines(err.Error())) // the text may have untrusted parts
	}
	return exit.Code
}

// Root prepares the root command cairn of a program: its streams, its version, and how it reports errors.
func (s *Session) Root(cmd *cobra.Command) {
	cmd.Use = "cairn"
	cmd.Version = version.Version
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: s.Program}
	cmd.PersistentPreRun = func(c *cobra.Command, _ []string) { s.BindRequests(c.Context()) }
	cmd.SetVersionTemplate("{{.Version}}\n") // as the command version prints it
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetIn(s.In)
	cmd.SetOut(s.Out)
	cmd.SetErr(s.ErrOut)
}

// flagError adds to the error of a flag which flags are similar to an unknown one, and where the flags are described.
func flagError(cmd *cobra.Command, err error) error {
	var near []string
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		near = Similar("--"+unknown.GetSpecifiedName(), names)
	}
	if len(near) > 0 {
		return fmt.Errorf("%w: did you mean %s? See %s --help", err, strings.Join(near, ", "), cmd.CommandPath())
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}
