package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

func shellCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "shell STACK [-- COMMAND...]",
		Short: "Work in a pod with a Stack's code, engine, state and identity",
		Long: `Requests a Run with a pod that waits for you, and starts a shell in the directory of the root module, or the
command after --. The engine is initialized and can read and write the state; its writes are versions of the state,
with the name of this Run. No other Run of the Stack starts meanwhile. The Run ends when you exit, when it is
canceled, or after spec.timeout. The exit code is that of the command.

The pod has secrets in clear text, and no log of Cairn records your commands. The installation must allow shells
(--allow-shell). Needs the verb shell on the Stack, and get and create on pods/exec.`,
		Example: s.Examples(`
			cairn shell net
			cairn shell net -- tofu state mv aws_subnet.a aws_subnet.b`),
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args = args[:n]
			}
			return s.MaxArgs(1)(cmd, args)
		},
		ValidArgsFunction: s.Complete(session.CompleteStacks),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := args[1:]
			if cmd.ArgsLenAtDash() >= 0 && len(command) == 0 {
				return errors.New("no command follows --")
			}
			return runShell(cmd.Context(), s, args[0], command)
		},
	}
}

// runShell creates a Run with a shell, and runs a command in it, or the shell itself.
func runShell(ctx context.Context, s *session.Session, name string, command []string) error {
	// Output that is not for a terminal must not be changed by one.
	tty := session.IsTerminal(s.In) && (len(command) == 0 || session.IsTerminal(s.Out))
	if !tty && len(command) == 0 {
		return fmt.Errorf("a shell needs a terminal: add a command, for example `%s shell %s -- tofu state list`",
			s.Command(), name)
	}
	stack, err := s.Stack(ctx, name)
	if err != nil {
		return err
	}
	if stack.DeletionTimestamp != nil {
		return fmt.Errorf("the Stack %s is being deleted", stack.Name)
	}
	if err := checkExec(ctx, s, stack.Namespace); err != nil {
		return err
	}
	shell, err := requestRun(ctx, s, stack, v1alpha1.OperationShell, nil)
	if err != nil {
		return err
	}
	if shell, err = awaitShell(ctx, s, shell); err != nil {
		return err
	}
	return attach(ctx, s, shell, command, tty)
}

// checkExec returns an error if the user may not run commands in pods.
func checkExec(ctx context.Context, s *session.Session, namespace string) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	for _, verb := range []string{"get", "create"} { // WebSocket needs both
		review := &authorizationv1.SelfSubjectAccessReview{}
		review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Resource: "pods", Subresource: "exec",
		}
		if err := c.Create(ctx, review); err != nil {
			return s.Explain(err)
		}
		if !review.Status.Allowed {
			return fmt.Errorf("you may not run commands in pods of namespace %s: a shell needs the verbs get "+
				"and create on pods/exec", namespace)
		}
	}
	return nil
}

// awaitShell waits until a shell is open. If the user interrupts that, it cancels the Run.
func awaitShell(ctx context.Context, s *session.Session, shell *v1alpha1.Run) (*v1alpha1.Run, error) {
	last, err := follow(ctx, s, shell, func(r *v1alpha1.Run) bool { return finished(r) || isOpen(r) })
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(cancelRun(context.WithoutCancel(ctx), s, shell), err)
	case err != nil:
		return nil, err
	case !isOpen(last):
		if err := outcome(s, last); err != nil {
			return nil, err
		}
		return nil, errors.New(screen.Result(last))
	}
	return last, nil
}

// isOpen returns whether the runner waits for the user of the shell.
func isOpen(r *v1alpha1.Run) bool {
	a := runinfo.Current(&r.Status)
	waits := func(s v1alpha1.Step) bool { return s.Name == "shell" && s.State == v1alpha1.StepRunning }
	return r.Status.Phase == v1alpha1.PhaseShell && a != nil && slices.ContainsFunc(a.Steps, waits)
}

// attach runs a command, or a shell, in the pod.
func attach(ctx context.Context, s *session.Session, shell *v1alpha1.Run, command []string, tty bool) error {
	config, err := s.Config()
	if err != nil {
		return err
	}
	executor, err := executorFor(config, shell, runinfo.ShellCommand(command), tty)
	if err != nil {
		return s.Explain(err)
	}
	streams := remotecommand.StreamOptions{Stdin: s.In, Stdout: s.Out, Tty: tty}
	restore := func() {}
	if !tty {
		streams.Stderr = s.ErrOut
	} else {
		var sizes *terminalSizes
		if restore, sizes, err = rawTerminal(ctx, s.In); err != nil {
			return err
		}
		streams.TerminalSizeQueue = sizes
	}
	defer restore()
	err = executor.StreamWithContext(ctx, streams)
	var exit utilexec.CodeExitError
	switch {
	case ctx.Err() != nil:
		if err := cancelRun(context.WithoutCancel(ctx), s, shell); err != nil {
			return session.Interrupted("interrupted; Run %s continues until its command ends: %w", shell.Name, err)
		}
		return session.Interrupted("interrupted: Run %s is canceled", shell.Name)
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("%w; Run %s may continue: `%s cancel %s` cancels it",
			s.Explain(err), shell.Name, s.Command(), shell.Name)
	}
	restore()
	return awaitEnd(ctx, s, shell, exit.Code)
}

// awaitEnd waits until the Run has ended, so that the next command need not, and returns its error: the Run may have
// failed to save the state.
func awaitEnd(ctx context.Context, s *session.Session, shell *v1alpha1.Run, code int) error {
	last, err := follow(ctx, s, shell, finished)
	if err == nil {
		err = outcome(s, last)
	}
	if code != 0 || err != nil {
		return session.ExitError{Code: max(code, session.ExitFailed), Err: err}
	}
	return nil
}

// executorFor returns an executor for the pod, by WebSocket, or by SPDY for older API servers.
func executorFor(config *rest.Config, shell *v1alpha1.Run, command []string, tty bool) (remotecommand.Executor, error) {
	client, err := session.CoreClient(config)
	if err != nil {
		return nil, err
	}
	url := client.Post().Namespace(shell.Namespace).Resource("pods").SubResource("exec").
		Name(shell.Status.Attempts[len(shell.Status.Attempts)-1].Pod).
		VersionedParams(&corev1.PodExecOptions{
			Container: runinfo.ShellContainer, Command: command, Stdin: true, Stdout: true, Stderr: !tty, TTY: tty,
		}, scheme.ParameterCodec).URL()
	socket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	if err != nil {
		return nil, err
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, session.NeedsSPDY)
}

// rawTerminal sends all keys and the size of the terminal to the pod, until restore is called.
func rawTerminal(ctx context.Context, in io.Reader) (restore func(), sizes *terminalSizes, err error) {
	fd := int(in.(*os.File).Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	sizes = &terminalSizes{fd: fd, done: ctx.Done(), changed: sizeChanges(ctx)}
	return func() {
		cancel()
		_ = term.Restore(fd, was)
	}, sizes, nil
}

// terminalSizes returns the size of a terminal, and each new one.
type terminalSizes struct {
	fd      int
	done    <-chan struct{}
	changed <-chan struct{}
	sent    bool
}

// Next returns the first size at once, and then waits for the next one. It returns nil at the end.
func (t *terminalSizes) Next() *remotecommand.TerminalSize {
	if t.sent {
		select {
		case <-t.changed:
		case <-t.done:
			return nil
		}
	}
	t.sent = true
	width, height, err := term.GetSize(t.fd)
	if err != nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)}
}
