package providers

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// archived is an archive in Dir.
type archived struct {
	name string
	size int64
	// used is when it was pulled, or asked for last.
	used time.Time
}

// tooMany gives the archives that have to go so that all of them take no more than most bytes: those that were not used for
// the longest time first, and never the one that is pulled just now.
func tooMany(all []archived, most int64, pulled string) []archived {
	var size int64
	for _, a := range all {
		size += a.size
	}
	slices.SortFunc(all, func(a, b archived) int { return a.used.Compare(b.used) })
	var gone []archived
	for _, a := range all {
		if size <= most {
			break
		}
		if a.name != pulled {
			size -= a.size
			gone = append(gone, a)
		}
	}
	return gone
}

// used takes note that an archive was asked for. That this fails is no reason not to give it.
func (m *Mirror) used(root *os.Root, name string) {
	if root == m.dir && m.Most > 0 {
		now := m.Now()
		_ = m.dir.Chtimes(name, now, now)
	}
}

// trim deletes archives until no more than Most bytes of them are kept. Who reads one that is deleted reads it to its end.
func (m *Mirror) trim(pulled string) error {
	if m.Most <= 0 {
		return nil
	}
	m.used(m.dir, pulled)
	m.trims.Lock()
	defer m.trims.Unlock()
	var all []archived
	err := fs.WalkDir(m.dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".zip" {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err == nil {
			all = append(all, archived{name, info.Size(), info.ModTime()})
		}
		return ignoreGone(err)
	})
	if err != nil {
		return fmt.Errorf("make room in the mirror of providers: %w", err)
	}
	for _, a := range tooMany(all, m.Most, pulled) {
		if err := ignoreGone(m.dir.Remove(a.name)); err != nil {
			return fmt.Errorf("make room in the mirror of providers: %w", err)
		}
	}
	return nil
}
