// Package targz creates archives of code for tests.
package targz

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"
)

// Entry is one entry of an archive.
type Entry struct {
	tar.Header
	Content string
}

// File is an entry of a file.
func File(name, content string) Entry {
	return Entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, content}
}

// Link is an entry of a symlink.
func Link(name, to string) Entry {
	return Entry{Header: tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}}
}

// Archive returns a tar.gz.
func Archive(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	data, err := Pack(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Pack returns a tar.gz. An entry may be cut short on purpose, by its Size.
func Pack(entries ...Entry) ([]byte, error) {
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	w := tar.NewWriter(packed)
	for _, entry := range entries {
		if entry.Size == 0 {
			entry.Size = int64(len(entry.Content))
		}
		if err := w.WriteHeader(&entry.Header); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(entry.Content)); err != nil {
			return nil, err
		}
	}
	_ = w.Close()
	err := packed.Close()
	return data.Bytes(), err
}
