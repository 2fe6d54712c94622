package screen

import (
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
)

// next says what to do, as commands.
func (d Description) next(p *page) {
	hints := d.hints(p.sty.Program)
	if len(hints) == 0 {
		return
	}
	p.text("")
	p.row(p.sty.paint(bold, "What to do next"), strings.Join(hints, "; "))
}

// hints are the commands that help now, each with what for.
func (d Description) hints(program string) []string {
	r := d.Run
	if r != nil && !Phase(r).Finished() {
		return runHints(r, program)
	}
	if d.Alone || d.Stack == nil {
		return finishedHints(r, program)
	}
	name := d.Stack.Name
	command := func(words ...string) string { return program + " " + strings.Join(words, " ") }
	switch Ready(d.Stack).Reason {
	case "Suspended":
		return []string{command("resume", name)}
	case "Destroyed":
		return []string{command("apply", name) + " makes it again", "kubectl delete stack " + name + " ends it"}
	case "RunCanceled", "RunRejected":
		if d.Stack.DeletionTimestamp != nil {
			return []string{command("retry", name) + " goes on with the deletion"}
		}
		return []string{command("apply", name) + " asks for another Run"}
	case "DestroyFailed", "NotDestroyed":
		return []string{command("retry", name) + " tries again at once"}
	case "StateStranded":
		return []string{command("state recover", name) + " recovers the state from the pod's log"}
	case "ChangesPending":
		return []string{command("diff", name) + " shows them", "spec.apply of the Stack lets them be applied"}
	case "Drifted":
		hints := []string{command("apply", name) + " puts it right"}
		if st := d.Stack.Status.Drift; st != nil && st.Run != "" {
			hints = append([]string{command("diff", st.Run) + " shows the drift"}, hints...)
		}
		return hints
	case "DependencyNotReady":
		if other, ok := strings.CutPrefix(Clean(Ready(d.Stack).Message), "waits for Stack "); ok {
			other, _, _ = strings.Cut(other, ":")
			return []string{command("describe", other)}
		}
	case "Applied", "Running", "Destroying":
		return nil
	}
	if r != nil && Phase(r) == v1alpha1.PhaseFailed {
		return finishedHints(r, program)
	}
	return nil
}

// finishedHints are for a Run that is over.
func finishedHints(r *v1alpha1.Run, program string) []string {
	if r == nil || Phase(r) != v1alpha1.PhaseFailed {
		return nil
	}
	show := program + " logs " + r.Name + " shows why"
	if denied(r) {
		show = program + " diff " + r.Name + " shows the plan that is denied"
	}
	return []string{show, program + " retry " + r.Spec.Stack.Name + " tries again"}
}

func denied(r *v1alpha1.Run) bool {
	return r.Status.Plan != nil && r.Status.Plan.Policy != nil && r.Status.Plan.Policy.Denied > 0
}

// runHints are for a Run that is under way.
func runHints(r *v1alpha1.Run, program string) []string {
	stack := r.Spec.Stack.Name
	cancel := program + " cancel " + r.Name + " ends it"
	if WaitsForPerson(r) {
		return []string{
			program + " diff " + r.Name + " shows the plan", program + " approve " + r.Name, program + " reject " + r.Name + ` --reason "..."`,
		}
	}
	switch Succeeded(r).Reason {
	case run.ReasonSuspended:
		return []string{program + " resume " + stack, cancel}
	case run.ReasonRetrying:
		return []string{program + " logs " + r.Name + " shows why", program + " retry " + stack + " tries at once", cancel}
	case run.ReasonPodPending, run.ReasonPodLeaving, run.ReasonNodeUnreachable, run.ReasonOverdue:
		if n := len(r.Status.Attempts); n > 0 {
			return []string{"kubectl describe pod " + r.Status.Attempts[n-1].Pod, cancel}
		}
	case run.ReasonCanceling:
		return []string{program + " logs -f " + r.Name + " follows it"}
	case run.ReasonQueued, run.ReasonWindowClosed, run.ReasonWindowInvalid, run.ReasonInputsMissing, run.ReasonPodRefused:
		return []string{cancel}
	}
	return []string{program + " logs -f " + r.Name + " follows it", cancel}
}
