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

// How often a line with a duration is drawn anew, how long a server that does not answer is left in peace, and how often
// who may not watch an object looks at it.
const (
	redrawEvery = 200 * time.Millisecond
	askAgain    = time.Second
	lookEvery   = 2 * time.Second
)

// pause waits before something is asked again.
func pause(ctx context.Context) error { return pauseFor(ctx, askAgain) }

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A look is at an object as it is now, and says whether that is enough. There is false while there is no such object.
type look func(o client.Object, there bool) (enough bool, err error)

// until looks at an object whenever it changes. It stays through restarts of the API server.
func until(ctx context.Context, s *session.Session, o client.Object, list client.ObjectList, key client.ObjectKey, show *progress, see look) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	for {
		began := time.Now()
		enough, err := lookUntilCut(ctx, c, o, list, key, show, see)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case enough:
			return nil
		case err != nil && !session.IsTransient(err):
			return s.Explain(err)
		case err != nil:
			show.note("Kubernetes does not answer (%v); asking again", err)
		}
		if err != nil || time.Since(began) < askAgain { // a watch that ends at once would end at once again
			if err := pause(ctx); err != nil {
				return err
			}
		}
	}
}

// lookUntilCut reads the object and watches it, until somebody ends the watch. Who may read it and not watch it waits for a
// while instead.
func lookUntilCut(ctx context.Context, c client.WithWatch, o client.Object, list client.ObjectList, key client.ObjectKey, show *progress, see look) (bool, error) {
	there, version := true, ""
	switch err := c.Get(ctx, key, o); {
	case apierrors.IsNotFound(err):
		there = false
	case err != nil:
		return false, err
	default:
		version = o.GetResourceVersion()
	}
	if enough, err := see(o, there); enough || err != nil {
		return enough, err
	}
	events, err := c.Watch(ctx, list, &client.ListOptions{
		Namespace:     key.Namespace,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name),
		Raw:           &metav1.ListOptions{ResourceVersion: version},
	})
	var changes <-chan watch.Event
	var again <-chan time.Time
	switch {
	case apierrors.IsForbidden(err):
		again = time.After(lookEvery)
	case err != nil:
		return false, err
	default:
		defer events.Stop()
		changes = events.ResultChan()
	}
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
			show.draw()
		case <-again:
			return false, nil
		case e, ok := <-changes:
			switch {
			case !ok:
				return false, nil
			case e.Type == watch.Error:
				return false, apierrors.FromObject(e.Object)
			case e.Type == watch.Bookmark:
				continue
			}
			if enough, err := see(e.Object.(client.Object), e.Type != watch.Deleted); enough || err != nil {
				return enough, err
			}
		}
	}
}

// follow shows a Run as it goes, until it is as wanted, and gives it as it is then. An interrupt leaves the Run alone.
func follow(ctx context.Context, s *session.Session, run *v1alpha1.Run, enough func(*v1alpha1.Run) bool) (*v1alpha1.Run, error) {
	show := newProgress(s)
	defer show.end()
	last := run
	err := until(ctx, s, &v1alpha1.Run{}, &v1alpha1.RunList{}, client.ObjectKeyFromObject(run), show, func(o client.Object, there bool) (bool, error) {
		r, ok := o.(*v1alpha1.Run)
		if !ok || !there || r.UID != run.UID {
			return false, fmt.Errorf("the Run %s was deleted", run.Name)
		}
		last = r
		show.run(r)
		return enough(r), nil
	})
	if ctx.Err() != nil {
		show.end()
		return last, session.Interrupted("interrupted, and Run %s goes on: `%s why %s` shows it, `%s cancel %s` ends it",
			run.Name, s.Program, run.Name, s.Program, run.Name)
	}
	return last, err
}

// finished is when a Run is over.
func finished(r *v1alpha1.Run) bool { return r.Status.Phase.Finished() }

// outcome is what a Run that is over means for the exit code.
func outcome(s *session.Session, r *v1alpha1.Run) error {
	if r.Status.Phase == v1alpha1.PhaseSucceeded {
		return nil
	}
	what := screen.Result(r)
	switch r.Status.Phase {
	case v1alpha1.PhaseFailed:
		what += fmt.Sprintf("; `%s logs %s` shows why", s.Program, r.Name)
	case v1alpha1.PhaseSuperseded:
		what += fmt.Sprintf("; `%s why %s` shows what takes its place", s.Program, r.Spec.Stack.Name)
	}
	return errors.New(what)
}

// A progress tells on standard error what is waited for: on a line that is drawn over, or else line by line.
type progress struct {
	out    io.Writer
	style  func() screen.Style
	redraw bool
	trail  *screen.Trail
	now    func() time.Time
	at     *v1alpha1.Run
	drawn  bool
	said   string
	// waits is what a request that was not taken up waits for, and since when.
	waits string
	since time.Time
}

// patience is how long a request may wait before that is worth a word.
const patience = time.Second

func newProgress(s *session.Session) *progress {
	return &progress{out: s.ErrOut, redraw: s.Redraw, trail: &s.Trail, now: s.Now, style: func() screen.Style {
		style := s.Style()
		style.Color = s.ColorErr
		return style
	}}
}

// run shows what a Run is at.
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

// pending shows what a Stack whose request was not taken up yet waits for.
func (p *progress) pending(st *v1alpha1.Stack) {
	if p.since.IsZero() {
		p.since = p.now()
	}
	p.waits = screen.Pending(st)
	p.draw()
}

// note shows what is in the way.
func (p *progress) note(format string, args ...any) { p.line(fmt.Sprintf(format, args...)) }

func (p *progress) line(text string) {
	if p.redraw {
		p.over(text)
	} else if text != p.said {
		fmt.Fprintln(p.out, text)
	}
	p.said = text
}

// draw shows again what is waited for, with how long it takes by now.
func (p *progress) draw() {
	switch {
	case p.at == nil && p.waits != "" && p.now().Sub(p.since) >= patience:
		p.line(p.waits)
	case p.redraw && p.at != nil:
		p.over(screen.Line(p.at, p.style()))
	}
}

// over draws the line over what it was. A longer one than the terminal is wide is cut by it, so that it stays one.
func (p *progress) over(text string) {
	fmt.Fprintf(p.out, "\r\x1b[?7l%s\x1b[K\x1b[?7h", text)
	p.drawn = true
}

// end takes the line away.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}
