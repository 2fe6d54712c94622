package code

import (
	"context"
	"errors"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/git"
)

// Merged is the history of a branch with a commit that was merged into it.
type Merged struct {
	// Commit was merged. Base is the commit that the branch is at.
	Commit, Base string
	// InBase reports whether the branch has the commit. Known is false if what is fetched does not show it.
	InBase, Known bool

	repository *v1alpha1.Repository
	codes      *Codes
	at         GitCode
}

// Merged returns the history of a branch with a commit that was merged into it.
func (c *Codes) Merged(ctx context.Context, r *v1alpha1.Repository, branch, commit string) (*Merged, error) {
	m := &Merged{Commit: commit, repository: r, codes: c}
	at, err := c.atRef(ctx, r, branch)
	if errors.Is(err, repository.ErrNotFetched) || Reason(err) != "" {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	m.at, m.Base = at, at.Commit.ID
	m.InBase, m.Known, err = m.has(ctx, m.Base)
	return m, err
}

// has reports whether a commit has the merged one in its history; known is false if the mirror does not have both.
func (m *Merged) has(ctx context.Context, commit string) (has, known bool, err error) {
	key := [2]string{commit, m.Commit}
	if has, known = m.codes.histories.Get(key); known {
		return has, true, nil
	}
	has, err = m.at.mirror.Contains(ctx, commit, m.Commit)
	if errors.Is(err, git.ErrNoRef) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	m.codes.histories.Add(key, has)
	return has, true, nil
}

// Has reports whether a revision has the merge in its history. What is not known is false.
func (m *Merged) Has(ctx context.Context, revision string) (bool, error) {
	commit := runinfo.CommitOf(revision)
	if !m.InBase || commit == "" {
		return false, nil
	}
	has, _, err := m.has(ctx, commit)
	return has, err
}

// IsSame reports whether the code of a Stack at a revision is that of the branch now, which has the merge. What is not
// known is false.
func (m *Merged) IsSame(ctx context.Context, stack *v1alpha1.Stack, revision string) bool {
	commit := runinfo.CommitOf(revision)
	if !m.InBase || commit == "" {
		return false
	}
	same, err := m.codes.sameCode(ctx, m.at.mirror, wanted(m.repository, stack), commit, m.Base)
	return err == nil && same // a commit may not be in the mirror any more
}

// IsRead reports whether the last reconcile of a Stack read what the branch has now.
func (m *Merged) IsRead(ctx context.Context, stack *v1alpha1.Stack) bool {
	return m.InBase && !m.codes.Changed(ctx, m.repository, stack)
}
