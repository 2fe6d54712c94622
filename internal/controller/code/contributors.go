package code

import (
	"context"
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/git"
)

// Contributors are who wrote what a Stack reads at a commit, as far as another commit does not have it.
type Contributors struct {
	Users []git.Contributor
	// Unexplained are files whose change no commit between the two explains.
	Unexplained []string
}

// Contributors returns who wrote the commits since another one that changed what a Stack reads. The error is
// git.ErrNoRef if the mirror does not have a commit, and git.ErrTooLarge if there are too many.
func (c *Codes) Contributors(
	ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, since, commit string,
) (found Contributors, err error) {
	mirror, _, err := c.mirrors.Commit(ctx, r.UID, refOf(r, stack.Spec.Source.Git))
	if err != nil || since == commit {
		return found, err
	}
	paths, err := c.changedPaths(ctx, mirror, r, stack, since, commit)
	if err != nil || (paths != nil && len(paths) == 0) {
		return found, err
	}
	found.Users, found.Unexplained, err = mirror.Contributors(ctx, since, commit, paths)
	if err != nil || len(found.Unexplained) == 0 {
		return found, err
	}
	found.Users, _, err = mirror.Contributors(ctx, since, commit, nil)
	return found, err
}

// CommitContributors returns who wrote one commit.
func (c *Codes) CommitContributors(
	ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, commit string,
) ([]git.Contributor, error) {
	mirror, _, err := c.mirrors.Commit(ctx, r.UID, refOf(r, stack.Spec.Source.Git))
	if err != nil {
		return nil, err
	}
	return mirror.CommitContributors(ctx, commit)
}

// changedPaths are the files that differ between two commits and that the Stack reads at one of them; nil if that is
// not known, so that any file may be one of them.
func (c *Codes) changedPaths(
	ctx context.Context, mirror *git.Mirror, r *v1alpha1.Repository, stack *v1alpha1.Stack, since, commit string,
) ([]string, error) {
	if stack.Spec.Runner.Build != nil { // what an image is built from is read too
		return nil, nil
	}
	var trees [2]*git.Tree
	var files []git.Entry
	for i, id := range []string{since, commit} {
		tree, err := mirror.Tree(ctx, id)
		if err != nil {
			return nil, err
		}
		found, err := c.closures.Of(ctx, tree, mirror, wanted(r, stack))
		if Reason(err) != "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		trees[i], files = tree, append(files, found.Files...)
	}
	paths := []string{}
	for _, e := range files {
		before, _ := trees[0].Entry(e.Path)
		if now, _ := trees[1].Entry(e.Path); before != now {
			paths = append(paths, e.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
