package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/base/weightedlru"
)

const (
	// maxConflicts is the maximum number of paths of a Merge that conflict.
	maxConflicts = 100
	// maxConflictOutput is how much git may print of paths that conflict, in bytes.
	maxConflictOutput = 4 << 20
)

// Merge is the result of merging a commit into another one. No commit is created, and its new objects are in a folder
// of their own, so that the mirror does not grow by what is never merged. Its content is readable until Close, which
// has to precede that of the Mirror.
type Merge struct {
	// TreeID is the ID of the merged tree; empty if there are Conflicts.
	TreeID string
	// Conflicts are the paths that a user has to merge, at most 100.
	Conflicts []string
	view      *Mirror
}

// Merge merges the commit head into the commit base, as `git merge` does without drivers of the repository. ErrNoRef if
// one of them is not in the mirror, or they have no common ancestor.
func (m *Mirror) Merge(ctx context.Context, base, head string) (*Merge, error) {
	for _, id := range []string{base, head} {
		if err := m.hasCommit(ctx, id); err != nil {
			return nil, err
		}
	}
	if _, err := m.run(ctx, command{args: []string{"merge-base", base, head}}); exitCode(err) == 1 {
		return nil, fail(ErrNoRef, "commits %s and %s have no common ancestor", base, head)
	} else if err != nil {
		return nil, explain("find the common ancestor", err)
	}
	view, err := m.newView()
	if err != nil {
		return nil, err
	}
	merge := &Merge{view: view}
	if err := merge.run(ctx, base, head); err != nil {
		return nil, errors.Join(err, merge.Close())
	}
	return merge, nil
}

// Contains reports whether a commit has another one in its history, or is it. ErrNoRef if one of them is not in the
// mirror.
func (m *Mirror) Contains(ctx context.Context, commit, other string) (bool, error) {
	for _, id := range []string{commit, other} {
		if err := m.hasCommit(ctx, id); err != nil {
			return false, err
		}
	}
	_, err := m.run(ctx, command{args: []string{"merge-base", "--is-ancestor", other, commit}})
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		return false, explain("search the history of "+commit, err)
	}
	return true, nil
}

// MergeBases returns the best common ancestors of two commits, of which there are several after criss-cross merges.
func (m *Mirror) MergeBases(ctx context.Context, one, other string) ([]string, error) {
	for _, id := range []string{one, other} {
		if err := m.hasCommit(ctx, id); err != nil {
			return nil, err
		}
	}
	out, err := m.run(ctx, command{args: []string{"merge-base", "--all", one, other}})
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, explain("find the common ancestors", err)
	}
	return strings.Fields(string(out)), nil
}

// hasCommit returns ErrNoRef unless the mirror has a commit.
func (m *Mirror) hasCommit(ctx context.Context, id string) error {
	switch {
	case !isID(id):
		return fail(ErrNoRef, "%.100q is not the full ID of a commit", id)
	case m.Empty():
		return errEmpty
	}
	err := m.readers.stream(ctx, id, "commit", func(string, int64, io.Reader) error { return nil })
	if isMissing(err) {
		return fail(ErrNoRef, "there is no commit %s", id)
	}
	return err
}

// newView returns a Mirror that reads the objects of this one, and writes to a new folder.
func (m *Mirror) newView() (*Mirror, error) {
	folder, err := os.MkdirTemp(m.path(sessions), "merge-")
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return nil, errors.Join(errClosed, os.RemoveAll(folder))
	}
	view := &Mirror{
		dir: m.dir, o: m.o, objects: folder, source: m, number: m.o.Trees.opened.Add(1),
		roots: weightedlru.Sized[string, string](mostRoots), apps: m.apps,
		refs: m.refs, origin: m.origin, redirect: m.redirect,
	}
	view.o.within = m.root()
	view.ctx, view.cancel = context.WithCancel(m.ctx)
	view.readers = &readers{m: view, turns: make(chan struct{}, mostReaders)}
	return view, nil
}

func (g *Merge) run(ctx context.Context, base, head string) error {
	ctx, cancel := context.WithTimeout(ctx, g.view.o.Timeout)
	defer cancel()
	output, err := g.view.run(ctx, command{
		most: maxConflictOutput, args: []string{"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z",
			base, head},
		// A larger file that both sides changed is a conflict, as a binary one is.
		settings: []setting{{"core.bigFileThreshold", "16m"}},
	})
	failed, conflicts := errors.AsType[*gitError](err)
	if conflicts = conflicts && exitCode(err) == 1; conflicts {
		output = failed.output
	} else if err != nil {
		return explain(fmt.Sprintf("merge %s into %s", head, base), err)
	}
	id, rest, _ := bytes.Cut(output, []byte{0})
	if !isID(string(id)) {
		return fmt.Errorf("merge %s into %s: git printed %.100q", head, base, output)
	}
	for path := range bytes.SplitSeq(rest, []byte{0}) {
		if len(path) > 0 && len(g.Conflicts) < maxConflicts {
			g.Conflicts = append(g.Conflicts, string(path))
		}
	}
	if !conflicts {
		g.TreeID = string(id)
	}
	return nil
}

// exitCode returns the exit code of a call that failed by itself; 0 for others.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// Content reads the merged content: trees and blobs of the merge, and of the mirror.
func (g *Merge) Content() *Mirror { return g.view }

// Close deletes the objects of the merge.
func (g *Merge) Close() error {
	g.view.cancel()
	g.view.readers.close()
	g.view.readers.wait()
	return os.RemoveAll(filepath.Clean(g.view.objects))
}
