package screen

import (
	"regexp"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
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
	program, r := s.Command(), d.Run
	if r != nil && !Phase(r).Finished() {
		return d.runHints(s)
	}
	if d.Alone || d.Stack == nil {
		return finishedHints(r, program)
	}
	reason, known := v1alpha1.ReasonNamed(Ready(d.Stack).Reason)
	steps := s.steps(reason, d.names())
	switch {
	case reason.WaitsFor == v1alpha1.WaitsForRequest && d.Stack.DeletionTimestamp != nil:
		return []string{program + " retry " + d.Stack.Name + " continues the deletion"}
	case len(steps) > 0:
		return steps
	case known && reason.Severity == v1alpha1.SeverityNormal:
		return nil
	}
	return finishedHints(r, program)
}

// names returns the values of the placeholders in the next steps of a reason.
func (d Description) names() map[string]string {
	names := map[string]string{}
	if st := d.Stack; st != nil {
		elsewhere := func(name string) bool { return strings.Contains(name, "/") }
		names["{stack}"], names["{dependencies}"] = st.Name, strings.Join(slices.DeleteFunc(st.Dependencies(),
			elsewhere), " ")
		if st.Status.Drift != nil {
			names["{driftRun}"] = st.Status.Drift.Run
		}
	}
	if r := d.Run; r != nil && !Phase(r).Finished() {
		names["{stack}"], names["{run}"] = r.Spec.Stack.Name, r.Name
		if n := len(r.Status.Attempts); n > 0 {
			names["{pod}"] = r.Status.Attempts[n-1].Pod
		}
	}
	return names
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// steps returns the next steps of a reason for an object with these names. A step for which there is no name does not
// apply.
func (s Style) steps(reason v1alpha1.Reason, names map[string]string) []string {
	var steps []string
	for _, step := range reason.Next {
		applies := true
		step = placeholder.ReplaceAllStringFunc(step, func(of string) string {
			applies = applies && names[of] != ""
			return names[of]
		})
		if rest, ok := strings.CutPrefix(step, "cairn "); ok {
			step = s.Command() + " " + rest
		} else if rest, ok := strings.CutPrefix(step, "kubectl "); ok {
			step = s.inNamespace("kubectl") + " " + rest
		}
		if applies {
			steps = append(steps, step)
		}
	}
	return steps
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
func (d Description) runHints(s Style) []string {
	r, program := d.Run, s.Command()
	cancel := program + " cancel " + r.Name + " cancels it"
	if AwaitsApproval(r) {
		digest := approval.Short(r.Status.Plan.Digest)
		return []string{
			program + " diff " + r.Name + " shows the plan", program + " approve " + r.Name + " --digest " + digest,
			program + " reject " + r.Name + " --digest " + digest + ` --reason "..."`,
		}
	}
	reason, _ := v1alpha1.ReasonNamed(Succeeded(r).Reason)
	steps := s.steps(reason, d.names())
	switch reason.WaitsFor {
	case "", v1alpha1.WaitsForApproval: // which it has
		steps = []string{program + " logs -f " + r.Name + " follows it"}
	case v1alpha1.WaitsForEngine: // it was canceled
		return steps
	}
	return append(steps, cancel)
}
