package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// runWaitsFor returns what a Run waits for; empty if it does not wait.
func runWaitsFor(r *v1alpha1.Run, s Style) string {
	succeeded := Succeeded(r)
	message := Clean(succeeded.Message)
	at, retries := nextAttempt(r)
	switch {
	case retries:
		return fmt.Sprintf("the next attempt, in %s, at %s", Duration(at.Sub(s.Now)),
			at.UTC().Format(time.TimeOnly+" MST"))
	case AwaitsApproval(r):
		decided := cmp.Or(r.Status.Approval, &v1alpha1.RunApproval{})
		if decided.RequestRequired {
			return "a user who requests it with cairn apply " + r.Spec.Stack.Name +
				", and another one who approves that: not all users who caused it are known: " +
				Clean(r.Spec.CausedByUnknown)
		}
		text := "a user who approves the plan of Run " + r.Name
		if users := decided.ExcludedUsers; len(users) > 0 {
			text += " and is not " + Clean(strings.Join(users, " or "))
		}
		return text
	}
	reason, _ := v1alpha1.ReasonNamed(succeeded.Reason)
	switch reason.WaitsFor {
	case "", v1alpha1.WaitsForApproval, v1alpha1.WaitsForRetry: // see above
		return ""
	case v1alpha1.WaitsForResume:
		return reason.WaitsFor.Text()
	}
	return reason.WaitsFor.Text() + after(": ", message)
}

// nextAttempt returns the time of a retry, for a Run that waits only for that.
func nextAttempt(r *v1alpha1.Run) (at time.Time, known bool) {
	if r.Status.NextAttempt == nil || Succeeded(r).Reason != v1alpha1.ReasonRetrying {
		return at, false
	}
	return r.Status.NextAttempt.Time, true
}

// AwaitsApproval returns whether a Run continues once its plan is approved.
func AwaitsApproval(r *v1alpha1.Run) bool {
	return approval.Pending(r) && Succeeded(r).Reason == v1alpha1.ReasonAwaitingApproval && !approval.IsSent(r)
}

// headRun prints the head of the description of a Run.
func (d Description) headRun(p *page) {
	r, s := d.Run, p.style
	p.text("%s  %s", s.paint(bold, fmt.Sprintf("Run %s in %s", r.Name, r.Namespace)), phase(r, s))
	p.message(Succeeded(r).Message)
	stack := r.Spec.Stack.Name
	if d.Stack == nil {
		stack += ", which was deleted, or which you may not read"
	}
	p.row("Stack", stack)
	p.row("Waits for", d.waitsFor(s))
	p.flush()
}

// phase returns the phase of a Run, in color.
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

// run prints a Run: its cause, its plan and its last attempts.
func (d Description) run(p *page) {
	r, s := d.Run, p.style
	if !d.Alone {
		p.title("Run %s  %s", r.Name, phase(r, s))
	}
	active := ", for "
	if Phase(r).Finished() {
		active = ", took "
	}
	p.row("  Operation", string(r.Spec.Operation)+active+runDuration(r, s)+runWait(r, s))
	p.row("  Cause", cause(r))
	p.row("  Caused by", causedBy(r))
	p.row("  Revision", Clean(r.Spec.Revision))
	if a := approval.Given(r); a != nil {
		by := "by " + Clean(a.By)
		if c := r.Status.CarriedApproval; c != nil && a != r.Spec.Approval {
			by += " " + Clean(c.Text())
		}
		if !approval.IsSent(r) {
			by += ", not valid for this plan"
		}
		p.row("  Approved", by)
	}
	if a := r.Spec.Rejection; a != nil {
		p.row("  Rejected", "by "+Clean(a.By)+after(": ", Clean(a.Reason)))
	}
	if r.Spec.Cancel {
		p.row("  Canceled", "by "+Clean(cmp.Or(r.Spec.CanceledBy, "a user")))
	}
	if pl := r.Status.Plan; pl != nil {
		p.row("  Plan", runinfo.Summary(pl), after("by "+string(d.engine())+" ", pl.EngineVersion))
		p.row("  Note", runinfo.ByScript(r))
		p.row("  Digest", pl.Digest)
		p.flush()
		changes(p, pl, s, maxChanges, func(more int) string {
			return fmt.Sprintf("and %d more: %s diff %s", more, s.Command(), r.Name)
		})
		findings(p, pl.Policy, s)
	}
	for i := max(0, len(r.Status.Attempts)-2); i < len(r.Status.Attempts); i++ {
		attempt(p, &r.Status.Attempts[i], s)
	}
}

// runWait returns how long a Run waited, and whether for an approval; empty if it did not wait.
func runWait(r *v1alpha1.Run, s Style) string {
	_, waited := runinfo.Duration(r, s.Now)
	if waited < time.Second {
		return ""
	}
	if runinfo.WaitOf(r).Since.IsZero() {
		text := ", waited " + Duration(waited)
		if runinfo.WaitsForUser(r) {
			text += " for an approval"
		}
		return text
	}
	text := ", waiting " + Duration(waited)
	if AwaitsApproval(r) { // a plan that is approved can wait for a window
		text += " for an approval"
	}
	return text
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

// causedBy lists all users who caused a Run that spec.preventSelfApproval is for, and what they did.
func causedBy(r *v1alpha1.Run) string {
	if !r.Spec.PreventSelfApproval {
		return ""
	}
	var all []string
	for _, c := range r.Spec.CausedBy {
		all = append(all, Clean(c.Name)+" ("+strings.TrimSpace(string(c.Kind)+" "+Clean(c.Of))+")")
	}
	if r.Spec.CausedByUnknown != "" {
		all = append(all, "others who are not known")
	}
	return strings.Join(all, ", ")
}

// changes prints the first changes of a plan, in its order: risky ones first.
func changes(p *page, pl *v1alpha1.Plan, s Style, limit int, more func(int) string) {
	for i, c := range pl.Resources {
		if i == limit {
			break
		}
		p.text("    %s %s", sign(c.Action, s), Clean(c.Address))
	}
	if left := changeCount(pl) - min(limit, len(pl.Resources)); left > 0 {
		p.text("    %s", more(left))
	}
}

// changeCount returns the number of changes of a plan; moved resources are only in its list.
func changeCount(pl *v1alpha1.Plan) int {
	return max(len(pl.Resources), int(runinfo.Counts(pl).Changed()+pl.Import+pl.Forget+pl.Invoke+pl.Refresh))
}

// sign returns the sign of an action, as engines print it.
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
	case "refresh":
		return s.paint(yellow, "<~ ")
	case "invoke":
		return s.paint(yellow, "!  ")
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
	p.row("  Policy", fmt.Sprintf("%s checked: %d deny, %s%d warn",
		shorten.Count(int(result.Checked), "rule"), result.Denied, requires, result.Warned))
	for i, f := range result.Findings {
		if i == maxFindings {
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

// attempt prints the steps of an attempt.
func attempt(p *page, a *v1alpha1.Attempt, s Style) {
	end := s.Now
	if a.FinishedAt != nil {
		end = a.FinishedAt.Time
	}
	p.text("  %s", s.paint(bold, fmt.Sprintf("Attempt %d: %s in pod %s, %s",
		a.Number, strings.ToLower(string(a.Phase)), a.Pod, Duration(end.Sub(a.StartedAt.Time)))))
	for _, step := range a.Steps {
		duration := " "
		if d, ok := stepDuration(step, s.Now); ok {
			duration = Duration(d)
		}
		p.row("    "+mark(step.State, s)+" "+step.Name, duration, Clean(step.Message))
	}
	p.flush()
	if f := a.Failure; f != nil {
		message := after(": ", Clean(f.Message))
		// it is above
		if slices.ContainsFunc(a.Steps, func(step v1alpha1.Step) bool { return step.Message == f.Message }) {
			message = ""
		}
		p.text("    %s%s", s.paint(red, string(f.Class)), message)
	}
}
