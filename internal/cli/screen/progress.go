package screen

import (
	"fmt"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// Line says on one line what a Run is at.
func Line(r *v1alpha1.Run, s Style) string {
	head := fmt.Sprintf("Run %s %s", r.Name, doing(r))
	said := Succeeded(r)
	if Phase(r).Finished() {
		return Result(r)
	}
	if at, retries := nextTry(r); retries {
		return fmt.Sprintf("%s: next try in %s, since %s", head, Took(at.Sub(s.Now)), Clean(said.Message))
	}
	if WaitsForPerson(r) {
		return head + " for an approval: " + runinfo.Summary(r.Status.Plan)
	}
	if Approved(r) && said.Reason == v1alpha1.ReasonAwaitingApproval { // the operator has not reconciled it yet
		return fmt.Sprintf("Run %s is approved by %s", r.Name, Clean(r.Spec.Approval.By))
	}
	if step := running(r); step != nil && step.StartedAt != nil && said.Reason != v1alpha1.ReasonCanceling {
		return fmt.Sprintf("%s: %s %s", head, step.Name, Took(s.Now.Sub(step.StartedAt.Time)))
	}
	if atWork(said.Reason) {
		return head
	}
	return head + after(": ", Clean(said.Message))
}

// atWork says that nothing is in a Run's way. Its message is the pod's name then.
func atWork(reason string) bool {
	return reason == string(v1alpha1.PhasePlanning) || reason == v1alpha1.ReasonBuilding || reason == string(v1alpha1.PhaseApplying) || reason == string(v1alpha1.PhaseShell)
}

// doing is a phase as a verb.
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
		return "holds a shell"
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

// running is the step that is at work now.
func running(r *v1alpha1.Run) *v1alpha1.Step {
	if len(r.Status.Attempts) == 0 {
		return nil
	}
	a := r.Status.Attempts[len(r.Status.Attempts)-1]
	for i := range a.Steps {
		if a.Steps[i].State == v1alpha1.StepRunning {
			return &a.Steps[i]
		}
	}
	return nil
}

// A Trail tells what a Run does line by line, each thing once. How it ends is for the one who follows it to tell.
type Trail struct{ told map[string]bool }

// Lines is what is new of a Run.
func (t *Trail) Lines(r *v1alpha1.Run, s Style) []string {
	var news []string
	tell := func(key, format string, args ...any) {
		if t.told == nil {
			t.told = map[string]bool{}
		}
		if key = r.Name + "/" + key; !t.told[key] {
			t.told[key] = true
			news = append(news, fmt.Sprintf(format, args...))
		}
	}
	tell("", "Run %s (%s): %s", r.Name, r.Spec.Operation, Clean(r.Spec.Cause.Message))
	for _, a := range r.Status.Attempts {
		tell(fmt.Sprintf("%d", a.Number), "%s in pod %s", strings.ToLower(string(a.Phase)), a.Pod)
		for _, step := range a.Steps {
			if done(step.State) {
				tell(fmt.Sprintf("%d/%s", a.Number, step.Name), "  %s", stepLine(step, s))
			}
		}
		if a.Failure != nil {
			tell(fmt.Sprintf("%d/failure", a.Number), "attempt %d failed (%s): %s", a.Number, a.Failure.Class, Clean(a.Failure.Message))
		}
	}
	if said := Succeeded(r); said.Message != "" && !Phase(r).Finished() && !atWork(said.Reason) {
		tell(said.Reason+said.Message, "%s", Line(r, s))
	}
	return news
}

func done(state v1alpha1.StepState) bool {
	return state == v1alpha1.StepSucceeded || state == v1alpha1.StepFailed
}

// stepLine is a step that is over on one line.
func stepLine(step v1alpha1.Step, s Style) string {
	line := mark(step.State, s) + " " + step.Name
	if took, ok := stepTook(step, s.Now); ok {
		line += " (" + Took(took) + ")"
	}
	return line + after(" ", Clean(step.Message))
}

func stepTook(step v1alpha1.Step, now time.Time) (time.Duration, bool) {
	switch {
	case step.StartedAt == nil:
		return 0, false
	case step.FinishedAt != nil:
		return step.FinishedAt.Sub(step.StartedAt.Time), true
	}
	return now.Sub(step.StartedAt.Time), step.State == v1alpha1.StepRunning
}

// mark is a sign for how a step stands.
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

// Pending is what a request that was not taken up yet waits for.
func Pending(st *v1alpha1.Stack) string {
	ready := Ready(st)
	if ready.Reason == "" {
		return "Stack " + st.Name + ": not reconciled yet"
	}
	return fmt.Sprintf("Stack %s: %s: %s", st.Name, ready.Reason, Clean(ready.Message))
}

// Result is how a Run ended, in one sentence.
func Result(r *v1alpha1.Run) string {
	said := Clean(Succeeded(r).Message)
	if p := r.Status.Plan; Phase(r) == v1alpha1.PhaseSucceeded && p != nil && p.Changes && r.Spec.Operation != v1alpha1.OperationPlan {
		return fmt.Sprintf("Run %s succeeded: %s", r.Name, or(said, runinfo.Summary(p)))
	}
	if phase := Phase(r); said != "" && (phase == v1alpha1.PhaseCanceled || phase == v1alpha1.PhaseSuperseded) {
		return fmt.Sprintf("Run %s: %s", r.Name, said)
	}
	return fmt.Sprintf("Run %s %s%s", r.Name, doing(r), after(": ", said))
}
