package screen

import (
	"fmt"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/approval"
	"cairn.dev/cairn/internal/run/runinfo"
)

// runWaits says for whom or what a Run waits; nothing when it is at work.
func runWaits(r *v1alpha1.Run, s Style) string {
	said := Succeeded(r)
	message := Clean(said.Message)
	at, retries := nextTry(r)
	switch {
	case retries:
		return fmt.Sprintf("the next try, in %s, at %s", Took(at.Sub(s.Now)), at.UTC().Format(time.TimeOnly+" MST"))
	case WaitsForPerson(r):
		text := "a person who approves the plan of Run " + r.Name
		if r.Spec.PreventSelfApproval && r.Spec.Cause.By != "" {
			text += " and is not " + Clean(r.Spec.Cause.By)
		}
		return text
	}
	switch said.Reason {
	case v1alpha1.ReasonQueued:
		return or(strings.TrimPrefix(message, "waits for "), "its turn")
	case v1alpha1.ReasonCanceling:
		return "the engine, which was told to end: " + message
	case v1alpha1.ReasonWindowClosed, v1alpha1.ReasonWindowInvalid:
		return "a window: " + message
	case v1alpha1.ReasonPodPending, v1alpha1.ReasonPodCreateFailed, v1alpha1.ReasonPodTerminating, v1alpha1.ReasonNodeUnreachable, v1alpha1.ReasonTimeoutExceeded:
		return "its pod: " + message
	case v1alpha1.ReasonInputsNotFound:
		return "what is missing: " + message
	case v1alpha1.ReasonSuspended:
		return "somebody who resumes the Stack"
	}
	return ""
}

// nextTry is when a Run is tried again. A Run of a suspended Stack, and one that waits for something else since then, has no such time.
func nextTry(r *v1alpha1.Run) (at time.Time, known bool) {
	if r.Status.NextAttempt == nil || Succeeded(r).Reason != v1alpha1.ReasonRetrying {
		return at, false
	}
	return r.Status.NextAttempt.Time, true
}

// WaitsForPerson says that a Run goes on once its plan is approved.
func WaitsForPerson(r *v1alpha1.Run) bool {
	return Phase(r) == v1alpha1.PhaseAwaitingApproval && Succeeded(r).Reason == v1alpha1.ReasonAwaitingApproval && r.Status.Plan != nil && !Approved(r)
}

// Approved says that the plan which a Run has now is approved, by somebody who may.
func Approved(r *v1alpha1.Run) bool {
	return approval.Of(r, false) == approval.Valid // a Run takes spec.preventSelfApproval over from its Stack
}

// headRun says what a Run is when it is what the screen is of.
func (d Description) headRun(p *page) {
	r, s := d.Run, p.sty
	p.text("%s  %s", s.paint(bold, fmt.Sprintf("Run %s in %s", r.Name, r.Namespace)), phase(r, s))
	p.said(Succeeded(r).Message)
	stack := r.Spec.Stack.Name
	if d.Stack == nil {
		stack += ", which is gone, or which you may not see"
	}
	p.row("Stack", stack)
	p.row("Waits for", d.waits(s))
	p.flush()
}

// phase is how far a Run is, in color.
func phase(r *v1alpha1.Run, s Style) string {
	words := string(Phase(r))
	switch Phase(r) {
	case v1alpha1.PhaseSucceeded:
		return s.paint(green, words)
	case v1alpha1.PhaseFailed, v1alpha1.PhaseCanceled:
		return s.paint(red, words)
	}
	return s.paint(yellow, words)
}

// run shows a Run: why it is there, what it plans, what its last attempt did.
func (d Description) run(p *page) {
	r, s := d.Run, p.sty
	if !d.Alone {
		p.title("Run %s  %s", r.Name, phase(r, s))
	}
	took := ", for "
	if Phase(r).Finished() {
		took = ", took "
	}
	p.row("  Operation", string(r.Spec.Operation)+took+runTook(r, s))
	p.row("  Cause", cause(r))
	p.row("  Revision", Clean(r.Spec.Revision))
	if a := r.Spec.Approval; a != nil {
		by := "by " + Clean(a.By)
		if !Approved(r) {
			by += ", which does not count for this plan"
		}
		p.row("  Approved", by)
	}
	if a := r.Spec.Rejection; a != nil {
		p.row("  Rejected", "by "+Clean(a.By)+after(": ", Clean(a.Reason)))
	}
	if r.Spec.Cancel {
		p.row("  Canceled", after("by ", Clean(or(r.Spec.CanceledBy, "somebody"))))
	}
	if pl := r.Status.Plan; pl != nil {
		p.row("  Plan", runinfo.Summary(pl), after("by "+string(d.engine())+" ", pl.EngineVersion))
		p.row("  Mind", runinfo.ByScript(r))
		p.row("  Digest", pl.Digest)
		p.flush()
		changes(p, pl, s, mostChanges, func(more int) string {
			return fmt.Sprintf("and %d more: %s diff %s", more, s.Program, r.Name)
		})
		findings(p, pl.Policy, s)
	}
	for i := max(0, len(r.Status.Attempts)-2); i < len(r.Status.Attempts); i++ {
		attempt(p, &r.Status.Attempts[i], s)
	}
}

func (d Description) engine() v1alpha1.EngineName {
	if d.Stack == nil {
		return "version"
	}
	return d.Stack.EngineOf().Name
}

func cause(r *v1alpha1.Run) string {
	c := r.Spec.Cause
	text := string(c.Type) + after(": ", Clean(c.Message))
	if c.By != "" && !strings.Contains(c.Message, c.By) {
		text += ", by " + Clean(c.By)
	}
	return text
}

// changes shows the first changes of a plan, the risky ones first as they are in it.
func changes(p *page, pl *v1alpha1.Plan, s Style, most int, more func(int) string) {
	for i, c := range pl.Resources {
		if i == most {
			break
		}
		p.text("    %s %s", sign(c.Action, s), Clean(c.Address))
	}
	if left := all(pl) - min(most, len(pl.Resources)); left > 0 {
		p.text("    %s", more(left))
	}
}

// all is how many changes a plan has; moved resources are in the list only.
func all(pl *v1alpha1.Plan) int {
	return max(len(pl.Resources), int(runinfo.Counts(pl).Changed()+pl.Import+pl.Forget))
}

// sign is how engines write an action.
func sign(action string, s Style) string {
	switch action {
	case "create":
		return s.paint(green, "+  ")
	case "update":
		return s.paint(yellow, "~  ")
	case "delete":
		return s.paint(red, "-  ")
	case "replace":
		return s.paint(red, "-/+")
	case "import":
		return s.paint(green, "&  ")
	case "forget":
		return s.paint(yellow, ".  ")
	case "move":
		return s.paint(dim, ">  ")
	}
	return fmt.Sprintf("%-3s", Clean(action))
}

func findings(p *page, result *v1alpha1.PolicyResult, s Style) {
	if result == nil {
		return
	}
	requires := ""
	if n := result.ApprovalRequired; n > 0 {
		requires = fmt.Sprintf("%d require approval, ", n)
	}
	p.row("  Policy", fmt.Sprintf("%s asked: %d deny, %s%d warn", count(int(result.Checked), "rule"), result.Denied, requires, result.Warned))
	for i, f := range result.Findings {
		if i == mostFindings {
			p.text("    and %d more", int(result.Denied+result.ApprovalRequired+result.Warned)-i)
			return
		}
		color := yellow
		if f.Action == "Deny" {
			color = red
		}
		p.text("    %s %s: %s", s.paint(color, fmt.Sprintf("%-4s", f.Action)), Clean(f.Policy), Clean(f.Message))
	}
}

// attempt shows the steps of an attempt.
func attempt(p *page, a *v1alpha1.Attempt, s Style) {
	end := s.Now
	if a.FinishedAt != nil {
		end = a.FinishedAt.Time
	}
	p.text("  %s", s.paint(bold, fmt.Sprintf("Attempt %d: %s in pod %s, %s", a.Number, strings.ToLower(string(a.Phase)), a.Pod, Took(end.Sub(a.StartedAt.Time)))))
	for _, step := range a.Steps {
		took := ""
		if d, ok := stepTook(step, s.Now); ok {
			took = Took(d)
		}
		p.row("    "+mark(step.State, s)+" "+step.Name, or(took, " "), Clean(step.Message))
	}
	p.flush()
	if a.Failure != nil {
		p.text("    %s: %s", s.paint(red, string(a.Failure.Class)), Clean(a.Failure.Message))
	}
}
