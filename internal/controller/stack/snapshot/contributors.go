package snapshot

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/git"
)

// GatherCommits adds who wrote the commits that are not applied, for a Run that spec.preventSelfApproval is for.
func (g *Gatherer) GatherCommits(ctx context.Context, w *decision.Snapshot) error {
	repo, problem, err := g.Code.Repository(ctx, w.Stack)
	if repo == nil {
		w.Problem = problem
		return err
	}
	since, inclusive := decision.UnappliedSince(*w)
	commits := decision.Commits{Base: since}
	found, err := g.contributors(ctx, repo, w, since)
	switch {
	case errors.Is(err, git.ErrNoRef) && w.Stack.Status.Source != nil && *w.Stack.Status.Source != *w.Source:
		// The user who chose another source is one of the contributors: all that is there now is their change.
		commits.Base, inclusive = w.Commit.ID, true
	case errors.Is(err, git.ErrNoRef):
		commits.Unknown = fmt.Sprintf("commit %.7s, after which commits are not applied, is not in the "+
			"repository any more", since)
	case errors.Is(err, git.ErrTooLarge):
		commits.Unknown = err.Error()
	case err != nil:
		return fmt.Errorf("list the authors of commits: %w", err)
	case len(found.Unexplained) > 0:
		commits.Unknown = fmt.Sprintf("no commit since %.7s explains the change of %q: the history of the branch was "+
			"rewritten, or older code was merged",
			since, found.Unexplained[0])
	}
	people := found.Users
	if inclusive {
		first, err := g.Code.CommitContributors(ctx, repo, w.Effective, commits.Base)
		if err != nil {
			return fmt.Errorf("read the authors of commit %s: %w", commits.Base, err)
		}
		people = append(people, first...)
	}
	for _, p := range people {
		commits.By = append(commits.By, decision.CommitContributor(p.Name, p.Email, p.Commit, p.Committer))
	}
	commits.SpecApplied = g.specIsApplied(ctx, w)
	w.Commits = commits
	return nil
}

// contributors returns who wrote the commits after one that is applied: of a pull request that holds the Stack, also
// who has a commit in it. What the base changed since the head was branched off is explained by the commits of the
// base.
func (g *Gatherer) contributors(
	ctx context.Context, repo *v1alpha1.Repository, w *decision.Snapshot, since string,
) (code.Contributors, error) {
	if w.Hold == nil {
		return g.Code.Contributors(ctx, repo, w.Effective, since, w.Commit.ID)
	}
	found, err := g.Code.Contributors(ctx, repo, w.Effective, since, w.Hold.Base)
	if err != nil {
		return found, err
	}
	of, err := g.Code.Contributors(ctx, repo, w.Effective, w.Hold.Base, w.Hold.Head)
	found.Users = append(found.Users, of.Users...)
	return found, err
}

// specIsApplied reports that the inputs differ from those that were last applied in nothing that the spec decides.
func (g *Gatherer) specIsApplied(ctx context.Context, w *decision.Snapshot) bool {
	if w.Stack.Status.Unapplied == nil || w.Stack.Status.Unapplied.InputsDigest == "" {
		return false
	}
	applied, err := g.Inputs.Get(ctx, w.Stack.Status.Unapplied.InputsDigest)
	return err == nil && equality.Semantic.DeepEqual(withoutCode(applied), withoutCode(w.Inputs))
}

// withoutCode is a document without what commits and other objects decide.
func withoutCode(doc inputs.Document) inputs.Document {
	doc.Source, doc.Versions = "", nil
	if doc.Build != nil {
		build := *doc.Build
		build.Source, doc.Build = "", &build
	}
	return doc
}
