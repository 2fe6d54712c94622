package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// unused is how long files of LFS are kept after an archive had them, and mirrors of submodules after they were opened.
const unused = 14 * 24 * time.Hour

// maintain packs what many fetches left, each in a pack of its own, and drops what has been unreachable for two
// weeks. git knows itself whether there is enough to do, and mostly there is not; what is large already stays as it
// is. Readers need not stop for it. What fails here is tried again after the next fetch.
func (m *Mirror) maintain() {
	ctx, cancel := context.WithTimeout(m.ctx, m.o.Timeout)
	defer cancel()
	_, _ = m.run(ctx, command{
		args: []string{"gc", "--auto", "--quiet"},
		settings: []setting{{"gc.auto", "6700"}, {"gc.autoPackLimit", "50"}, {"gc.bigPackThreshold", "100m"},
			{"gc.autoDetach", "false"}},
	})
	m.removeUnusedObjects(time.Now().Add(-unused))
	m.removeUnusedMirrors(time.Now().Add(-unused))
}

// removeUnusedObjects removes files of LFS that were not used since.
func (m *Mirror) removeUnusedObjects(since time.Time) {
	entries, err := os.ReadDir(m.path(lfsObjects))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().Before(since) {
			_ = os.Remove(filepath.Join(m.path(lfsObjects), entry.Name()))
		}
	}
}

// removeUnusedMirrors removes mirrors of submodules that were not opened since: who writes .gitmodules names as many as
// they like. Those that are open stay open until the Mirror is closed.
func (m *Mirror) removeUnusedMirrors(since time.Time) {
	m.besideMu.Lock()
	defer m.besideMu.Unlock()
	entries, err := os.ReadDir(m.path(modules))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().Before(since) && m.beside[entry.Name()] == nil {
			_ = os.RemoveAll(filepath.Join(m.path(modules), entry.Name()))
		}
	}
}

// Where a mirror is created, and where the one goes that it replaces. Open clears the folder that they are in.
const (
	making   = sessions + "/new.git"
	replaced = sessions + "/old.git"
)

// renew fetches all into a new mirror. Only when that has succeeded it takes the place of the old one: until then
// what is whole of the old one can be read, as the remote may be away.
func (s *session) renew(ctx context.Context, commits []string) error {
	s.repo = making
	defer os.RemoveAll(s.m.path(making)) //nolint:errcheck // or the next Open does
	if err := s.makeRepository(ctx); err != nil {
		return err
	}
	known, err := s.fetchRefs(ctx)
	if err != nil {
		return err
	}
	if err := s.m.swap(); err != nil {
		return err
	}
	s.repo = repository
	s.m.publish(known)
	return s.fetchCommits(ctx, commits)
}

func (s *session) makeRepository(ctx context.Context) error {
	if err := os.RemoveAll(s.m.path(s.repo)); err != nil {
		return err
	}
	// No branch is the remote's HEAD until the remote has named it: git would take the name of its default.
	for _, args := range [][]string{{"init", "--quiet", "--bare", "--template="},
		{"symbolic-ref", "HEAD", remoteHead}} {
		if _, err := s.local(ctx, args...); err != nil {
			return explain("create a mirror", err)
		}
	}
	return nil
}

// swap puts the new mirror in the place of the old one.
func (m *Mirror) swap() error {
	old := m.path(replaced)
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(m.path(repository), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(m.path(making), m.path(repository)); err != nil {
		return err
	}
	m.readers.close() // they have files of the old one open
	m.suspect.Store(false)
	return os.RemoveAll(old)
}

// unlock removes the lock files and half-written packs of a git that was killed. Only one git at a time writes in a
// mirror, and it is ours; so what is left while none runs belongs to none.
func unlock(repo string) error {
	root, err := os.OpenRoot(repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only a handle of a folder
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // git cleans up as well
			return nil
		case err != nil:
			return err
		case entry.IsDir() && loose(name):
			return fs.SkipDir
		case !entry.IsDir() && leftover(name):
			return root.Remove(name)
		}
		return nil
	})
}

// loose reports whether a folder has loose objects only, of which there may be many.
func loose(name string) bool {
	dir, base := path.Split(name)
	return dir == "objects/" && len(base) == 2
}

func leftover(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".lock") || base == "gc.pid" || base == "gc.log" ||
		strings.HasPrefix(name, "objects/") && strings.HasPrefix(base, "tmp_")
}
