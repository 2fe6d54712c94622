package pullrequest

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/requirement"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// The Run of an apply before the merge has in its spec what is required. Once it waits for nothing else, the pull
// request evaluates that, and the Run begins the apply only on what its status has:
//
//	AwaitingRequirements ──► evaluated ──► met: Applying
//	        ▲                    └───────► missing, not known: it waits, and is evaluated again
//	        └── met, and older than a minute: a window, a limit or a restart kept the apply back

// required is a Run whose apply the pull request keeps back, and what is to be written to it.
type required struct {
	run       *v1alpha1.Run
	evaluated v1alpha1.EvaluatedRequirements
}

// gatherRequired evaluates what is required by the Runs that would apply the pull request now.
func (r *Reconciler) gatherRequired(ctx context.Context, w *Snapshot, provider Provider) {
	for _, h := range w.PullRequest.Status.Holds {
		s, ok := w.Held[Key{h.Namespace, h.Name}]
		if !ok || !s.Read || !w.awaitsRequirements(s) {
			continue
		}
		facts := w.requirementFacts()
		facts.Head, facts.Merged = h.Head, w.hasMerged(h)
		r.evaluateRun(ctx, w, provider, s.Run, facts)
	}
	if w.After == nil || !w.After.Known || !w.After.InBase {
		return
	}
	for _, s := range w.After.Stacks {
		if s.Stack.Status.Hold == nil && w.awaitsRequirements(s) { // the code is that of the base
			facts := w.requirementFacts()
			facts.Merged = true
			r.evaluateRun(ctx, w, provider, s.Run, facts)
		}
	}
}

// hasMerged reports whether the merge of the pull request has what a hold applies.
func (w *Snapshot) hasMerged(h v1alpha1.PullRequestHold) bool {
	spec := w.PullRequest.Spec
	return spec.State == v1alpha1.PullRequestMerged &&
		spec.MergeCommit != "" && h.Head == spec.Head.Commit && h.Branch == spec.Base
}

// awaitsRequirements reports whether the Run of a Stack waits for this pull request alone, and applies what the Stack
// has now.
func (w *Snapshot) awaitsRequirements(s AfterStack) bool {
	run := s.Run
	if run == nil || run.Spec.Requirements == nil || run.Status.Plan == nil ||
		run.Status.Phase != v1alpha1.PhaseAwaitingApproval {
		return false
	}
	of, c := run.Spec.Requirements.PullRequest, apimeta.FindStatusCondition(run.Status.Conditions,
		v1alpha1.ConditionSucceeded)
	return of.Namespace == w.PullRequest.Namespace && of.Name == w.PullRequest.Name &&
		c != nil && c.Reason ==
		v1alpha1.ReasonAwaitingRequirements && run.Spec.InputsDigest == s.Stack.Status.InputsDigest
}

// evaluateRun evaluates what a Run requires on facts and on what the Git provider reports, and records what is to be
// written to it.
func (r *Reconciler) evaluateRun(
	ctx context.Context, w *Snapshot, provider Provider, run *v1alpha1.Run, facts requirement.Facts,
) {
	if !facts.Merged && !facts.Ended {
		reported := r.reported(ctx, w, provider)
		facts.Unread, facts.Readiness, facts.Approvals = reported.Unread, reported.Readiness, reported.Approvals
	}
	facts.Required = run.Spec.Requirements.Types
	facts.Stacks = slices.DeleteFunc(facts.Stacks, func(s requirement.Stack) bool {
		return s.Namespace != run.Namespace || s.Name != run.Spec.Stack.Name
	})
	next := v1alpha1.EvaluatedRequirements{
		PlanDigest: run.Status.Plan.Digest, At: metav1.Time{Time: w.Now}, Results: requirement.Evaluate(facts),
	}
	isMet, again := true, fetchLongest
	known := run.Status.Requirements
	for i := range next.Results {
		one := &next.Results[i]
		isMet = isMet && one.State == v1alpha1.RequirementMet
		if one.State == v1alpha1.RequirementUnknown { // of which there is no event
			again = readAgainFor
		}
		if known != nil && i < len(known.Results) && facts.Unread != "" { // which may have the ID of a request
			one.Message = runinfo.KeepIfEquivalent(known.Results[i].Message, one.Message)
		}
	}
	w.ReadAgain = sooner(w.ReadAgain, again)
	isSame := known != nil && known.PlanDigest == next.PlanDigest && equality.Semantic.DeepEqual(known.Results,
		next.Results)
	if isSame && (!isMet || w.Now.Sub(known.At.Time) < readAgainFor) {
		return
	}
	w.Required = append(w.Required, required{run, next})
}

// reported returns what the Git provider reports now.
func (r *Reconciler) reported(ctx context.Context, w *Snapshot, provider Provider) requirement.Facts {
	spec := w.PullRequest.Spec
	last, ok := r.evaluated.get(w.PullRequest.UID)
	age := w.Now.Sub(last.at)
	if !ok || !last.updated.Equal(spec.UpdatedAt.Time) || last.facts.Head != spec.Head.Commit || age >= readFor ||
		age < 0 {
		r.evaluate(ctx, w, provider)
		last, _ = r.evaluated.get(w.PullRequest.UID)
	}
	return last.facts
}

// writeRequired writes what was evaluated to the Runs, as long as these are as they were read.
func (r *Reconciler) writeRequired(ctx context.Context, all []required) error {
	for _, one := range all {
		run := one.run.DeepCopy()
		run.Status.Requirements = &one.evaluated
		change := client.MergeFromWithOptions(one.run, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, run, change); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the requirements of Run %s/%s: %w", run.Namespace, run.Name, err)
		}
	}
	return nil
}
