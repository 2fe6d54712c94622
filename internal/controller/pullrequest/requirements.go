package pullrequest

import (
	"context"
	"slices"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/controller/pullrequest/requirement"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// readFor is how long what the Git provider reports counts when an apply would start, and readAgainFor when it is read
// again if that is not known.
const readFor, readAgainFor = 5 * time.Second, 10 * time.Second

// requires reports whether an apply before the merge has requirements.
func (w *Snapshot) requires() bool { return w.appliesBefore() && len(w.Settings.Requirements) > 0 }

func requiresUndiverged(s *v1alpha1.PullRequests) bool {
	return s.Apply == v1alpha1.ApplyBeforeMerge && slices.Contains(s.Requirements, v1alpha1.RequirementUndiverged)
}

// evaluate reads what the Git provider reports now, and records the requirements in the status of the snapshot.
func (r *Reconciler) evaluate(ctx context.Context, w *Snapshot, provider Provider) {
	facts := w.requirementFacts()
	readiness, approvals, err := r.readiness(ctx, w, provider)
	if err != nil {
		facts.Unread = runinfo.Clip(err.Error(), 300)
	} else {
		facts.Readiness, facts.Approvals = readiness, approvals
	}
	before, status := w.PullRequest.Status.Requirements, &w.PullRequest.Status
	status.Requirements = requirement.Evaluate(facts)
	for i := range min(len(before), len(status.Requirements)) {
		if next := &status.Requirements[i]; facts.Unread != "" { // which may have the ID of a request
			next.Message = runinfo.KeepIfEquivalent(before[i].Message, next.Message)
		}
	}
	r.evaluated.add(w.PullRequest.UID, evaluation{reading{w.PullRequest.Spec.UpdatedAt.Time, w.Now}, facts})
}

// evaluation is when requirements were evaluated, and on which facts.
type evaluation struct {
	reading
	facts requirement.Facts
}

// readiness reads what the rules of the Git provider lead to, and the reviews that approve.
func (r *Reconciler) readiness(
	ctx context.Context, w *Snapshot, provider Provider,
) (pulls.Readiness, []requirement.Approval, error) {
	spec, own := w.PullRequest.Spec, w.Settings.StatusContext
	isOwn := func(context string) bool { return context == own || strings.HasPrefix(context, own+"/") }
	found, err := provider.Reviews(ctx, int(spec.Number))
	if err != nil {
		return pulls.Readiness{}, nil, err
	}
	var approvals []requirement.Approval
	for _, review := range found {
		approvals = append(approvals, requirement.Approval{By: provider.User(review.Author), Commit: review.Commit})
	}
	of := pulls.Merge{Number: int(spec.Number), Head: spec.Head.Commit, Base: spec.Base}
	readiness, err := provider.Readiness(ctx, of, isOwn)
	return readiness, approvals, err
}

// requirementFacts returns what is known without the Git provider.
func (w *Snapshot) requirementFacts() requirement.Facts {
	spec := w.PullRequest.Spec
	f := requirement.Facts{
		Head: spec.Head.Commit, Newest: spec.Head.Commit, Author: spec.Author, Branch: spec.Head.Branch,
		Into:     spec.Base,
		Required: w.Settings.Requirements, Compared: requiresUndiverged(w.Settings),
		Ended: spec.State != v1alpha1.PullRequestOpen,
	}
	if w.Merge == nil {
		return f
	}
	f.Base = w.Merge.Base
	for _, a := range w.Merge.Affected {
		f.Stacks = append(f.Stacks, requirement.Stack{Namespace: a.Namespace, Name: a.Name, Diverged: a.Diverged})
	}
	return f
}

// require adds to the facts of a command what the pull request is known to lack now.
func (r *Reconciler) require(ctx context.Context, w *Snapshot, provider Provider, facts *command.Snapshot) {
	r.evaluate(ctx, w, provider)
	for i := range facts.Stacks {
		s := &facts.Stacks[i]
		s.Lacks = requirement.Missing(w.PullRequest.Status.Requirements, s.Namespace, s.Name)
	}
}

// gatherRequirements evaluates the requirements of an open pull request, for users: they are evaluated again for a
// command, and when the apply of a Run would start.
func (r *Reconciler) gatherRequirements(ctx context.Context, w *Snapshot, provider Provider) {
	spec, status := w.PullRequest.Spec, &w.PullRequest.Status
	switch {
	case !w.requires() || spec.State != v1alpha1.PullRequestOpen || spec.Draft || spec.Fork:
		status.Requirements = nil
		return
	case w.Merge == nil: // those of the merge before stay
		return
	case len(w.Merge.Affected) == 0:
		status.Requirements = nil
		return
	}
	last, ok := r.evaluated.get(w.PullRequest.UID)
	isSame := ok && last.updated.Equal(spec.UpdatedAt.Time) && last.facts.Head == spec.Head.Commit &&
		last.facts.Base == w.Merge.Base
	if !isSame || !w.hasRequirements() || w.Now.Sub(last.at) >= reviewsFor {
		r.evaluate(ctx, w, provider)
	}
	isUnknown := func(r v1alpha1.PullRequestRequirement) bool { return r.State == v1alpha1.RequirementUnknown }
	if slices.ContainsFunc(status.Requirements, isUnknown) { // of which there is no event
		w.ReadAgain = sooner(w.ReadAgain, fetchLongest)
	}
}

// hasRequirements reports whether the status has exactly the requirements of the Repository.
func (w *Snapshot) hasRequirements() bool {
	return slices.EqualFunc(w.PullRequest.Status.Requirements, w.Settings.Requirements,
		func(have v1alpha1.PullRequestRequirement, want v1alpha1.Requirement) bool { return have.Type == want })
}
