package git

import (
	"context"
	"errors"
	"strings"
)

// fetchAll fetches branches and tags, then what HEAD is, then commits that are still missing. Nobody sees anything of the
// first two before both are here.
func (s *session) fetchAll(ctx context.Context, commits []string) error {
	known, err := s.fetchRefs(ctx)
	if err != nil {
		return err
	}
	s.m.publish(known)
	return s.fetchCommits(ctx, commits)
}

func (s *session) fetchRefs(ctx context.Context) (refs, error) {
	if err := unlock(s.m.path(s.repo)); err != nil {
		return refs{}, err
	}
	refspecs := []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	err := s.fetch(ctx, append(refspecs, "+HEAD:"+remoteHead)...)
	var failed *gitError
	if errors.As(err, &failed) && strings.Contains(failed.said, "couldn't find remote ref HEAD") {
		// An empty repository, or one whose default branch is gone.
		if _, err := s.local(ctx, "update-ref", "-d", remoteHead); err != nil {
			return refs{}, s.explain(err)
		}
		if _, err := s.local(ctx, "symbolic-ref", "HEAD", remoteHead); err != nil {
			return refs{}, s.explain(err)
		}
		err = s.fetch(ctx, refspecs...)
	} else if err == nil {
		err = s.fetchHead(ctx)
	}
	if err != nil {
		return refs{}, s.explain(err)
	}
	known, err := s.m.readRefs(ctx, s.repo)
	return known, s.explain(err)
}

// fetchHead finds out which branch the remote's HEAD names. It asks the remote only when the branch it was is not where
// the remote's HEAD is now: that costs a connection more.
func (s *session) fetchHead(ctx context.Context) error {
	known, err := s.m.readRefs(ctx, s.repo)
	if err != nil {
		return err
	}
	if known.head != remoteHead && known.ids[known.head] == known.ids[remoteHead] {
		return nil
	}
	out, err := s.run(ctx, "ls-remote", "--quiet", "--symref", "--", s.remote.URL, "HEAD")
	if err != nil {
		return err
	}
	head := parseHead(string(out))
	if known.ids[head] == "" { // made since
		head = remoteHead
	}
	_, err = s.local(ctx, "symbolic-ref", "HEAD", head)
	return err
}

// parseHead reads the line "ref: refs/heads/main<tab>HEAD", which is not there when HEAD is no branch.
func parseHead(out string) string {
	for line := range strings.Lines(out) {
		target, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if branch, symbolic := strings.CutPrefix(target, "ref: "); ok && symbolic && name == "HEAD" && strings.HasPrefix(branch, "refs/heads/") {
			return branch
		}
	}
	return remoteHead
}

// fetch calls git fetch. A ref that is in the way of another (a, then a/b) goes first, which --atomic would not do.
func (s *session) fetch(ctx context.Context, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--end-of-options", s.remote.URL}
	_, err := s.run(ctx, append(args, refspecs...)...)
	return err
}
