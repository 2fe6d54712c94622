package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

// logOptions are the flags of logs.
type logOptions struct {
	follow  bool
	attempt int32
	step    string
}

func logsCommand(s *session.Session) *cobra.Command {
	var l logOptions
	cmd := onRun(s, &cobra.Command{
		Use:   "logs STACK|RUN",
		Short: "Show the log of a Run",
		Long: `Shows the log of a Run or, of a Stack, that of its active or else its last Run: all attempts, one after the
other. With -f it continues until the Run ends, also if the server restarts meanwhile, and the exit code is 1 if the
Run did not succeed. Secret values are removed from it. On a terminal, so are control sequences except colors; a pipe and a
file get the log as it is. Needs get on runs/logs.`,
		Example: s.Examples(`
			cairn logs net
			cairn logs -f net-7
			cairn logs net-7 --attempt 2 --step apply`),
	}, func(ctx context.Context, run *v1alpha1.Run) error {
		if err := l.check(run); err != nil {
			return err
		}
		return showLogs(ctx, s, run, l)
	})
	f := cmd.Flags()
	f.BoolVarP(&l.follow, "follow", "f", false, "continue until the Run ends")
	f.Int32Var(&l.attempt, "attempt", 0, "only this attempt")
	f.StringVar(&l.step, "step", "", "only this step, for example init, plan, apply or before-plan")
	return cmd
}

// check rejects a step that a finished Run does not have.
func (l logOptions) check(run *v1alpha1.Run) error {
	if l.attempt < 0 {
		return fmt.Errorf("--attempt is %d: the first attempt is 1", l.attempt)
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
			if !slices.Contains(names, step.Name) {
				names = append(names, step.Name)
			}
		}
	}
	return fmt.Errorf("there is no step %s in Run %s; it has: %s", l.step, run.Name, strings.Join(names, ", "))
}

// showLogs shows the log of a Run.
func showLogs(ctx context.Context, s *session.Session, run *v1alpha1.Run, l logOptions) error {
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	out := s.Text()
	if l.step != "" {
		filter := &stepFilter{out: out, step: l.step}
		defer filter.flush()
		out = filter
	}
	log := &logReader{Session: s, server: server, run: run, logOptions: l, out: out}
	if !l.follow {
		_, err := log.once(ctx, false)
		return s.ExplainServer(err)
	}
	last, err := log.all(ctx)
	if ctx.Err() != nil {
		return session.Interrupted("interrupted; Run %s continues: `%s cancel %s` cancels it", run.Name,
			s.Command(), run.Name)
	}
	if err != nil {
		return s.ExplainServer(s.Explain(err))
	}
	return outcome(s, last)
}

// A logReader prints a log, and continues after the server was unavailable.
type logReader struct {
	*session.Session
	server *userapi.Client
	run    *v1alpha1.Run
	logOptions
	out    io.Writer
	offset int64
}

// once prints the log from the current offset. It returns truncated if there may be more, as the server did not answer
// to the end.
func (r *logReader) once(ctx context.Context, follow bool) (truncated bool, err error) {
	log, err := r.server.Logs(ctx, r.run.Namespace, r.run.Name,
		userapi.LogOptions{Attempt: r.attempt, Offset: r.offset, Follow: follow})
	if err != nil {
		return session.IsTransient(err), err
	}
	defer log.Close()
	source := &errorReader{Reader: log}
	n, err := io.Copy(r.out, source)
	r.offset += n
	return source.err != nil, err
}

// errorReader records the error of a read, to distinguish it from that of a write.
type errorReader struct {
	io.Reader
	err error
}

func (f *errorReader) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// all prints the log until the Run has ended and all of its log is printed.
func (r *logReader) all(ctx context.Context) (*v1alpha1.Run, error) {
	show := newProgress(r.Session)
	wait := retryInterval
	for {
		run, err := r.current(ctx)
		retry := session.IsTransient(err)
		if err == nil {
			ended := finished(run) || r.attemptEnded(run)
			if retry, err = r.once(ctx, !ended); err == nil && ended {
				return r.result(run)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !retry:
			return nil, err
		case err != nil:
			show.line(fmt.Sprintf("the log was interrupted (%v); retrying", err))
		}
		wait = waitAfter(err, wait)
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// longestWait is the longest wait while too many users follow logs.
const longestWait = 30 * time.Second

// waitAfter returns the wait after an error. It doubles while the server rejects requests as too many.
func waitAfter(err error, last time.Duration) time.Duration {
	var said *userapi.Error
	if errors.As(err, &said) && said.Code == http.StatusTooManyRequests {
		return min(2*last, longestWait)
	}
	return retryInterval
}

// current returns the current Run.
func (r *logReader) current(ctx context.Context) (*v1alpha1.Run, error) {
	c, err := r.Kubernetes()
	if err != nil {
		return nil, err
	}
	run := &v1alpha1.Run{}
	return run, c.Get(ctx, client.ObjectKeyFromObject(r.run), run)
}

// attemptEnded returns whether the selected attempt has ended.
func (r *logReader) attemptEnded(run *v1alpha1.Run) bool {
	for _, a := range run.Status.Attempts {
		if a.Number == r.attempt {
			return a.FinishedAt != nil
		}
	}
	return false
}

// result returns the Run after all of the log is printed. For the log of one attempt, the Run may continue.
func (r *logReader) result(run *v1alpha1.Run) (*v1alpha1.Run, error) {
	if finished(run) {
		return run, nil
	}
	for _, a := range run.Status.Attempts {
		if a.Number == r.attempt && a.Failure != nil {
			return nil, fmt.Errorf("attempt %d of Run %s failed: %s", a.Number, run.Name, a.Failure.Message)
		}
	}
	run = run.DeepCopy()
	run.Status.Phase = v1alpha1.PhaseSucceeded // of this attempt
	return run, nil
}

// stepFilter writes only the log of one step. The runner writes a header line before each step.
type stepFilter struct {
	out    io.Writer
	step   string
	inside bool
	rest   []byte
}

func (o *stepFilter) Write(p []byte) (int, error) {
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

func (o *stepFilter) line(line []byte) error {
	if name, ok := stepHeader(string(bytes.TrimRight(line, "\r\n"))); ok {
		o.inside = name == o.step
	}
	if !o.inside {
		return nil
	}
	_, err := o.out.Write(line)
	return err
}

// flush writes a last line without a line break.
func (o *stepFilter) flush() {
	if len(o.rest) > 0 {
		_ = o.line(o.rest) // the command returns the error of the log
		o.rest = nil
	}
}

// stepHeader returns the name of the step in a header line.
func stepHeader(line string) (string, bool) {
	name, ok := strings.CutPrefix(line, "── ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " ──")
	return name, ok && !strings.ContainsAny(name, " \t")
}
