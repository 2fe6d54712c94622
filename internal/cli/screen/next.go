package screen

import (
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
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
	case v1alpha1.ReasonSuspended:
		return []string{command("resume", name)}
	case v1alpha1.ReasonDestroyed:
		return []string{command("apply", name) + " makes it again", "kubectl delete stack " + name + " ends it"}
	case v1alpha1.ReasonRunCanceled, v1alpha1.ReasonRunRejected:
		if d.Stack.DeletionTimestamp != nil {
			return []string{command("retry", name) + " goes on with the deletion"}
		}
		return []string{command("apply", name) + " asks for another Run"}
	case v1alpha1.ReasonDestroyFailed, v1alpha1.ReasonDestroyIncomplete:
		return []string{command("retry", name) + " tries again at once"}
	case v1alpha1.ReasonStateNotSaved:
		return []string{command("state recover", name) + " recovers the state from the pod's log"}
	case v1alpha1.ReasonChangesPending:
		return []string{command("diff", name) + " shows them", "spec.apply of the Stack lets them be applied"}
	case v1alpha1.ReasonDrifted:
		hints := []string{command("apply", name) + " overwrites what is there with what is declared; to keep it, change the code first"}
		if st := d.Stack.Status.Drift; st != nil && st.Run != "" {
			hints = append([]string{command("diff", st.Run) + " shows the drift"}, hints...)
		}
		return hints
	case v1alpha1.ReasonDependencyNotReady:
		if other, ok := strings.CutPrefix(Clean(Ready(d.Stack).Message), "waits for Stack "); ok {
			other, _, _ = strings.Cut(other, ":")
			return []string{command("describe", other)}
		}
	case v1alpha1.ReasonApplied, v1alpha1.ReasonRunning, v1alpha1.ReasonDestroying:
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
	case v1alpha1.ReasonSuspended:
		return []string{program + " resume " + stack, cancel}
	case v1alpha1.ReasonRetrying:
		return []string{program + " logs " + r.Name + " shows why", program + " retry " + stack + " tries at once", cancel}
	case v1alpha1.ReasonPodPending, v1alpha1.ReasonPodTerminating, v1alpha1.ReasonNodeUnreachable, v1alpha1.ReasonTimeoutExceeded:
		if n := len(r.Status.Attempts); n > 0 {
			return []string{"kubectl describe pod " + r.Status.Attempts[n-1].Pod, cancel}
		}
	case v1alpha1.ReasonCanceling:
		return []string{program + " logs -f " + r.Name + " follows it"}
	case v1alpha1.ReasonQueued, v1alpha1.ReasonWindowClosed, v1alpha1.ReasonWindowInvalid, v1alpha1.ReasonInputsNotFound, v1alpha1.ReasonPodCreateFailed:
		return []string{cancel}
	}
	return []string{program + " logs -f " + r.Name + " follows it", cancel}
}
