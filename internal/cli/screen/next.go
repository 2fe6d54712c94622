package screen

import (
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/approval"
)

// next prints what to do next, as commands.
func (d Description) next(p *page) {
	hints := d.hints(p.style)
	if len(hints) == 0 {
		return
	}
	p.text("")
	p.row(p.style.paint(bold, "What to do next"), strings.Join(hints, "; "))
}

// hints returns the commands to use now, each with its purpose.
func (d Description) hints(s Style) []string {
	program, kubectl := s.Command(), s.inNamespace("kubectl")
	r := d.Run
	if r != nil && !Phase(r).Finished() {
		return runHints(r, program, kubectl)
	}
	if d.Alone || d.Stack == nil {
		return finishedHints(r, program)
	}
	name := d.Stack.Name
	command := func(verb, name string) string { return program + " " + verb + " " + name }
	switch Ready(d.Stack).Reason {
	case v1alpha1.ReasonSuspended:
		return []string{command("resume", name)}
	case v1alpha1.ReasonDestroyed:
		return []string{command("apply", name) + " creates its resources again",
			kubectl + " delete stack " + name + " deletes the Stack"}
	case v1alpha1.ReasonRunCanceled, v1alpha1.ReasonRunRejected:
		if d.Stack.DeletionTimestamp != nil {
			return []string{command("retry", name) + " continues the deletion"}
		}
		return []string{command("apply", name) + " requests another Run"}
	case v1alpha1.ReasonDestroyFailed, v1alpha1.ReasonDestroyIncomplete:
		return []string{command("retry", name) + " retries immediately"}
	case v1alpha1.ReasonStateNotSaved:
		return []string{command("state recover", name) + " recovers the state from the pod's log"}
	case v1alpha1.ReasonChangesPending:
		return []string{command("diff", name) + " shows them", "set spec.apply of the Stack to apply them"}
	case v1alpha1.ReasonDrifted:
		hints := []string{command("apply", name) + " reverts the drift; to keep it, change the code first"}
		if st := d.Stack.Status.Drift; st != nil && st.Run != "" {
			hints = append([]string{command("diff", st.Run) + " shows the drift"}, hints...)
		}
		return hints
	case v1alpha1.ReasonDependencyNotReady, v1alpha1.ReasonDependencyNotFound:
		if names := d.Stack.Dependencies(); len(names) > 0 {
			return []string{command("get stacks", strings.Join(names, " ")) + " shows its dependencies"}
		}
	case v1alpha1.ReasonApplied, v1alpha1.ReasonRunning, v1alpha1.ReasonDestroying:
		return nil
	}
	if r != nil && Phase(r) == v1alpha1.PhaseFailed {
		return finishedHints(r, program)
	}
	return nil
}

// finishedHints returns the hints for a finished Run.
func finishedHints(r *v1alpha1.Run, program string) []string {
	if r == nil || Phase(r) != v1alpha1.PhaseFailed {
		return nil
	}
	show := program + " logs " + r.Name + " shows why"
	if denied(r) {
		show = program + " diff " + r.Name + " shows the denied plan"
	}
	return []string{show, program + " retry " + r.Spec.Stack.Name + " retries it"}
}

func denied(r *v1alpha1.Run) bool {
	return r.Status.Plan != nil && r.Status.Plan.Policy != nil && r.Status.Plan.Policy.Denied > 0
}

// runHints returns the hints for an active Run.
func runHints(r *v1alpha1.Run, program, kubectl string) []string {
	stack := r.Spec.Stack.Name
	cancel := program + " cancel " + r.Name + " cancels it"
	if AwaitsApproval(r) {
		digest := approval.Short(r.Status.Plan.Digest)
		return []string{
			program + " diff " + r.Name + " shows the plan", program + " approve " + r.Name + " --digest " + digest,
			program + " reject " + r.Name + " --digest " + digest + ` --reason "..."`,
		}
	}
	switch Succeeded(r).Reason {
	case v1alpha1.ReasonSuspended:
		return []string{program + " resume " + stack, cancel}
	case v1alpha1.ReasonRetrying:
		return []string{program + " logs " + r.Name + " shows why", program + " retry " + stack + " retries immediately", cancel}
	case v1alpha1.ReasonPodPending, v1alpha1.ReasonPodTerminating, v1alpha1.ReasonNodeUnreachable,
		v1alpha1.ReasonTimeoutExceeded:
		if n := len(r.Status.Attempts); n > 0 {
			return []string{kubectl + " describe pod " + r.Status.Attempts[n-1].Pod, cancel}
		}
	case v1alpha1.ReasonCanceling:
		return []string{program + " logs -f " + r.Name + " follows it"}
	case v1alpha1.ReasonQueued, v1alpha1.ReasonWindowClosed, v1alpha1.ReasonWindowInvalid, v1alpha1.ReasonInputsNotFound,
		v1alpha1.ReasonPodCreateFailed:
		return []string{cancel}
	}
	return []string{program + " logs -f " + r.Name + " follows it", cancel}
}
