package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/base/shorten"
)

// FetchOptions select what is fetched beside branches and tags.
type FetchOptions struct {
	// Commits wanted by their full IDs, which no branch or tag need have: the head of a pull request from a fork.
	// One that is there already costs nothing. One that cannot be had is ErrNoRef; all the rest is fetched then.
	// They are kept for two weeks at least; ask again for those that are older. One that would exceed the limit of the
	// mirror is fetched again after an hour at the earliest; until then Resolve returns ErrMirrorTooLarge for it.
	Commits []string
}

// Fetch updates branches and tags to those of the remote. It receives only what is new, drops what is gone, and
// accepts a push by force. One Fetch runs at a time; the others wait for it.
//
// ErrNoRef means that branches and tags are those of the remote now, and only some of Commits were not found. After
// any other error they are those of the last fetch that succeeded; if ctx ended while commits were fetched, Refs
// shows which.
func (m *Mirror) Fetch(ctx context.Context, remote Remote, o FetchOptions) error {
	if _, err := parseRemote(remote.URL); err != nil {
		return err
	}
	if err := remote.Auth.Check(); err != nil {
		return fail(ErrConfig, "%s", err)
	}
	if !m.begin() {
		return errClosed
	}
	defer m.work.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(m.ctx, cancel)
	defer stop()
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return stopped(ctx, "fetch "+remote.URL)
	}
	err := m.fetch(ctx, remote, o)
	switch {
	case err == nil, errors.Is(err, ErrNoRef):
		m.work.Go(func() { m.maintain(); <-m.turn }) // no caller waits for it
		return err
	case ctx.Err() != nil:
		err = stopped(ctx, "fetch "+remote.URL)
	}
	<-m.turn
	return err
}

// begin reports that the Mirror is open. Close waits then until work is done.
func (m *Mirror) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return false
	}
	m.work.Add(1)
	return true
}

// fetch has the mirror for itself.
func (m *Mirror) fetch(ctx context.Context, remote Remote, o FetchOptions) error {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	s, err := m.open(ctx, remote)
	if err != nil {
		return err
	}
	defer s.close()
	err = s.update(ctx, o.Commits)
	if errors.Is(err, ErrRedirect) {
		if err = s.follow(ctx); err == nil {
			err = s.update(ctx, o.Commits)
		}
	}
	if errors.Is(err, ErrAuthentication) {
		m.apps.forget()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.redirect = nil
	if err == nil || errors.Is(err, ErrNoRef) {
		m.origin, m.redirect = &remote, &redirect{remote.URL, s.at}
	}
	return err
}

// update fetches into the mirror, or into a new one in place of one that is damaged.
func (s *session) update(ctx context.Context, commits []string) error {
	err := s.m.checkWhole(ctx)
	if err == nil && s.m.root() == s.m && s.m.usage("") > s.m.o.MaxDisk {
		err = errDamaged // a new one is smaller, if the remote is by now
	}
	if err == nil {
		err = s.fetchAll(ctx, commits)
	}
	if errors.Is(err, errDamaged) {
		was := s.m.Empty()
		err = s.renew(ctx, commits)
		if log := s.m.o.Log; log != nil && !was {
			log.Warn("git mirror was damaged or too large, and is fetched again", "mirror", s.m.dir, "error", err)
		}
	}
	return err
}

// errDamaged means that the mirror itself is broken, or that there is none yet.
var errDamaged = errors.New("the mirror is damaged")

// checkWhole reads all of the mirror, which takes long, if an object in it could not be read.
func (m *Mirror) checkWhole(ctx context.Context) error {
	if m.Empty() {
		return errDamaged
	}
	if !m.suspect.Load() {
		return nil
	}
	_, err := m.run(ctx, command{args: []string{"fsck", "--no-dangling", "--no-progress"}})
	// it stays suspect until it is renewed: the remote may be away
	if _, failed := errors.AsType[*gitError](err); failed {
		return errDamaged
	}
	if err == nil {
		m.suspect.Store(false)
	}
	return err
}

// fetchAll fetches branches and tags, then what HEAD is, then commits that are still missing. The first two become
// visible together.
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
	failed, ok := errors.AsType[*gitError](err)
	if ok && strings.Contains(failed.said, "couldn't find remote ref HEAD") {
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
	out, err := s.run(ctx, "ls-remote", "--quiet", "--symref", "--", s.at.String(), "HEAD")
	if err != nil {
		return err
	}
	head := parseHead(string(out))
	if known.ids[head] == "" { // created since
		head = remoteHead
	}
	_, err = s.local(ctx, "symbolic-ref", "HEAD", head)
	return err
}

// parseHead reads the line "ref: refs/heads/main<tab>HEAD", which is missing when HEAD is no branch.
func parseHead(out string) string {
	for line := range strings.Lines(out) {
		target, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		branch, symbolic := strings.CutPrefix(target, "ref: ")
		if ok && symbolic && name == "HEAD" && strings.HasPrefix(branch, "refs/heads/") {
			return branch
		}
	}
	return remoteHead
}

// fetch calls git fetch. A ref that prevents another (a, then a/b) is removed first, which --atomic would not do.
func (s *session) fetch(ctx context.Context, refspecs ...string) error {
	args := []string{
		"fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--end-of-options", s.at.String(),
	}
	return s.limited(ctx, func(ctx context.Context) error {
		_, err := s.run(ctx, append(args, refspecs...)...)
		return err
	})
}

// mostNamed is how many commits a message names.
const mostNamed = 3

// missingCommits is ErrNoRef: branches and tags were fetched, some commits could not be.
type missingCommits struct {
	message string
	// cause is what kept a commit away that the remote may have, nil when it has none of them.
	cause error
}

func (e *missingCommits) Error() string { return e.message }

// Unwrap is not the cause: what befell one commit is no trouble of the Repository.
func (e *missingCommits) Unwrap() error { return ErrNoRef }

// fetchCommits fetches by ID, one after the other: one that cannot be had keeps none of the others away.
func (s *session) fetchCommits(ctx context.Context, ids []string) error {
	var unknown []string
	var cause error
	for _, id := range ids {
		switch err := s.fetchCommit(ctx, id); {
		case err == nil:
		case errors.Is(err, errDamaged) || errors.Is(ctx.Err(), context.Canceled):
			return err
		case errors.Is(err, ErrNoRef):
			unknown = append(unknown, short(id))
		case cause == nil:
			cause = fmt.Errorf("commit %s: %w", id, err)
		}
	}
	var said []string
	if len(unknown) > 0 {
		ids := shorten.List(unknown, mostNamed)
		said = append(said, fmt.Sprintf("fetch %s: the repository has no such commit: %s", s.remote.URL, ids))
	}
	if cause != nil {
		said = append(said, cause.Error())
	}
	if said == nil {
		return nil
	}
	return &missingCommits{strings.Join(said, "; "), cause}
}

func (s *session) fetchCommit(ctx context.Context, id string) error {
	if !isID(id) { // git could interpret it as a flag or a ref
		return fail(ErrNoRef, "%.100q is not the full ID of a commit", id)
	}
	_, err := s.m.readers.read(ctx, id+"^{commit}", "commit", mostCommit)
	if !isMissing(err) {
		return s.explain(err)
	}
	if err := s.m.oversized.find(id); err != nil {
		return err
	}
	before, err := s.packs()
	if err != nil {
		return err
	}
	o := s.m.root().o
	s.reserve = min(o.MaxDisk, o.Space.limit) / 4
	err = s.fetch(ctx, id)
	s.reserve = 0
	if errors.Is(err, ErrMirrorTooLarge) {
		err = fmt.Errorf("a quarter of the limit is for branches and tags only, and %w", err)
		s.m.oversized.add(id, err)
		err = errors.Join(err, s.deletePacks(before))
	}
	return s.explain(err)
}

// packs returns the names of the files of packs.
func (s *session) packs() (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Join(s.m.path(s.repo), "objects", "pack"))
	names := map[string]bool{}
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	return names, err
}

// deletePacks deletes all packs except those of before: no ref names what a fetch of a commit received. It is in packs,
// however small, since git checks it.
func (s *session) deletePacks(before map[string]bool) error {
	now, err := s.packs()
	for name := range now {
		if !before[name] {
			err = errors.Join(err, os.Remove(filepath.Join(s.m.path(s.repo), "objects", "pack", name)))
		}
	}
	return err
}
