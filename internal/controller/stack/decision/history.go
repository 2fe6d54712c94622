package decision

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// A Stack keeps ten Runs that succeeded, and there may be ten thousand Stacks, so an operator has none of these Runs in
// its cache. The facts that rules need of them are in the Stack's status, and come there in the write that records
// their end.
//
//	named in status.currentRun ──► finished ──► recorded: in status.history, status.currentRun is empty ──► pruned: no Run, no record
//
// A Run that did not succeed stays in the cache, so that the operator detects when a user deletes it.

// RunsInHistory are the Runs of a Stack's history, as far as they are decided on.
func RunsInHistory(stack *v1alpha1.Stack) []v1alpha1.Run {
	runs := make([]v1alpha1.Run, 0, len(stack.Status.History)+1)
	for i := range stack.Status.History {
		p := &stack.Status.History[i]
		known := v1alpha1.PastDetails{}
		if p.Details != nil {
			known = *p.Details
		}
		attempt := v1alpha1.Attempt{Number: 1, Phase: v1alpha1.AttemptPlan, Steps: known.Steps}
		if p.Applied {
			attempt.Phase = v1alpha1.AttemptApply
		}
		runs = append(runs, v1alpha1.Run{
			ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: p.Name, UID: p.UID},
			Spec: v1alpha1.RunSpec{
				Stack: v1alpha1.ObjectRef{Name: stack.Name}, Operation: p.Operation, Cause: p.Cause,
				InputsDigest: known.InputsDigest, Revision: known.Revision,
			},
			Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseSucceeded, Plan: known.Plan,
				Attempts: []v1alpha1.Attempt{attempt}, FinishedAt: p.FinishedAt},
		})
	}
	return runs
}

// isRecorded reports that the status already has the end of a Run, with all of its results.
func (w Snapshot) isRecorded(r *v1alpha1.Run) bool { return InHistory(w.Stack, r.Name) }

// InHistory reports whether status.history has a Run.
func InHistory(stack *v1alpha1.Stack, name string) bool {
	return slices.ContainsFunc(stack.Status.History, func(p v1alpha1.PastRun) bool { return p.Name == name })
}

// nextHistory is what the status keeps of the Runs that succeeded: all of those that a later decision may depend on,
// and of the others what it takes to delete them one day.
func nextHistory(w Snapshot) []v1alpha1.PastRun {
	gone, whole := RunsToPrune(w), runsWithDetails(w)
	var kept []v1alpha1.PastRun
	for i := range w.Runs {
		r := &w.Runs[i]
		same := func(o v1alpha1.Run) bool { return o.Name == r.Name }
		if r.Status.Phase != v1alpha1.PhaseSucceeded ||
			(slices.ContainsFunc(gone, same) && !slices.Contains(w.Unpruned, r.Name)) {
			continue
		}
		p := v1alpha1.PastRun{
			Name: r.Name, UID: r.UID, Operation: r.Spec.Operation, Cause: v1alpha1.Cause{Type: r.Spec.Cause.Type},
			FinishedAt: r.Status.FinishedAt, Applied: begun(r),
		}
		if slices.Contains(whole, r.Name) {
			p.Cause = r.Spec.Cause
			p.Details = &v1alpha1.PastDetails{InputsDigest: r.Spec.InputsDigest, Revision: r.Spec.Revision,
				Plan: withoutResources(r.Status.Plan), Steps: runinfo.FinalSteps(r)}
		}
		kept = append(kept, p)
	}
	return kept
}

// runsWithDetails names the Runs of which rules need more than the name: now, after a user deleted Runs that did not
// succeed, and after spec.apply changed, which decides whether a Run is read-only. What is not kept here is lost.
func runsWithDetails(w Snapshot) []string {
	names, stack := []string{w.Stack.Status.DestroyedByRun}, *w.Stack
	w.Stack = &stack
	w.Runs = slices.DeleteFunc(slices.Clone(w.Runs), func(r v1alpha1.Run) bool {
		return r.Status.Phase != v1alpha1.PhaseSucceeded
	})
	for _, stack.Spec.Apply = range []v1alpha1.ApplyPolicy{v1alpha1.ApplyNever, v1alpha1.ApplyManual} {
		planned := w.newestRun(func(r *v1alpha1.Run) bool { return r.Status.Plan != nil })
		for _, r := range []*v1alpha1.Run{w.LatestRun(), w.LastMutatingRun(), w.lastDeployRun(), w.lastApply(),
			planned} {
			if r != nil {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

// withoutResources is a plan without what it would do to each resource.
func withoutResources(plan *v1alpha1.Plan) *v1alpha1.Plan {
	if plan == nil {
		return nil
	}
	short := *plan
	short.Resources, short.Outputs, short.Differences, short.Policy = nil, nil, nil, nil
	return &short
}

// RunsToPrune are the finished Runs past spec.runHistoryLimit, without the newest Run. Drift checks are not counted: of
// them the newest is kept. The one stays that found the drift which is known.
func RunsToPrune(w Snapshot) []v1alpha1.Run {
	if len(w.Runs) == 0 || w.Stack.Spec.RunHistoryLimit == nil {
		return nil
	}
	newest, decisive, found := w.LatestRun().Name, w.LastMutatingRun(), ""
	if drift := w.Stack.Status.Drift; drift != nil {
		found = drift.Run
	}
	var finished, checks []v1alpha1.Run
	for _, r := range w.Runs {
		switch {
		case !r.Status.Phase.Finished(), r.Name == newest, decisive != nil && r.Name == decisive.Name,
			r.Name == found:
		case runinfo.IsDriftCheck(&r):
			checks = append(checks, r)
		default:
			finished = append(finished, r)
		}
	}
	keep := int(*w.Stack.Spec.RunHistoryLimit)
	if decisive != nil && decisive.Status.Phase.Finished() {
		keep-- // the newest is one of those that are kept
	}
	return append(finished[:max(0, len(finished)-max(0, keep))], checks...)
}
