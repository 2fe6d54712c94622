package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// headStack prints the head of the description of a Stack.
func (d Description) headStack(p *page) {
	st, s := d.Stack, p.style
	ready := Ready(st)
	p.text("%s  %s", s.paint(bold, fmt.Sprintf("Stack %s in %s", st.Name, st.Namespace)), d.readiness(s))
	p.message(ready.Message)
	p.row("Code", code(st.Spec.Source))
	if c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionWholeRepository); c != nil {
		p.row("Planned by", Clean(c.Message))
	}
	if c := apimeta.FindStatusCondition(st.Status.Conditions, v1alpha1.ConditionEnvironmentIgnored); c != nil {
		p.row("Variables", Clean(c.Message))
	}
	for _, set := range st.Status.VariableSets {
		p.row("Values", variableSetLine(set))
	}
	p.row("Revision", Clean(st.Status.Revision))
	p.row("Engine", engineLine(st.EngineOf()))
	p.row("Rules", rules(st))
	p.row("After", dependencyLine(st))
	p.row("State", d.state(s))
	p.row("Drift", driftSentence(st, s))
	p.row("Age", s.age(st.CreationTimestamp.Time))
	p.row("Waits for", d.waitsFor(s))
}

// variableSetLine returns a VariableSet of a Stack, with some of the names of its values.
func variableSetLine(set v1alpha1.AppliedVariableSet) string {
	const most = 10
	names := slices.Concat(set.Variables, set.Env)
	return Clean("of VariableSet " + set.Name + after(": ", shorten.List(names, most)))
}

// engineLine returns the engine of a Stack.
func engineLine(e v1alpha1.Engine) string {
	text := string(e.Name) + after(" ", e.Version)
	if w := e.Wrapped; w != nil {
		text += after(", which runs ", strings.TrimSpace(string(w.Name)+" "+w.Version))
	}
	return Clean(text)
}

// code returns the source of the code.
func code(source v1alpha1.Source) string {
	switch {
	case source.Git != nil:
		text := "Repository " + source.Git.Repository.Name
		if ns := source.Git.Repository.Namespace; ns != "" {
			text += " of " + ns
		}
		text += ", directory " + cmp.Or(source.Git.Path, ".")
		if source.Git.Ref != "" {
			text += " at " + source.Git.Ref
		}
		return text
	case source.ConfigMap != nil:
		return "ConfigMap " + source.ConfigMap.Name
	case len(source.Inline) > 0:
		return fmt.Sprintf("inline, %s", shorten.Count(len(source.Inline), "file"))
	}
	return ""
}

// rules returns the rules for changes of a Stack.
func rules(st *v1alpha1.Stack) string {
	parts := []string{"apply " + cmp.Or(string(st.Spec.Apply), "Manual")}
	if kinds := st.Spec.RequireApprovalFor; len(kinds) > 0 && st.Spec.Apply == v1alpha1.ApplyAutomatic {
		parts = append(parts, "approval for "+runinfo.ListKinds(kinds))
	}
	if st.Spec.PreventSelfApproval {
		parts = append(parts, "no self-approval")
	}
	if n := len(st.Spec.Windows); n > 0 {
		parts = append(parts, shorten.Count(n, "window"))
	}
	for _, p := range st.Status.StackPolicies {
		if p.Windows > 0 {
			parts = append(parts, shorten.Count(int(p.Windows), "window")+" of StackPolicy "+p.Name)
		}
		for _, name := range p.Policies {
			parts = append(parts, fmt.Sprintf("policies of %s (StackPolicy %s)", name, p.Name))
		}
	}
	if n := len(st.Spec.Hooks); n > 0 {
		parts = append(parts, shorten.Count(n, "hook"))
	}
	if c := st.Spec.Commands; c != nil && c.Apply != nil {
		parts = append(parts, "a script applies")
	}
	if c := st.Spec.Commands; c != nil && c.Destroy != nil {
		parts = append(parts, "a script destroys")
	}
	for _, p := range st.Spec.Policies {
		parts = append(parts, "policies of "+p.ConfigMap.Name)
	}
	if deletion := st.Spec.DeletionPolicy; deletion != "" {
		parts = append(parts, "deletion "+string(deletion))
	}
	return strings.Join(parts, ", ")
}

// dependencyLine returns what a Stack is applied after, with the outputs that it uses.
func dependencyLine(st *v1alpha1.Stack) string {
	var stacks, all []string
	for _, name := range st.Dependencies() {
		stacks = append(stacks, "Stack "+name+usedOutputs(st, name))
	}
	if len(stacks) > 0 {
		all = append(all, strings.Join(stacks, ", "))
	}
	for _, u := range st.Status.Units {
		if len(u.Stacks) == 0 {
			all = append(all, fmt.Sprintf("no Stack runs unit %s, so its order is undefined", Clean(u.Path)))
		}
	}
	return strings.Join(all, "; ")
}

// usedOutputs returns the outputs of a dependency that a Stack uses, in brackets; empty if it is only the order.
func usedOutputs(st *v1alpha1.Stack, dependency string) string {
	var outputs []string
	for _, v := range st.Spec.Variables {
		if v.ValueFrom == nil || v.ValueFrom.Stack == nil || st.NameOf(v.ValueFrom.Stack.Key()) != dependency {
			continue
		}
		if output := v.ValueFrom.Stack.Output; !slices.Contains(outputs, output) {
			outputs = append(outputs, output)
		}
	}
	for _, u := range st.Status.Units {
		if u.Outputs && slices.Contains(u.Stacks, dependency) {
			return " (any output)"
		}
	}
	switch len(outputs) {
	case 0:
		return ""
	case 1:
		return " (output " + outputs[0] + ")"
	}
	return " (outputs " + strings.Join(outputs, ", ") + ")"
}

// state returns the version of the state, and its lock.
func (d Description) state(s Style) string {
	if d.State == nil {
		return "none yet"
	}
	st := d.State.Status
	resources := "encrypted by its engine"
	if st.Resources >= 0 {
		resources = shorten.Count(int(st.Resources), "resource")
	}
	text := fmt.Sprintf("version %d, serial %d, %s", st.Version, st.Serial, resources)
	if l := st.Lock; l != nil {
		text += fmt.Sprintf("; locked by %s for %s, lock %s", Clean(cmp.Or(l.Run, l.Who)), s.age(l.Since.Time),
			Clean(l.ID))
	}
	if r := st.Rescued; r != nil {
		text += fmt.Sprintf("; a newer one was rescued from Run %s and is used first", r.Run)
	}
	return text
}

// driftSentence returns the drift of a Stack, and the time of the next check.
func driftSentence(st *v1alpha1.Stack, s Style) string {
	var found string
	if d := st.Status.Drift; d != nil && d.Since == nil {
		found = fmt.Sprintf("none %s ago", s.age(d.CheckedAt.Time))
	} else if d != nil {
		found = s.paint(yellow, fmt.Sprintf("%s, for %s, found by Run %s", runinfo.DriftSummary(d), s.age(d.Since.Time),
			d.Run))
	}
	found += ignoredDrift(st.Status.Drift)
	checks := driftChecks(st, s)
	if found == "" || checks == "" {
		return found + checks
	}
	return found + "; " + checks
}

// ignoredDrift lists the differences that spec.drift.ignore ignores, with the reasons.
func ignoredDrift(d *v1alpha1.DriftStatus) string {
	if d == nil || d.Ignored == 0 {
		return ""
	}
	const most = 5
	var named []string
	for _, one := range d.Differences {
		if one.Ignored != "" && len(named) < most {
			named = append(named, fmt.Sprintf("%s (%s)", Clean(one.Address), Clean(one.Ignored)))
		}
	}
	text := fmt.Sprintf("; ignored by spec.drift.ignore: %s", strings.Join(named, ", "))
	if more := int(d.Ignored) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more, see cairn diff %s", more, d.Run)
	}
	return text
}

// driftChecks returns the interval of drift checks, its source and the time of the next check; empty before the
// operator has set them.
func driftChecks(st *v1alpha1.Stack, s Style) string {
	checks := st.Status.DriftChecks
	switch {
	case st.DeletionTimestamp != nil:
		return ""
	case checks != nil:
	case st.Spec.Drift != nil && st.Spec.Drift.Interval != nil && st.Spec.Drift.Interval.Duration == 0:
		return "checks are off, since spec.drift.interval is 0s"
	case st.Status.Observed():
		return "checks are off: neither spec.drift.interval nor the installation's default sets an interval"
	default:
		return ""
	}
	text := "checked every " + duration.HumanDuration(checks.Interval.Duration)
	if checks.IntervalSource == v1alpha1.IntervalFromInstallation {
		text += ", the installation's default"
	} else {
		text += " (spec.drift.interval)"
	}
	switch next := checks.NextCheckTime; {
	case next == nil && st.Spec.Suspend:
		return text + "; no check while the Stack is suspended"
	case next == nil && st.Status.AppliedInputsDigest == "":
		return text + "; no check before the Stack is applied"
	case next == nil:
		return text + "; no check before all changes are applied"
	case !next.After(s.Now):
		return text + "; a check is due now"
	default:
		return fmt.Sprintf("%s; next check in %s, at %s",
			text, duration.HumanDuration(next.Sub(s.Now)), next.UTC().Format(time.RFC3339))
	}
}
