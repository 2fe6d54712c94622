package runinfo

import (
	"fmt"
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

// Summary is a short text of what a plan would do, as in "3 to add, 1 to destroy (1 to replace)".
func Summary(p *v1alpha1.Plan) string {
	counts := Counts(p).String()
	text := "no changes"
	switch {
	case counts != "":
		text = counts
	case p.StateOnly:
		text = runnerapi.OnlyState
	case p.Changes:
		text = "only outputs change"
	}
	return text + warnings(p)
}

// DriftSummary is the Summary of what a plan found that differs from the code.
func DriftSummary(d *v1alpha1.DriftStatus) string {
	return Summary(&v1alpha1.Plan{Add: d.Add, Change: d.Change, Destroy: d.Destroy, Replace: d.Replace, Changes: true})
}

// IgnoredDrift is how many differences spec.drift.ignore ignores, at the end of a sentence about a Stack; empty for
// none.
func IgnoredDrift(d *v1alpha1.DriftStatus) string {
	switch {
	case d == nil || d.Ignored == 0:
		return ""
	case d.Ignored == 1:
		return "; 1 difference is ignored (spec.drift.ignore)"
	}
	return fmt.Sprintf("; %d differences are ignored (spec.drift.ignore)", d.Ignored)
}

// Uncorrected returns the kinds of change that spec.drift.applyFor does not list; none if it is empty.
func Uncorrected(n engine.Counts, applyFor []v1alpha1.ChangeKind) (kinds []v1alpha1.ChangeKind) {
	if len(applyFor) == 0 {
		return nil
	}
	for _, k := range []struct {
		kind  v1alpha1.ChangeKind
		there bool
	}{
		{v1alpha1.ChangeCreate, n.Add > n.Replace},
		{v1alpha1.ChangeUpdate, n.Change > 0},
		{v1alpha1.ChangeReplace, n.Replace > 0},
		{v1alpha1.ChangeDelete, n.Destroy > n.Replace || n.Forget > 0},
		{v1alpha1.ChangeAction, n.Invoke > 0},
	} {
		if k.there && !slices.Contains(applyFor, k.kind) {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// Add adds what a plan would do to a sum, which is StateOnly if all plans in it with changes are.
func Add(sum, p *v1alpha1.Plan) {
	if p.Changes {
		sum.StateOnly = p.StateOnly && (sum.StateOnly || !sum.Changes)
		sum.Changes = true
	}
	sum.Add, sum.Change, sum.Destroy = sum.Add+p.Add, sum.Change+p.Change, sum.Destroy+p.Destroy
	sum.Replace, sum.Import, sum.Forget = sum.Replace+p.Replace, sum.Import+p.Import, sum.Forget+p.Forget
	sum.Invoke, sum.Refresh = sum.Invoke+p.Invoke, sum.Refresh+p.Refresh
}

// Applied is a short text of what the apply of a plan did, as in "3 added, 1 destroyed".
func Applied(p *v1alpha1.Plan) string {
	done := engine.Summary{Add: p.Add, Change: p.Change, Remove: p.Destroy, Import: p.Import, Forget: p.Forget,
		Refresh: p.Refresh}
	return done.String() + warnings(p)
}

func warnings(p *v1alpha1.Plan) string {
	switch {
	case p.Policy == nil || p.Policy.Warned == 0:
		return ""
	case p.Policy.Warned == 1:
		return "; 1 warning"
	}
	return fmt.Sprintf("; %d warnings", p.Policy.Warned)
}

// Counts are how many resources a plan would change.
func Counts(p *v1alpha1.Plan) engine.Counts {
	return engine.Counts{Add: p.Add, Change: p.Change, Destroy: p.Destroy, Replace: p.Replace, Import: p.Import,
		Forget: p.Forget,
		Invoke: p.Invoke, Refresh: p.Refresh}
}

// ByScript reports whether a script applies the Run's plan; empty where the engine does.
func ByScript(r *v1alpha1.Run) string {
	switch {
	case r.Status.Plan == nil || !r.Status.Plan.Script:
		return ""
	case r.Spec.Operation == v1alpha1.OperationDestroy:
		return "a script runs in place of the engine (spec.commands.destroy)"
	}
	return "a script runs in place of the engine (spec.commands.apply)"
}

// Orphans returns which resources an apply created whose engine was killed, and that could not be taken into the state;
// empty when there are none.
func Orphans(p *v1alpha1.Plan) string {
	if p == nil || len(p.Untracked) == 0 {
		return ""
	}
	first := p.Untracked[0]
	what := first.Address
	if n := len(p.Untracked) - 1; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("an apply that was killed created %s, which could not be taken into the state (%s)", what,
		Clip(first.Reason, 300))
}

// ListKinds lists kinds of change as in "Create, Replace and Delete".
func ListKinds(kinds []v1alpha1.ChangeKind) string {
	text := ""
	for i, kind := range kinds {
		switch i {
		case 0:
		case len(kinds) - 1:
			text += " and "
		default:
			text += ", "
		}
		text += string(kind)
	}
	return text
}
