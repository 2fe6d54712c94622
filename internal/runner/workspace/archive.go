package workspace

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"cairn.dev/cairn/internal/source/git/links"
)

// Limits of what an archive unpacks to.
const (
	mostBytes = 100 << 20
	mostFiles = 10_000
)

// Unpack writes an archive of code into root, and nothing outside of it. It accepts folders, files and links that
// stay within; it rejects anything else, and anything too large.
func Unpack(root *os.Root, archive io.Reader) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	entries := tar.NewReader(plain)
	var found []string
	for count, left := 0, int64(mostBytes); ; count++ {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return checkLinks(root, found)
		}
		if err != nil {
			return err
		}
		if count == mostFiles {
			return fmt.Errorf("more than %d files", mostFiles)
		}
		if left -= entry.Size; left < 0 {
			return fmt.Errorf("more than %d bytes", mostBytes)
		}
		if err := unpackEntry(root, entry, entries); err != nil {
			return fmt.Errorf("%q: %w", entry.Name, err)
		}
		if entry.Typeflag == tar.TypeSymlink {
			found = append(found, path.Clean(entry.Name))
		}
	}
}

func unpackEntry(root *os.Root, entry *tar.Header, content io.Reader) error {
	name := path.Clean(entry.Name)
	if entry.Typeflag == tar.TypeXGlobalHeader { // with the ID of the commit
		return nil
	}
	if !fs.ValidPath(name) {
		return errors.New("not a path within the archive")
	}
	if name == "." {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch entry.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeReg:
		return unpackFile(root, name, entry.FileInfo().Mode(), content)
	case tar.TypeSymlink:
		if path.IsAbs(entry.Linkname) || strings.Contains(entry.Linkname, "\x00") {
			return errors.New("a link to elsewhere")
		}
		return root.Symlink(entry.Linkname, name)
	}
	return errors.New("neither a folder nor a file nor a link")
}

func unpackFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	perm := fs.FileMode(0o644)
	if mode&0o100 != 0 {
		perm = 0o755
	}
	// Each name is there once: what is written through a link, or twice, is not what was checked.
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// checkLinks rejects links that lead out of root, also through other links, which is why it runs when all are
// unpacked. A dangling link is allowed, and so is one that leads in a circle or through a file.
func checkLinks(root *os.Root, found []string) error {
	for _, name := range found {
		if err := checkLink(root, name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

func checkLink(root *os.Root, name string) error {
	out, err := links.LeadsOut(name, func(at string) (here links.Entry, err error) {
		info, err := root.Lstat(at)
		if err != nil {
			return here, nil //nolint:nilerr // it leads to nothing
		}
		here.Dir, here.Link = info.IsDir(), info.Mode()&fs.ModeSymlink != 0
		if here.Link {
			here.Target, err = root.Readlink(at)
		}
		return here, err
	})
	if err == nil && out {
		err = errors.New("a link to elsewhere")
	}
	return err
}
