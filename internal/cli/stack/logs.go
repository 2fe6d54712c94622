package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

// A logging is how a log is shown.
type logging struct {
	follow  bool
	attempt int32
	step    string
}

func logsCommand(s *session.Session) *cobra.Command {
	var l logging
	cmd := &cobra.Command{
		Use:   "logs STACK|RUN",
		Short: "Show the log of a Run",
		Long: `Shows the log of a Run or, of a Stack, the one of its Run under way or else of its last one: all attempts, one after the
other. With -f it goes on until the Run is over, also where the server goes away meanwhile, and the exit code is 1 when
the Run did not succeed. Secrets are not in it. It takes get on runs/logs.`,
		Example: s.Examples(`
			cairn logs net
			cairn logs -f net-7
			cairn logs net-7 --attempt 2 --step apply`),
		Args:              s.MaxArgs(1),
		ValidArgsFunction: s.Complete(session.CompleteStacksAndRuns),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			stack, run, err := s.StackOrRun(ctx, args[0])
			if err != nil {
				return err
			}
			if run == nil {
				return fmt.Errorf("the Stack %s never had a Run, so there is no log: `%s why %s` says why", stack.Name, s.Program, stack.Name)
			}
			if err := l.check(run); err != nil {
				return err
			}
			return showLogs(ctx, s, run, l)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&l.follow, "follow", "f", false, "go on until the Run is over")
	f.Int32Var(&l.attempt, "attempt", 0, "only this attempt")
	f.StringVar(&l.step, "step", "", "only this step, as in init, plan, apply, before-plan")
	return cmd
}

// check refuses a step that the Run has not, once that is known.
func (l logging) check(run *v1alpha1.Run) error {
	if l.attempt < 0 {
		return fmt.Errorf("--attempt %d: attempts are counted from 1", l.attempt)
	}
	if l.step == "" || (l.follow && !finished(run)) {
		return nil
	}
	var names []string
	for _, a := range run.Status.Attempts {
		for _, step := range a.Steps {
			if step.Name == l.step {
				return nil
			}
			if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+step.Name+" ") {
				names = append(names, step.Name)
			}
		}
	}
	return fmt.Errorf("there is no step %s in Run %s; it has: %s", l.step, run.Name, strings.Join(names, ", "))
}

// showLogs shows the log of a Run.
func showLogs(ctx context.Context, s *session.Session, run *v1alpha1.Run, l logging) error {
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	out := s.Out
	if l.step != "" {
		only := &stepOnly{out: s.Out, step: l.step}
		defer only.flush()
		out = only
	}
	read := &reading{Session: s, server: server, run: run, logging: l, out: out}
	if !l.follow {
		_, err := read.once(ctx, false)
		return s.ExplainServer(err)
	}
	last, err := read.all(ctx)
	if ctx.Err() != nil {
		return session.Interrupted("interrupted, and Run %s goes on: `%s cancel %s` ends it", run.Name, s.Program, run.Name)
	}
	if err != nil {
		return s.ExplainServer(s.Explain(err))
	}
	return outcome(s, last)
}

// A reading is how far a log was read.
type reading struct {
	*session.Session
	server *userapi.Client
	run    *v1alpha1.Run
	logging
	out    io.Writer
	offset int64
}

// once asks for what there is from where it was read to. Cut says that there may be more, since the server went away.
func (r *reading) once(ctx context.Context, follow bool) (cut bool, err error) {
	log, err := r.server.Logs(ctx, r.run.Namespace, r.run.Name, userapi.LogOptions{Attempt: r.attempt, Offset: r.offset, Follow: follow})
	if err != nil {
		return session.IsTransient(err), err
	}
	defer log.Close()
	source := &failing{Reader: log}
	n, err := io.Copy(r.out, source)
	r.offset += n
	return source.err != nil, err
}

// failing remembers that it was the source that failed, and not the one who took it.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// all reads until the Run is over and its log was read to the end.
func (r *reading) all(ctx context.Context) (*v1alpha1.Run, error) {
	show := newProgress(r.Session)
	wait := askAgain
	for {
		run, err := r.now(ctx)
		cut := session.IsTransient(err)
		if err == nil {
			over := finished(run) || r.attemptIsOver(run)
			if cut, err = r.once(ctx, !over); err == nil && over {
				return r.ended(ctx, run)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !cut:
			return nil, err
		case err != nil:
			show.note("cut off (%v); asking again", err)
		}
		wait = waitAfter(err, wait)
		if err := pauseFor(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// longestWait is how long a log is not asked for at most while too many follow logs.
const longestWait = 30 * time.Second

// waitAfter is how long to wait after an error: each time longer while the server says that too many ask.
func waitAfter(err error, last time.Duration) time.Duration {
	var said *userapi.Error
	if errors.As(err, &said) && said.Code == http.StatusTooManyRequests {
		return min(2*last, longestWait)
	}
	return askAgain
}

// now is the Run as it is.
func (r *reading) now(ctx context.Context) (*v1alpha1.Run, error) {
	c, err := r.Kubernetes()
	if err != nil {
		return nil, err
	}
	run := &v1alpha1.Run{}
	return run, c.Get(ctx, client.ObjectKeyFromObject(r.run), run)
}

// attemptIsOver says that there is no more to come of the one attempt that is wanted.
func (r *reading) attemptIsOver(run *v1alpha1.Run) bool {
	for _, a := range run.Status.Attempts {
		if a.Number == r.attempt {
			return a.FinishedAt != nil
		}
	}
	return false
}

// ended is the Run when all was read; of one attempt's log the Run may go on.
func (r *reading) ended(_ context.Context, run *v1alpha1.Run) (*v1alpha1.Run, error) {
	if finished(run) {
		return run, nil
	}
	for _, a := range run.Status.Attempts {
		if a.Number == r.attempt && a.Failure != nil {
			return nil, fmt.Errorf("attempt %d of Run %s failed: %s", a.Number, run.Name, a.Failure.Message)
		}
	}
	run = run.DeepCopy()
	run.Status.Phase = v1alpha1.PhaseSucceeded // as far as this attempt goes
	return run, nil
}

// stepOnly passes on what the log says of one step. The runner writes a line before each.
type stepOnly struct {
	out    io.Writer
	step   string
	inside bool
	rest   []byte
}

func (o *stepOnly) Write(p []byte) (int, error) {
	o.rest = append(o.rest, p...)
	for {
		i := bytes.IndexByte(o.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := o.line(o.rest[:i+1]); err != nil {
			return 0, err
		}
		o.rest = o.rest[i+1:]
	}
}

func (o *stepOnly) line(line []byte) error {
	if name, ok := stepHeader(string(bytes.TrimRight(line, "\r\n"))); ok {
		o.inside = name == o.step
	}
	if !o.inside {
		return nil
	}
	_, err := o.out.Write(line)
	return err
}

// flush passes on a last line that has no end.
func (o *stepOnly) flush() {
	if len(o.rest) > 0 {
		_ = o.line(o.rest) // nobody is there to be told
		o.rest = nil
	}
}

// stepHeader reads the line that a step begins with.
func stepHeader(line string) (string, bool) {
	name, ok := strings.CutPrefix(line, "── ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " ──")
	return name, ok && !strings.ContainsAny(name, " \t")
}
