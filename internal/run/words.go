package run

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// Summary says in a few words what a plan would do, as in "3 to add, 1 to replace".
func Summary(p *v1alpha1.Plan) string {
	var parts []string
	for _, c := range []struct {
		n    int32
		verb string
	}{
		{p.Destroy, "destroy"}, {p.Replace, "replace"}, {p.Add, "add"}, {p.Change, "change"}, {p.Import, "import"}, {p.Forget, "forget"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", c.n, c.verb))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case p.Changes:
		return "only outputs change"
	}
	return "no changes"
}

// approvalHint says what lets a plan that waits go on.
func approvalHint(w World) string {
	if w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		return "; spec.apply of the Stack is Never"
	}
	hint := "; to approve set spec.approval.planDigest of Run " + w.Run.Name + " to " + w.Run.Status.Plan.Digest
	if a := w.Run.Spec.Approval; a != nil {
		hint = "; the approval by " + a.By + " was for another plan" + hint
	}
	return hint
}

// failedStep names the step that an attempt failed at, or else what it was at.
func failedStep(a *v1alpha1.Attempt) string {
	for _, s := range a.Steps {
		if s.State == v1alpha1.StepFailed {
			return s.Name
		}
	}
	return strings.ToLower(string(a.Phase))
}
