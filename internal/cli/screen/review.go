package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Plan prints the plan in a Run's status: its cause, counts, first changes and findings of policies.
func Plan(w io.Writer, r *v1alpha1.Run, s Style) error {
	p := newPage(w, s)
	p.text("%s", s.paint(bold, fmt.Sprintf("Run %s of Stack %s (%s)", r.Name, r.Spec.Stack.Name, r.Spec.Operation)))
	p.row("  Cause", cause(r))
	p.row("  Revision", Clean(r.Spec.Revision))
	if pl := r.Status.Plan; pl != nil {
		p.row("  Plan", runinfo.Summary(pl))
		p.row("  Note", runinfo.ByScript(r))
		p.row("  Digest", pl.Digest)
		p.flush()
		changes(p, pl, s, len(pl.Resources), func(more int) string { return fmt.Sprintf("and %d more", more) })
		findings(p, pl.Policy, s)
	}
	return p.end()
}

// maxDestroyed is how many addresses a question lists.
const maxDestroyed = 20

// Destroyed prints what a plan destroys and replaces, for the question that follows it: a user confirms it by sight,
// also after a long plan. It prints nothing if there is nothing.
func Destroyed(w io.Writer, pl *v1alpha1.Plan, s Style) error {
	if pl.Destroy == 0 {
		return nil
	}
	// The status lists them before the other changes.
	first := slices.DeleteFunc(slices.Clone(pl.Resources), func(c v1alpha1.ResourceChange) bool {
		return c.Action != "delete" && c.Action != "replace"
	})
	first = first[:min(len(first), maxDestroyed)]
	p := newPage(w, s)
	title := "This destroys " + shorten.Count(int(pl.Destroy), "resource")
	if pl.Replace > 0 {
		title += fmt.Sprintf(", and creates %d of them again", pl.Replace)
	}
	p.text("\n%s:", s.paint(bold, title))
	for _, c := range first {
		p.text("    %s %s", sign(c.Action, s), Clean(c.Address))
	}
	p.more("    ", int(pl.Destroy)-len(first))
	return p.end()
}

// Findings prints the findings of policies for a plan, and a note if a script would apply it.
func Findings(w io.Writer, r *v1alpha1.Run, s Style) error {
	if script := runinfo.ByScript(r); script != "" {
		if _, err := io.WriteString(w, "\nNote: "+script+".\n"); err != nil {
			return err
		}
	}
	if r.Status.Plan == nil || r.Status.Plan.Policy == nil || len(r.Status.Plan.Policy.Findings) == 0 {
		return nil
	}
	p := newPage(w, s)
	p.text("")
	findings(p, r.Status.Plan.Policy, s)
	return p.end()
}

// Outputs prints the outputs of a Stack, each as JSON.
func Outputs(w io.Writer, st *v1alpha1.Stack, s Style) error {
	p := newPage(w, s)
	for _, name := range slices.Sorted(maps.Keys(st.Status.Outputs)) {
		p.row(Clean(name), "= "+Clean(string(st.Status.Outputs[name].Raw)))
	}
	return p.end()
}

// Output returns the value of one output: a string without quotes, any other value as JSON.
func Output(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// HiddenOutputs describes the outputs of a Stack that are not in its status.
func HiddenOutputs(st *v1alpha1.Stack, state *v1alpha1.State) string {
	hidden := 0
	if state != nil {
		for name := range state.Status.Outputs {
			if _, ok := st.Status.Outputs[name]; !ok {
				hidden++
			}
		}
	}
	if hidden == 0 {
		return ""
	}
	where := "spec.outputs.secret of the Stack writes them to a Secret"
	if o := st.Spec.Outputs; o != nil && o.Secret != nil {
		where = "they are in Secret " + o.Secret.Name
	}
	return "not shown: " + strconv.Itoa(hidden) + " that are sensitive or long; " + where
}
