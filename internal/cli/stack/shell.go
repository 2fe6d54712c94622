package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/run/runinfo"
)

func shellCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "shell STACK [-- COMMAND...]",
		Short: "Work in a pod with a Stack's code, engine, state and identity",
		Long: `Asks for a Run that holds a pod open, and lets you into it: into a shell in the root module's folder, or what follows --. The
engine is initialized and has its way to the state; what it writes there are versions like any other, named for this Run.
Nothing else of the Stack starts meanwhile. The Run ends when you leave, when it is canceled, or when spec.timeout is over.
The exit code is the command's.

What the pod knows is in clear there, secrets too, and what you do is in no log of Cairn's. The install has to allow shells
(--allow-shell). It takes the verb shell on the Stack, and get and create on pods/exec.`,
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
			ctx := cmd.Context()
			command := args[1:]
			if cmd.ArgsLenAtDash() >= 0 && len(command) == 0 {
				return errors.New("no command follows --")
			}
			// What goes elsewhere than to a terminal is not to be changed by one.
			tty := isTerminalReader(s.In) && (len(command) == 0 || isTerminalWriter(s.Out))
			if !tty && len(command) == 0 {
				return fmt.Errorf("there is no terminal for a shell: say what to run, as in `%s shell %s -- tofu state list`", s.Program, args[0])
			}
			stack, err := s.Stack(ctx, args[0])
			if err != nil {
				return err
			}
			if stack.DeletionTimestamp != nil {
				return fmt.Errorf("the Stack %s is being deleted", stack.Name)
			}
			if err := mayExec(ctx, s, stack.Namespace); err != nil {
				return err
			}
			shell, err := requested(ctx, s, stack, v1alpha1.OperationShell)
			if err != nil {
				return err
			}
			if shell.Spec.Operation != v1alpha1.OperationShell {
				return fmt.Errorf("nothing came of it: this install allows no shells, unless events of Stack %s say otherwise; whoever runs Cairn allows them with --allow-shell", stack.Name)
			}
			if shell, err = awaitShell(ctx, s, shell); err != nil {
				return err
			}
			return attach(ctx, s, shell, command, tty)
		},
	}
}

// mayExec tells at once who could not come in.
func mayExec(ctx context.Context, s *session.Session, namespace string) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	for _, verb := range []string{"get", "create"} { // by WebSocket it takes both
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "pods", Subresource: "exec"},
		}}
		if err := c.Create(ctx, review); err != nil {
			return s.Explain(err)
		}
		if !review.Status.Allowed {
			return fmt.Errorf("you may not come into pods of namespace %s: a shell takes the verbs get and create on pods/exec", namespace)
		}
	}
	return nil
}

// awaitShell waits until a shell is open. One that nobody waits for any more is canceled.
func awaitShell(ctx context.Context, s *session.Session, shell *v1alpha1.Run) (*v1alpha1.Run, error) {
	last, err := follow(ctx, s, shell, func(r *v1alpha1.Run) bool { return finished(r) || isOpen(r) })
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(dismiss(context.WithoutCancel(ctx), s, shell), err)
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

// isOpen says that the runner holds the shell open.
func isOpen(r *v1alpha1.Run) bool {
	if r.Status.Phase != v1alpha1.PhaseShell || len(r.Status.Attempts) == 0 {
		return false
	}
	for _, step := range r.Status.Attempts[len(r.Status.Attempts)-1].Steps {
		if step.Name == "shell" {
			return step.State == v1alpha1.StepRunning
		}
	}
	return false
}

// dismiss cancels a shell that nobody comes to.
func dismiss(ctx context.Context, s *session.Session, shell *v1alpha1.Run) error {
	who, err := s.User(ctx)
	if err == nil {
		err = s.Patch(ctx, shell, action.CancelRun(who))
	}
	if err != nil {
		return fmt.Errorf("the Run %s is not canceled: %w", shell.Name, err)
	}
	return nil
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
		if err := dismiss(context.WithoutCancel(ctx), s, shell); err != nil {
			return session.Interrupted("interrupted, and Run %s goes on until what runs there ends: %w", shell.Name, err)
		}
		return session.Interrupted("interrupted: Run %s is canceled", shell.Name)
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("%w; Run %s may go on: `%s cancel %s` ends it", s.Explain(err), shell.Name, s.Program, shell.Name)
	}
	restore()
	return awaitEnd(ctx, s, shell, exit.Code)
}

// awaitEnd waits until the Run has ended with the shell, so that what follows need not, and says what went wrong at the end of it:
// a state may be at stake.
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

// executorFor reaches the pod as this person: by WebSocket, or as older API servers have it.
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

func isTerminalReader(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && session.IsTerminal(f)
}

func isTerminalWriter(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && session.IsTerminal(f)
}

// rawTerminal gives all keys to the other side, and tells how large the terminal is, until restore is called.
func rawTerminal(ctx context.Context, in io.Reader) (restore func(), sizes *terminalSizes, err error) {
	fd := int(in.(*os.File).Fd())
	was, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	sizes = &terminalSizes{fd: fd, over: ctx.Done(), changed: sizeChanges(ctx)}
	return func() {
		cancel()
		_ = term.Restore(fd, was)
	}, sizes, nil
}

// terminalSizes tells the size of a terminal, and each new one.
type terminalSizes struct {
	fd      int
	over    <-chan struct{}
	changed <-chan struct{}
	told    bool
}

// Next waits until there is another size; nil at the end.
func (t *terminalSizes) Next() *remotecommand.TerminalSize {
	if t.told {
		select {
		case <-t.changed:
		case <-t.over:
			return nil
		}
	}
	t.told = true
	width, height, err := term.GetSize(t.fd)
	if err != nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)}
}
