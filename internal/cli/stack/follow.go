package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

const (
	redrawInterval = 200 * time.Millisecond
	retryInterval  = time.Second
	// pollInterval is the interval of reads for users who may not watch.
	pollInterval = 2 * time.Second
	// recordTimeout is how long the end of a Run may take to be in the status of its Stack. Without an operator it
	// takes longer.
	recordTimeout = 10 * time.Second
)

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A check returns whether an object satisfies a condition. exists is false if there is no such object.
type check func(o client.Object, exists bool) (done bool, err error)

// await checks an object on each change until it satisfies the condition. It continues through restarts of the API
// server.
func await(
	ctx context.Context, s *session.Session, o client.Object, list client.ObjectList, key client.ObjectKey,
	show *progress, ok check,
) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	for {
		started := time.Now()
		done, err := watchOnce(ctx, c, o, list, key, show, ok)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case done:
			return nil
		case err != nil && !session.IsTransient(err):
			return s.Explain(err)
		case err != nil:
			show.line(fmt.Sprintf("Kubernetes does not answer (%v); retrying", err))
		}
		if err != nil || time.Since(started) < retryInterval { // a watch that ended immediately would do so again
			if err := sleep(ctx, retryInterval); err != nil {
				return err
			}
		}
	}
}

// watchOnce reads and watches an object until the watch ends. For a user who may not watch it, it waits for the poll
// interval instead.
func watchOnce(
	ctx context.Context, c client.WithWatch, o client.Object, list client.ObjectList, key client.ObjectKey,
	show *progress, ok check,
) (bool, error) {
	exists, version := true, ""
	switch err := c.Get(ctx, key, o); {
	case apierrors.IsNotFound(err):
		exists = false
	case err != nil:
		return false, err
	default:
		version = o.GetResourceVersion()
	}
	if done, err := ok(o, exists); done || err != nil {
		return done, err
	}
	events, err := c.Watch(ctx, list, &client.ListOptions{
		Namespace:     key.Namespace,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name),
		Raw:           &metav1.ListOptions{ResourceVersion: version},
	})
	var changes <-chan watch.Event
	var poll <-chan time.Time
	switch {
	case apierrors.IsForbidden(err):
		poll = time.After(pollInterval)
	case err != nil:
		return false, err
	default:
		defer events.Stop()
		changes = events.ResultChan()
	}
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
			show.draw()
		case <-poll:
			return false, nil
		case e, open := <-changes:
			switch {
			case !open:
				return false, nil
			case e.Type == watch.Error:
				return false, apierrors.FromObject(e.Object)
			case e.Type == watch.Bookmark:
				continue
			}
			if done, err := ok(e.Object.(client.Object), e.Type != watch.Deleted); done || err != nil {
				return done, err
			}
		}
	}
}

// follow shows the progress of a Run until it satisfies a condition, and returns it. The result of a Run that ended is
// in the status of its Stack then. An interrupt does not affect the Run.
func follow(
	ctx context.Context, s *session.Session, run *v1alpha1.Run, until func(*v1alpha1.Run) bool,
) (*v1alpha1.Run, error) {
	show := newProgress(s)
	defer show.end()
	last := run
	err := await(ctx, s, &v1alpha1.Run{}, &v1alpha1.RunList{}, client.ObjectKeyFromObject(run), show,
		func(o client.Object, exists bool) (bool, error) {
			r, ok := o.(*v1alpha1.Run)
			if !ok || !exists || r.UID != run.UID {
				return false, fmt.Errorf("the Run %s was deleted", run.Name)
			}
			last = r
			show.run(r)
			return until(r), nil
		})
	if ctx.Err() != nil {
		show.end()
		return last, session.Interrupted("interrupted; Run %s continues: `%s why %s` shows it, `%s cancel "+
			"%s` cancels it",
			run.Name, s.Command(), run.Name, s.Command(), run.Name)
	}
	if err == nil && finished(last) {
		awaitRecord(ctx, s, last, show)
	}
	return last, err
}

// awaitRecord waits until the status of the Stack has the result of a Run that ended, for the next command of a script,
// such as `cairn outputs`. The operator writes it a moment after the Run. A user who may not read the Stack does not
// wait.
func awaitRecord(ctx context.Context, s *session.Session, run *v1alpha1.Run, show *progress) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	key := client.ObjectKey{Namespace: run.Namespace, Name: run.Spec.Stack.Name}
	// The result of the Run is known whether this succeeds or not.
	_ = await(ctx, s, &v1alpha1.Stack{}, &v1alpha1.StackList{}, key, show,
		func(o client.Object, exists bool) (bool, error) {
			stack, ok := o.(*v1alpha1.Stack)
			return !ok || !exists || !metav1.IsControlledBy(run, stack) || stack.Status.CurrentRun != run.Name, nil
		})
}

// finished returns whether a Run has ended.
func finished(r *v1alpha1.Run) bool { return r.Status.Phase.Finished() }

// outcome returns nil for a Run that succeeded, and else its result as an error.
func outcome(s *session.Session, r *v1alpha1.Run) error {
	if r.Status.Phase == v1alpha1.PhaseSucceeded {
		return nil
	}
	result := screen.Result(r)
	switch r.Status.Phase {
	case v1alpha1.PhaseFailed:
		result += fmt.Sprintf("; `%s logs %s` shows why", s.Command(), r.Name)
	case v1alpha1.PhaseSuperseded:
		result += fmt.Sprintf("; `%s why %s` shows the Run that replaces it", s.Command(), r.Spec.Stack.Name)
	}
	return errors.New(result)
}

// A progress shows on standard error what a command waits for: on a line that is overwritten, or line by line.
type progress struct {
	out    io.Writer
	style  func() screen.Style
	redraw bool
	trail  *screen.Trail
	now    func() time.Time
	at     *v1alpha1.Run
	drawn  bool
	last   string
	// waits is the state of a Stack whose request is pending, and since the start of the wait.
	waits string
	since time.Time
}

// pendingDelay is the time after which a pending request is shown.
const pendingDelay = time.Second

func newProgress(s *session.Session) *progress {
	return &progress{out: s.ErrOut, redraw: s.Redraw, trail: &s.Trail, now: s.Now, style: func() screen.Style {
		style := s.Style()
		style.Color = s.ColorErr
		return style
	}}
}

// run shows the progress of a Run.
func (p *progress) run(r *v1alpha1.Run) {
	p.at = r
	if p.redraw {
		p.draw()
		return
	}
	for _, line := range p.trail.Lines(r, p.style()) {
		fmt.Fprintln(p.out, line)
	}
}

// pending shows the state of a Stack whose request is pending.
func (p *progress) pending(st *v1alpha1.Stack) {
	if p.since.IsZero() {
		p.since = p.now()
	}
	p.waits = screen.Pending(st)
	p.draw()
}

func (p *progress) line(text string) {
	if p.redraw {
		p.overwrite(text)
	} else if text != p.last {
		fmt.Fprintln(p.out, text)
	}
	p.last = text
}

// draw shows the line again, with the duration until now.
func (p *progress) draw() {
	switch {
	case p.at == nil && p.waits != "" && p.now().Sub(p.since) >= pendingDelay:
		p.line(p.waits)
	case p.redraw && p.at != nil:
		p.overwrite(screen.Line(p.at, p.style()))
	}
}

// overwrite replaces the line. The terminal does not wrap it, so that it stays one line.
func (p *progress) overwrite(text string) {
	fmt.Fprintf(p.out, "\r\x1b[?7l%s\x1b[K\x1b[?7h", text)
	p.drawn = true
}

// end removes the line.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
