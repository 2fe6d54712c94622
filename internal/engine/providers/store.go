package providers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// incoming is where files in Dir are until they are whole. No host is called so.
const incoming = ".incoming"

const indexFile = "index.json"

// place writes a file into Dir: all of it or nothing. What write got wrong is not kept.
func (m *Mirror) place(p Provider, name string, write func(*os.File) error) error {
	temporary := incoming + "/" + rand.Text()
	file, err := m.dir.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, m.dir.Remove(temporary))
	}
	if err := m.dir.MkdirAll(p.dir(), 0o700); err != nil {
		return err
	}
	return m.dir.Rename(temporary, p.dir()+"/"+name)
}

// keep writes a record.
func (m *Mirror) keep(p Provider, name string, record any) error {
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	err = m.place(p, name, func(file *os.File) error {
		_, err := file.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep %s of %s: %w", name, p, err)
	}
	return nil
}

// kept reads a record. An unreadable one counts as missing: it is created again.
func (m *Mirror) kept(p Provider, name string, record any) bool {
	file, err := m.dir.Open(p.dir() + "/" + name)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // only read
	return json.NewDecoder(io.LimitReader(file, 2*largestIndex)).Decode(record) == nil
}

// keepList keeps a list for when the registry is away. It is not needed otherwise, so an error is none of the asker's.
func (m *Mirror) keepList(p Provider, list listing) {
	if before, ok := m.keptList(p); !ok || !slices.Equal(before.names(), list.names()) {
		_ = m.keep(p, indexFile, list)
	}
}

func (m *Mirror) keptList(p Provider) (list listing, ok bool) {
	return list, m.kept(p, indexFile, &list)
}

func (m *Mirror) keptRelease(p Provider, version string) (release Release, ok bool) {
	return release, m.kept(p, version+".json", &release)
}

// ignoreGone takes a file that is gone for none: others are renamed and removed all the time.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// archived is an archive in Dir.
type archived struct {
	name string
	size int64
	// used is when it was pulled, or asked for last.
	used time.Time
}

// tooMany returns the archives that have to go so that all of them take at most most bytes: those that were not
// used for the longest time first, and never the one that is pulled just now.
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

// used records that an archive was requested. A failure of that does not prevent serving it.
func (m *Mirror) used(root *os.Root, name string) {
	if root == m.dir && m.Most > 0 {
		now := m.Now()
		_ = m.dir.Chtimes(name, now, now)
	}
}

// trim deletes archives until at most Most bytes of them are kept. A reader of a deleted one reads it to its end.
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
		return fmt.Errorf("delete old archives in the mirror of providers: %w", err)
	}
	for _, a := range tooMany(all, m.Most, pulled) {
		if err := ignoreGone(m.dir.Remove(a.name)); err != nil {
			return fmt.Errorf("delete old archives in the mirror of providers: %w", err)
		}
	}
	return nil
}
