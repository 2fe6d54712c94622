package code

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// released is the Source of Stacks at the commit of a release.
type released struct {
	sources *Sources
	commit  string
}

// Released returns the Source of Stacks at the commit of a release. A commit that is not in the mirror is a problem:
// the branch is never read instead.
func (s *Sources) Released(commit string) Source { return released{s, commit} }

// Resolve implements Source.
func (r released) Resolve(ctx context.Context, stack *v1alpha1.Stack) (Code, *decision.Problem, error) {
	repo, problem, err := r.sources.Repository(ctx, stack)
	if repo == nil {
		return Code{}, problem, err
	}
	found, err := r.sources.At(ctx, repo, stack, r.commit)
	return fromGit(repo, stack, found, err)
}

// At returns the code of a Stack at a commit. Its revision names the ref of the Stack.
func (c *Codes) At(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, commit string) (GitCode, error) {
	at, err := c.atRef(ctx, r, commit)
	if err != nil {
		return GitCode{}, err
	}
	if branch, err := c.Head(ctx, r, refOf(r, stack.Spec.Source.Git)); err == nil {
		at.Commit.Ref = branch.Ref
	}
	at.Revision = repository.Revision(at.Commit)
	found, err := c.closures.Of(ctx, at.tree, at.mirror, wanted(r, stack))
	if err != nil {
		return GitCode{}, err
	}
	return at.of(r, found), nil
}

// Head returns the commit that a ref names; ErrNotFetched of package repository if that is not known.
func (c *Codes) Head(ctx context.Context, r *v1alpha1.Repository, ref string) (git.Commit, error) {
	_, commit, err := c.mirrors.Commit(ctx, r.UID, ref)
	return commit, err
}

// SameCode reports whether a Stack reads the same code at two commits. Code that a user has to correct, or a commit
// that is not in the mirror, is not the same. Code that cannot be read now is an error.
func (c *Codes) SameCode(
	ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, one, other string,
) (bool, error) {
	mirror, _, err := c.mirrors.Commit(ctx, r.UID, other)
	if err != nil {
		return false, unlessLasting(err)
	}
	same, err := c.sameCode(ctx, mirror, wanted(r, stack), one, other)
	return same, unlessLasting(err)
}

// unlessLasting is an error, unless only a user can correct it.
func unlessLasting(err error) error {
	if err != nil && Reason(err) != "" {
		return nil
	}
	return err
}

// sameCode reports whether the code is the same at two commits of a mirror.
func (c *Codes) sameCode(
	ctx context.Context, mirror *git.Mirror, want closure.Wanted, one, other string,
) (bool, error) {
	if one == other {
		return true, nil
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %s %#v", one, other, want))
	if same, ok := c.same.Get(key); ok { // of each Stack the tree of another commit would be read
		return same, nil
	}
	var digests [2]string
	for i, commit := range []string{one, other} {
		tree, err := mirror.Tree(ctx, commit)
		if err != nil {
			return false, err
		}
		if digests[i], err = c.closures.Digest(ctx, tree, mirror, want); err != nil {
			return false, err
		}
	}
	same := digests[0] == digests[1]
	c.same.Add(key, same)
	return same, nil
}
