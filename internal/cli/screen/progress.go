package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Line returns the progress of a Run on one line.
func Line(r *v1alpha1.Run, s Style) string {
	head := fmt.Sprintf("Run %s %s", r.Name, doing(r))
	succeeded := Succeeded(r)
	if Phase(r).Finished() {
		return Result(r)
	}
	if at, retries := nextAttempt(r); retries {
		return fmt.Sprintf("%s: next attempt in %s, because %s", head, Duration(at.Sub(s.Now)),
			Clean(succeeded.Message))
	}
	if AwaitsApproval(r) {
		return head + " for an approval: " + runinfo.Summary(r.Status.Plan)
	}
	// the operator has not reconciled it yet
	if approval.IsSent(r) && succeeded.Reason == v1alpha1.ReasonAwaitingApproval {
		return fmt.Sprintf("Run %s is approved by %s", r.Name, Clean(approval.Given(r).By))
	}
	if step := running(r); step != nil && step.StartedAt != nil && succeeded.Reason != v1alpha1.ReasonCanceling {
		return fmt.Sprintf("%s: %s %s", head, step.Name, Duration(s.Now.Sub(step.StartedAt.Time)))
	}
	if inProgress(succeeded.Reason) {
		return head
	}
	return head + after(": ", Clean(succeeded.Message))
}

// inProgress returns whether the reason of a Run is that of a running engine. Its message is then the pod's name.
func inProgress(reason string) bool {
	switch reason {
	case string(v1alpha1.PhasePlanning), v1alpha1.ReasonBuilding, string(v1alpha1.PhaseApplying),
		string(v1alpha1.PhaseShell):
		return true
	}
	return false
}

// doing returns the phase of a Run as a verb.
func doing(r *v1alpha1.Run) string {
	switch Phase(r) {
	case v1alpha1.PhaseQueued:
		return "is queued"
	case v1alpha1.PhasePlanning:
		if Succeeded(r).Reason == v1alpha1.ReasonBuilding {
			return "builds its image"
		}
		return "plans"
	case v1alpha1.PhaseAwaitingApproval:
		return "waits"
	case v1alpha1.PhaseApplying:
		if r.Spec.Operation == v1alpha1.OperationDestroy {
			return "destroys"
		}
		return "applies"
	case v1alpha1.PhaseShell:
		return "has a shell open"
	case v1alpha1.PhaseSucceeded:
		return "succeeded"
	case v1alpha1.PhaseFailed:
		return "failed"
	case v1alpha1.PhaseCanceled:
		return "is canceled"
	}
	return "is superseded"
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// running returns the running step; nil if there is none.
func running(r *v1alpha1.Run) *v1alpha1.Step {
	a := runinfo.Current(&r.Status)
	if a == nil {
		return nil
	}
	for i := range a.Steps {
		if a.Steps[i].State == v1alpha1.StepRunning {
			return &a.Steps[i]
		}
	}
	return nil
}

// A Trail returns the progress of Runs as lines, each line once. It does not include their results.
type Trail struct{ printed map[string]bool }

// Lines returns the new lines of a Run.
func (t *Trail) Lines(r *v1alpha1.Run, s Style) []string {
	var lines []string
	add := func(key, format string, args ...any) {
		if t.printed == nil {
			t.printed = map[string]bool{}
		}
		if key = r.Name + "/" + key; !t.printed[key] {
			t.printed[key] = true
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	add("", "Run %s (%s): %s", r.Name, r.Spec.Operation, Clean(r.Spec.Cause.Message))
	for _, a := range r.Status.Attempts {
		add(fmt.Sprintf("%d", a.Number), "%s in pod %s", strings.ToLower(string(a.Phase)), a.Pod)
		for _, step := range a.Steps {
			if done(step.State) {
				add(fmt.Sprintf("%d/%s", a.Number, step.Name), "  %s", stepLine(step, s))
			}
		}
		if a.Failure != nil {
			add(fmt.Sprintf("%d/failure", a.Number), "attempt %d failed (%s): %s",
				a.Number, a.Failure.Class, Clean(a.Failure.Message))
		}
	}
	if c := Succeeded(r); c.Message != "" && !Phase(r).Finished() && !inProgress(c.Reason) {
		add(c.Reason+c.Message, "%s", Line(r, s))
	}
	return lines
}

func done(state v1alpha1.StepState) bool {
	return state == v1alpha1.StepSucceeded || state == v1alpha1.StepFailed
}

// stepLine returns a finished step on one line.
func stepLine(step v1alpha1.Step, s Style) string {
	line := mark(step.State, s) + " " + step.Name
	if d, ok := stepDuration(step, s.Now); ok {
		line += " (" + Duration(d) + ")"
	}
	return line + after(" ", Clean(step.Message))
}

func stepDuration(step v1alpha1.Step, now time.Time) (time.Duration, bool) {
	switch {
	case step.StartedAt == nil:
		return 0, false
	case step.FinishedAt != nil:
		return step.FinishedAt.Sub(step.StartedAt.Time), true
	}
	return now.Sub(step.StartedAt.Time), step.State == v1alpha1.StepRunning
}

// mark returns the sign of the state of a step.
func mark(state v1alpha1.StepState, s Style) string {
	switch state {
	case v1alpha1.StepSucceeded:
		return s.paint(green, "✓")
	case v1alpha1.StepFailed:
		return s.paint(red, "✗")
	case v1alpha1.StepRunning:
		return s.paint(bold, "▸")
	case v1alpha1.StepSkipped:
		return s.paint(dim, "-")
	}
	return s.paint(dim, "·")
}

// Pending returns the state of a Stack whose request is pending.
func Pending(st *v1alpha1.Stack) string {
	ready := Ready(st)
	if ready.Reason == "" {
		return "Stack " + st.Name + ": not reconciled yet"
	}
	return fmt.Sprintf("Stack %s: %s: %s", st.Name, ready.Reason, Clean(ready.Message))
}

// Result returns the result of a Run, in one sentence.
func Result(r *v1alpha1.Run) string {
	message := Clean(Succeeded(r).Message)
	p := r.Status.Plan
	if Phase(r) == v1alpha1.PhaseSucceeded && p != nil && p.Changes && r.Spec.Operation != v1alpha1.OperationPlan {
		return fmt.Sprintf("Run %s succeeded: %s", r.Name, cmp.Or(message, runinfo.Applied(p)))
	}
	if phase := Phase(r); message != "" && (phase == v1alpha1.PhaseCanceled || phase == v1alpha1.PhaseSuperseded) {
		return fmt.Sprintf("Run %s: %s", r.Name, message)
	}
	return fmt.Sprintf("Run %s %s%s", r.Name, doing(r), after(": ", message))
}
