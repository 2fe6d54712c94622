package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/source/git"
)

// opened is what decides how a mirror is opened, and where.
type opened struct {
	git.Options
	url string
}

// open returns the mirror, opened as wanted. What an earlier process fetched is available at once.
func (m *Mirrors) open(ctx context.Context, uid types.UID, one *mirror, want opened) (*git.Mirror, error) {
	if err := m.opening.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer m.opening.Release(1)
	m.mu.Lock()
	repo := one.git
	if repo != nil && one.opened == want {
		m.mu.Unlock()
		return repo, nil
	}
	one.git, one.filled = nil, false
	m.mu.Unlock()
	if repo != nil {
		if err := repo.Close(); err != nil {
			return nil, err
		}
	}
	if err := m.own(); err != nil {
		return nil, err
	}
	folder, err := m.folder(uid, want.url)
	if err != nil {
		return nil, err
	}
	if repo, err = git.Open(ctx, folder, want.Options); err != nil {
		return nil, err
	}
	filled := !repo.Empty()
	m.mu.Lock()
	one.git, one.opened, one.filled, one.commits = repo, want, filled, map[string]resolved{}
	m.mu.Unlock()
	if filled {
		m.sendMoved(one.key) // not under mu: who takes it asks for commits
	}
	return repo, nil
}

// own locks the folder for this process: if another one fetched into the same mirror, or removed refs from it, the
// remote would seem to have nothing. The kernel releases the lock when the process ends, however it does.
func (m *Mirrors) own() error {
	m.owning.Lock()
	defer m.owning.Unlock()
	if m.owned != nil {
		return nil
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(m.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("%s is used by another operator, each needs a --cache of its own: "+
			"%w", m.dir, err), f.Close())
	}
	m.owned = f
	return nil
}

func (m *Mirrors) disown() error {
	m.owning.Lock()
	defer m.owning.Unlock()
	if m.owned == nil {
		return nil
	}
	return m.owned.Close()
}

// folder is where the mirror of a URL is. Each has one of its own, so that nothing of another repository is taken
// for its; those of earlier URLs go.
func (m *Mirrors) folder(uid types.UID, url string) (string, error) {
	sum := sha256.Sum256([]byte(url))
	home, name := filepath.Join(m.dir, string(uid)), hex.EncodeToString(sum[:16])
	entries, err := os.ReadDir(home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, entry := range entries {
		if entry.Name() != name {
			if err := os.RemoveAll(filepath.Join(home, entry.Name())); err != nil {
				return "", err
			}
		}
	}
	return filepath.Join(home, name), nil
}

// Keep forgets all mirrors but those of Repositories that are there: those that were deleted while no process ran.
func (m *Mirrors) Keep(there map[types.UID]bool) error {
	if err := m.own(); err != nil {
		return err
	}
	folders, err := os.ReadDir(m.dir)
	var errs []error
	for _, f := range folders {
		if !there[types.UID(f.Name())] {
			errs = append(errs, os.RemoveAll(filepath.Join(m.dir, f.Name())))
		}
	}
	return errors.Join(append(errs, err)...)
}

// Forget ends what is under way for a Repository that is gone, waits for it, and removes its mirror. The one of the
// same name that keep names stays; "" names none.
func (m *Mirrors) Forget(key types.NamespacedName, keep types.UID) error {
	m.mu.Lock()
	gone := map[types.UID]*mirror{}
	for uid, one := range m.all {
		if one.key != key || uid == keep {
			continue
		}
		if one.cancel != nil {
			one.cancel()
		}
		gone[uid] = one
		delete(m.all, uid)
	}
	m.mu.Unlock()
	var errs []error
	for uid, one := range gone {
		<-one.done // what is not in all is not fetched again, so nothing touches it from here on
		if one.git != nil {
			errs = append(errs, one.git.Close())
		}
		errs = append(errs, os.RemoveAll(filepath.Join(m.dir, string(uid))))
	}
	return errors.Join(errs...)
}
