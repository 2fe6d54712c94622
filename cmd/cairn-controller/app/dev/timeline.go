package dev

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// A timeline prints the progress of Runs, each line with the seconds since the last headline.
type timeline struct {
	out   io.Writer
	since time.Time
	title string
	shown map[string]bool
	took  []string
}

func newTimeline(out io.Writer) *timeline { return &timeline{out: out, shown: map[string]bool{}} }

// headline starts a section.
func (t *timeline) headline(title string) {
	t.since, t.title = time.Now(), title
	fmt.Fprintf(t.out, "\n%s\n", title)
}

func (t *timeline) line(format string, args ...any) {
	fmt.Fprintf(t.out, "%6.2f s  %s\n", time.Since(t.since).Seconds(), fmt.Sprintf(format, args...))
}

// once prints a line for a key only the first time.
func (t *timeline) once(key, format string, args ...any) {
	if !t.shown[key] {
		t.shown[key] = true
		t.line(format, args...)
	}
}

// follow prints the progress of Runs until done returns true. It calls done after each change of a Stack or a Run.
func (t *timeline) follow(ctx context.Context, c client.WithWatch, done func() (bool, error)) error {
	runs, err := c.Watch(ctx, &v1alpha1.RunList{})
	if err != nil {
		return err
	}
	defer runs.Stop()
	stacks, err := c.Watch(ctx, &v1alpha1.StackList{})
	if err != nil {
		return err
	}
	defer stacks.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			if ok {
				t.took = append(t.took, fmt.Sprintf("%6.2f s  %s", time.Since(t.since).Seconds(), t.title))
			}
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, ok := <-runs.ResultChan():
			if !ok {
				return fmt.Errorf("the API server ended the watch")
			}
			if r, ok := event.Object.(*v1alpha1.Run); ok && event.Type != watch.Deleted {
				t.run(r)
			}
		case _, ok := <-stacks.ResultChan():
			if !ok {
				return fmt.Errorf("the API server ended the watch")
			}
		}
	}
}

// run prints what changed in a Run.
func (t *timeline) run(r *v1alpha1.Run) {
	t.once(r.Name, "Run %s (%s): %s", r.Name, r.Spec.Cause.Type, r.Spec.Cause.Message)
	for _, a := range r.Status.Attempts {
		for _, s := range a.Steps {
			key := fmt.Sprintf("%s/%d/%s", r.Name, a.Number, s.Name)
			switch {
			case s.State == v1alpha1.StepRunning:
				t.once(key+"/running", "  %s ...", s.Name)
			case s.FinishedAt != nil:
				t.once(key, "  %s %s (%.2f s) %s", mark(s.State), s.Name, s.FinishedAt.Sub(s.StartedAt.Time).Seconds(),
					s.Message)
			}
		}
	}
	if r.Status.Phase.Finished() {
		result := ""
		if c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
			result = ": " + c.Message
		}
		t.once(r.Name+"/end", "Run %s %s%s", r.Name, r.Status.Phase, result)
	}
}

func mark(s v1alpha1.StepState) string {
	if s == v1alpha1.StepFailed {
		return "✗"
	}
	return "✓"
}

// outputs prints the outputs of a Stack that is Ready.
func (t *timeline) outputs(stack *v1alpha1.Stack) {
	t.line("Stack %s is Ready: %d resources", stack.Name, stack.Status.Resources)
	for _, name := range slices.Sorted(maps.Keys(stack.Status.Outputs)) {
		fmt.Fprintf(t.out, "          %s = %s\n", name, stack.Status.Outputs[name].Raw)
	}
}

// durations prints the duration of each section.
func (t *timeline) durations() {
	fmt.Fprintln(t.out, "\nDurations")
	for _, line := range t.took {
		fmt.Fprintln(t.out, line)
	}
}
