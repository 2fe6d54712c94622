package providers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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

// kept reads a record. One that cannot be read is as if it were not there: it is made again.
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

// Usage gives how many bytes there are in Dir.
func (m *Mirror) Usage() (int64, error) {
	var all int64
	err := fs.WalkDir(m.dir.FS(), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err == nil {
			all += info.Size()
		}
		return ignoreGone(err)
	})
	if err != nil {
		return 0, fmt.Errorf("size of the mirror of providers: %w", err)
	}
	return all, nil
}

// ignoreGone takes a file that is gone for none: others are renamed and removed all the time.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
