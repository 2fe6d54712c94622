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
	var links []string
	for count, left := 0, int64(mostBytes); ; count++ {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return checkLinks(root, links)
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
			links = append(links, path.Clean(entry.Name))
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
func checkLinks(root *os.Root, links []string) error {
	for _, name := range links {
		if err := checkLink(root, name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// mostHops is how many symlinks Linux follows for one path. os.Root follows fewer.
const mostHops = 40

// checkLink follows a link part by part.
func checkLink(root *os.Root, name string) error {
	var at []string // where we are, without links
	left := strings.Split(name, "/")
	for hops := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return errors.New("a link to elsewhere")
			}
			at = at[:len(at)-1]
			continue
		}
		here := path.Join(append(at, part)...)
		info, err := root.Lstat(here)
		switch {
		case err != nil:
			return nil // to nothing
		case info.IsDir():
			at = append(at, part)
			continue
		case info.Mode()&fs.ModeSymlink == 0:
			return nil // to a file, or through one
		}
		if hops++; hops > mostHops {
			return nil
		}
		target, err := root.Readlink(here)
		if err != nil {
			return err
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return nil
}
