package code

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/git"
)

// heldCodeAgain is when the commits of a hold are looked for again: a fetch that brings them back moves no branch that
// the Stack reads.
const heldCodeAgain = time.Minute

// Joined is the merge of two commits. Without conflicts, it is a Source.
type Joined interface {
	Source
	// Conflicts are the paths that conflict, at most 100.
	Conflicts() []string
	// Close deletes the merge result.
	Close() error
}

// Join implements Git.
func (c *Codes) Join(ctx context.Context, r *v1alpha1.Repository, base, head, name string) (Joined, error) {
	p, err := c.Propose(ctx, r, base, head, name)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Held merges the head of a pull request that holds a Stack into the commit of the base that a user applied it to: both
// are named by their IDs, so that neither a push nor another merge changes what is applied. The result has to be
// closed.
func (s *Sources) Held(
	ctx context.Context, stack *v1alpha1.Stack, hold *v1alpha1.StackHold,
) (Joined, *decision.Problem, error) {
	repo, problem, err := s.Repository(ctx, stack)
	if repo == nil {
		return nil, problem, err
	}
	proposal, err := s.Join(ctx, repo, hold.Base, hold.Head, fmt.Sprintf("pull/%d", hold.Number))
	// Without a commit, a mirror that is fetched has no better answer than one that is not.
	notFound := errors.Is(err, git.ErrNoRef) || errors.Is(err, repository.ErrNotFetched) && s.isFetched(ctx, repo)
	switch {
	case notFound:
		return nil, &decision.Problem{
			Transient: true, After: heldCodeAgain, Reason: v1alpha1.ReasonHeldCodeNotFound, Message: fmt.Sprintf(
				"%s is applied before its merge, and Repository %s does not have its commit %.12s, or the base "+
					"%.12s, any more: comment /cairn apply there again, or /cairn unlock", hold.Text(), repo.Name,
				hold.Head, hold.Base),
		}, nil
	case err != nil:
		return nil, Code{Repository: repo}.Problem(err), unlessProblem(Code{Repository: repo}, err)
	case len(proposal.Conflicts()) > 0: // it was merged before, so that another version of git merges otherwise
		return nil, &decision.Problem{Reason: v1alpha1.ReasonHeldCodeNotFound, Message: fmt.Sprintf(
				"%s does not merge into %.12s any more: comment /cairn unlock there", hold.Text(), hold.Base)},
			proposal.Close()
	}
	return proposal, nil, nil
}

// unlessProblem is an error, unless it is a problem that is reported.
func unlessProblem(c Code, err error) error {
	if c.Problem(err) != nil {
		return nil
	}
	return err
}

// isFetched reports whether this process has the branches of a Repository.
func (s *Sources) isFetched(ctx context.Context, r *v1alpha1.Repository) bool {
	_, err := s.Base(ctx, r, r.Spec.Ref)
	return !errors.Is(err, repository.ErrNotFetched)
}
