package code

import (
	"context"
	"errors"
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// ErrRemoteContent is a merge result of a Repository with submodules or LFS, which cannot be read without the remote.
var ErrRemoteContent = errors.New("pull requests of a Repository with spec.submodules or spec.lfs cannot be planned")

// Proposal is a commit that is proposed to be merged into a branch, as a pull request is. It is the Source of Stacks as
// they would be after the merge. Close has to be called.
type Proposal struct {
	// Base is the commit that the branch is at.
	Base       git.Commit
	repository *v1alpha1.Repository
	codes      *Codes
	merge      *git.Merge
	// base is the code at Base, and merged that of the merge result, without what a Stack reads there. merged is
	// empty if there are conflicts.
	base, merged GitCode
	// ancestors is the code at the common ancestors of the base and the head; nil until it is read.
	ancestors []GitCode
}

// Propose merges a commit into a branch. The name is that of the proposal in revisions, such as pull/12. It returns
// ErrNotFetched of package repository if the mirror does not have the commit yet.
func (c *Codes) Propose(
	ctx context.Context, r *v1alpha1.Repository, branch, head, name string,
) (*Proposal, error) {
	base, err := c.atRef(ctx, r, branch) // or a commit
	if err != nil {
		return nil, err
	}
	if o := base.mirror.Options(); o.Submodules || o.LFS {
		return nil, ErrRemoteContent
	}
	if _, err := base.mirror.Resolve(ctx, head); errors.Is(err, git.ErrNoRef) {
		return nil, repository.ErrNotFetched
	} else if err != nil {
		return nil, err
	}
	merge, err := base.mirror.Merge(ctx, base.Commit.ID, head)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Base: base.Commit, repository: r, codes: c, merge: merge, base: base}
	if len(merge.Conflicts) > 0 {
		return p, nil
	}
	tree, err := merge.Content().Tree(ctx, merge.TreeID)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the merge of %s into %s: %w", head, branch, err), p.Close())
	}
	p.merged = base
	p.merged.mirror, p.merged.tree = merge.Content(), tree
	p.merged.Commit = git.Commit{ID: head, Tree: merge.TreeID, Ref: name}
	p.merged.Revision = repository.Revision(p.merged.Commit)
	return p, nil
}

// Conflicts are the paths that conflict, at most 100.
func (p *Proposal) Conflicts() []string { return p.merge.Conflicts }

// Tree is the ID of the merged tree; empty if there are conflicts.
func (p *Proposal) Tree() string { return p.merge.TreeID }

// Close deletes the merge result. What it returned cannot be read afterwards.
func (p *Proposal) Close() error { return p.merge.Close() }

// Tree is all that is in a commit or a merge result, and the mirror that has its content.
type Tree struct {
	*git.Tree
	Mirror *git.Mirror
}

// Trees returns the trees of the base and of the merge result, which must not have conflicts.
func (p *Proposal) Trees() (base, merged Tree) {
	return Tree{p.base.tree, p.base.mirror}, Tree{p.merged.tree, p.merged.mirror}
}

// Affects reports whether the code of a Stack differs between the base and the merge result. Code that a user has to
// correct differs if its error or the files around it do. Code that cannot be read now is an error.
func (p *Proposal) Affects(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (bool, error) {
	return p.codes.differ(ctx, p.base, p.merged, wanted(r, stack))
}

// Diverged reports whether the base has a commit that the head lacks and that changes the code of a Stack: whether the
// code differs between the base and a common ancestor. There must be no conflicts.
func (p *Proposal) Diverged(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (bool, error) {
	if p.ancestors == nil {
		ids, err := p.base.mirror.MergeBases(ctx, p.Base.ID, p.merged.Commit.ID)
		if err != nil {
			return false, err
		}
		ancestors := []GitCode{}
		for _, id := range ids {
			at := p.base
			if at.tree, err = p.base.mirror.Tree(ctx, id); err != nil {
				return false, fmt.Errorf("read commit %s: %w", id, err)
			}
			ancestors = append(ancestors, at)
		}
		p.ancestors = ancestors
	}
	want := wanted(r, stack)
	for _, at := range p.ancestors {
		if differ, err := p.codes.differ(ctx, at, p.base, want); err != nil || differ {
			return differ, err
		}
	}
	return len(p.ancestors) == 0, nil
}

// differ reports whether the code of a Stack differs between two commits.
func (c *Codes) differ(ctx context.Context, one, other GitCode, want closure.Wanted) (bool, error) {
	before, wrongBefore := c.closures.Digest(ctx, one.tree, one.mirror, want)
	if wrongBefore != nil && Reason(wrongBefore) == "" {
		return false, wrongBefore
	}
	after, wrongAfter := c.closures.Digest(ctx, other.tree, other.mirror, want)
	if wrongAfter != nil && Reason(wrongAfter) == "" {
		return false, wrongAfter
	}
	if wrongBefore == nil || wrongAfter == nil {
		return before != after, nil
	}
	if wrongBefore.Error() != wrongAfter.Error() {
		return true, nil
	}
	before, err := c.closures.Broken(ctx, one.tree, one.mirror, want)
	if err != nil {
		return false, err
	}
	after, err = c.closures.Broken(ctx, other.tree, other.mirror, want)
	return before != after, err
}

// Deletes reports whether the proposal deletes the directory of a Stack.
func (p *Proposal) Deletes(stack *v1alpha1.Stack) bool {
	return p.base.directory(stack) != "" && p.merged.directory(stack) == ""
}

// directory returns the ID of the directory of a Stack; empty if it does not exist.
func (c GitCode) directory(stack *v1alpha1.Stack) string {
	path, ok := closure.CleanPath(stack.Spec.Source.Git.Path)
	if ok && path == "" {
		return c.Commit.Tree
	}
	entry, _ := c.tree.Entry(path) // none has the name of a path that leads out of the repository
	return entry.ID
}

// Of returns the code of a Stack in the merge result. Its image is that of the base: it is built with credentials to
// push, which a proposal must not use.
func (p *Proposal) Of(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (GitCode, error) {
	found, err := p.codes.closures.Of(ctx, p.merged.tree, p.merged.mirror, wanted(r, stack))
	if err != nil {
		return GitCode{}, err
	}
	code := p.merged.of(r, found)
	code.image = &p.base
	return code, nil
}

// Resolve implements Source with the merge result.
func (p *Proposal) Resolve(ctx context.Context, stack *v1alpha1.Stack) (Code, *decision.Problem, error) {
	found, err := p.Of(ctx, p.repository, stack)
	return fromGit(p.repository, stack, found, err)
}

// Base returns the ID of the commit that a branch is at.
func (c *Codes) Base(ctx context.Context, r *v1alpha1.Repository, branch string) (string, error) {
	_, commit, err := c.mirrors.Commit(ctx, r.UID, branch)
	return commit.ID, err
}

// Reads reports whether a Stack reads the branch that a pull request is merged into.
func (c *Codes) Reads(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack, branch string) bool {
	return c.IsBranch(ctx, r, stack.Spec.Source.Git.Ref, branch)
}

// IsBranch reports whether a ref, "" for spec.ref of the Repository, is a branch.
func (c *Codes) IsBranch(ctx context.Context, r *v1alpha1.Repository, ref, branch string) bool {
	ref = branchOf(r, &v1alpha1.GitSource{Ref: ref})
	if ref == branch {
		return true
	}
	if ref != "" {
		return false
	}
	_, commit, err := c.mirrors.Commit(ctx, r.UID, "")
	return err == nil && commit.Ref == branch
}
