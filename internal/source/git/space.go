package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// defaultMaxDisk is the disk space of a Mirror.
const defaultMaxDisk = 2 << 30

// Space is disk space that Mirrors share.
type Space struct {
	owner string
	limit int64

	mu   sync.Mutex
	used map[*Mirror]int64
}

// NewSpace returns a Space with a limit in bytes; 0 is for no limit. The owner is named in messages: "namespace shop".
func NewSpace(owner string, limit int64) *Space {
	return &Space{owner: owner, limit: cmp.Or(limit, math.MaxInt64), used: map[*Mirror]int64{}}
}

// set records what a Mirror uses. It returns what all use.
func (s *Space) set(m *Mirror, used int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[m] = used
	var all int64
	for _, n := range s.used {
		all += n
	}
	return all
}

func (s *Space) forget(m *Mirror) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, m)
}

// root is the Mirror whose limits count: for a submodule that of the repository it is in.
func (m *Mirror) root() *Mirror {
	return cmp.Or(m.o.within, m)
}

// usage returns the disk space of the Mirror, with submodules and files of LFS, in bytes. One folder is left out.
func (m *Mirror) usage(except string) int64 {
	var used int64
	_ = filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil { // git deleted it meanwhile
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if path == except {
			return fs.SkipDir
		}
		if info, err := entry.Info(); err == nil {
			used += diskUsage(info)
		}
		return nil
	})
	return used
}

// admit returns ErrMirrorTooLarge if the Mirror, or those that share its Space, exceed their limit with more bytes than
// there were. Files of LFS are deleted for it, if no archive had them for a while.
func (m *Mirror) admit(before, used, more int64) error {
	if over := used + more - m.o.MaxDisk; over > 0 {
		used -= m.trimObjects(over)
	}
	all := m.o.Space.set(m, used)
	switch {
	case used+more > m.o.MaxDisk:
		return fail(ErrMirrorTooLarge, "the mirror needs more than %d MiB, which is the limit: remove large "+
			"files from the history of the repository, or have an administrator raise limits.mirrorSize of the chart "+
			"(--mirror-size-limit)",
			m.o.MaxDisk>>20)
	case all+more > m.o.Space.limit && used+more > before:
		return fail(ErrMirrorTooLarge, "the mirrors of %s have %d MiB, and the limit is %d MiB: delete "+
			"Repositories that are not needed, or have an administrator raise limits.mirrorSizePerNamespace "+
			"of the chart (--mirror-size-limit-per-namespace)", m.o.Space.owner, all>>20, m.o.Space.limit>>20)
	}
	return nil
}

// trimObjects deletes files of LFS, the least recently used first, until they had that many bytes. It returns how many
// bytes it deleted.
func (m *Mirror) trimObjects(over int64) (deleted int64) {
	entries, _ := os.ReadDir(m.path(lfsObjects))
	var all []fs.FileInfo
	for _, entry := range entries {
		// no archive is about to read it
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > m.o.Timeout {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range all {
		if deleted >= over {
			break
		}
		if os.Remove(filepath.Join(m.path(lfsObjects), info.Name())) == nil {
			deleted += info.Size()
		}
	}
	return deleted
}

// oversizedFor is how long a commit that would exceed the limit of the mirror is not fetched again: each try would
// download as much as the limit.
const oversizedFor = time.Hour

// oversized are the commits whose fetch was stopped since they would exceed the limit of the mirror.
type oversized struct {
	mu      sync.Mutex
	commits map[string]oversize
}

type oversize struct {
	err error
	at  time.Time
}

func (o *oversized) add(id string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.commits, func(_ string, one oversize) bool { return time.Since(one.at) >= oversizedFor })
	o.commits[id] = oversize{err, time.Now()}
}

// find returns why a commit is not fetched; nil when nothing is known against it.
func (o *oversized) find(id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one, ok := o.commits[id]; ok && time.Since(one.at) < oversizedFor {
		return one.err
	}
	return nil
}

// watchPause is how long the growth of a mirror is not watched: a fast network delivers some 30 MiB meanwhile.
const watchPause = 250 * time.Millisecond

// limited runs a fetch, and stops it when the mirror exceeds its limits. What it received then is removed.
func (s *session) limited(ctx context.Context, fetch func(context.Context) error) error {
	root, except := s.m.root(), ""
	if s.repo == making { // it replaces the other one
		except = s.m.path(repository)
	}
	before := root.usage(except)
	check := func() error { return root.admit(before, root.usage(except), s.reserve) }
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for pause := watchPause; ; {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			began := time.Now()
			if err := check(); err != nil {
				cancel(err)
			}
			pause = max(watchPause, 10*time.Since(began)) // a large folder takes a while
		}
	})
	err := fetch(ctx)
	cause := context.Cause(ctx)
	cancel(nil)
	watch.Wait()
	switch {
	case errors.Is(cause, ErrMirrorTooLarge):
		err = cause
	case err == nil:
		err = check()
	}
	if errors.Is(err, ErrMirrorTooLarge) {
		return errors.Join(err, unlock(s.m.path(s.repo)))
	}
	return err
}
