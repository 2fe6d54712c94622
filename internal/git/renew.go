package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Where a mirror is made, and where the one goes that it replaces. Open clears the folder that they are in.
const (
	making   = sessions + "/new.git"
	replaced = sessions + "/old.git"
)

// renew fetches all into a new mirror. Only when that has succeeded it takes the place of the old one: until then what is
// whole of the old one can be read, as the remote may be away.
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
	// No branch is the remote's HEAD until the remote said so: git would take the name it likes best.
	for _, args := range [][]string{{"init", "--quiet", "--bare", "--template="}, {"symbolic-ref", "HEAD", remoteHead}} {
		if _, err := s.local(ctx, args...); err != nil {
			return explain("make a mirror", err)
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
