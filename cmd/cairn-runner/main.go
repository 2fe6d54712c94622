// Command cairn-runner runs an engine in a pod. It is copied into the image that a Stack sets, so it is one static file
// without dependencies.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/runner"
	"cairn.dev/cairn/internal/runner/attempt"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runner/process"
	session "cairn.dev/cairn/internal/runner/shell"
	"cairn.dev/cairn/internal/runnerapi"
)

var errUsage = errors.New(strings.TrimSpace(`
usage:
  cairn-runner run --server URL --token FILE --work DIR --inputs DIR
      run the orders of the server; CAIRN_SERVER_CA_PEM has the CA certificate of the server in PEM
  cairn-runner shell --work DIR [-- COMMAND [ARG...]]
      run a command, or a shell, in the environment of a Run that is a shell
  cairn-runner copy DEST
      copy this program
  cairn-runner version
`))

func main() {
	if len(os.Args) > 1 && os.Args[1] == "shell" {
		os.Exit(shell(os.Args[2:]))
	}
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cairn-runner:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns the exit code for an error. It is the only information that the operator has of a runner that could
// not report.
func exitCode(err error) int {
	if errors.Is(err, attempt.ErrStranded) {
		return runnerapi.ExitStranded
	}
	return 1
}

func command(args []string, out io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch {
	case name == "run":
		return run(args)
	case name == "copy" && len(args) == 1:
		return copySelf(args[0])
	case name == "version" && len(args) == 0:
		_, err := fmt.Fprintln(out, version.Version)
		return err
	}
	return errUsage
}

// shell returns the exit code of the command that a user ran.
func shell(args []string) int {
	flags := flag.NewFlagSet("shell", flag.ContinueOnError)
	work := flags.String("work", "", "`folder` that the runner works in")
	err := flags.Parse(args)
	if err == nil && *work == "" {
		err = errUsage
	}
	code := 1
	if err == nil {
		if code, err = session.Enter(*work, flags.Args()); err != nil {
			code = max(code, 1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cairn-runner:", err)
	}
	return code
}

// ends are the signals that interrupt an attempt.
var ends = []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGHUP}

// harmless is the signal for output that is not read any more: the server has the log too, and the engine continues. A
// process that handles a signal is not ended by it. The programs that it starts have the default action, which they
// would not if the signal were ignored.
var harmless os.Signal = syscall.SIGPIPE

func run(args []string) error {
	o := runner.Options{
		CA: []byte(os.Getenv("CAIRN_SERVER_CA_PEM")),
		Options: attempt.Options{
			Environ: os.Environ(), Output: os.Stdout, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		},
	}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&o.Server, "server", "", "`URL` of the server")
	flags.StringVar(&o.TokenFile, "token", "", "`file` with the token for the server")
	flags.StringVar(&o.Work, "work", "", "`folder` to work in")
	flags.StringVar(&o.Inputs, "inputs", "", "`folder` with the files that orders name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.Server == "" || o.TokenFile == "" || o.Work == "" || o.Inputs == "" {
		return errUsage
	}
	// The key that proves to the server that a request is from this process is in its memory alone. No other program of
	// the pod may read it there, and net/http may not print it: spec.env of a Stack can switch on its debug output
	// (GODEBUG).
	if err := process.HideMemory(); err != nil {
		return err
	}
	log.SetOutput(io.Discard)
	ctx, stop := interrupt.WithInterrupt(context.Background())
	signal.Notify(make(chan os.Signal, 1), harmless)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ends...)
	go func() { // as long as the process runs: further signals have the same effect
		for range signals {
			stop()
		}
	}()
	return runner.Run(ctx, o)
}
