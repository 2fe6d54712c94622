package closure

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/source/git"
)

// Disk is a directory of the file system as a Tree, and as its Blobs: the paths below it are names and IDs.
type Disk struct {
	// Root is the directory.
	Root string
	// Hidden reports whether the tree has no entry of a name.
	Hidden func(name string) bool
}

// Name returns the name of a path.
func (d Disk) Name(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(path, d.Root))
}

// Path returns the path of a name.
func (d Disk) Path(name string) string { return filepath.Join(d.Root, filepath.FromSlash(name)) }

// Entry returns the entry of a path; none for hidden ones.
func (d Disk) Entry(name string) (git.Entry, bool) {
	info, err := os.Lstat(d.Path(name))
	if err != nil || d.Hidden(filepath.Base(name)) {
		return git.Entry{}, false
	}
	e := git.Entry{Path: name, ID: name}
	switch mode := info.Mode(); {
	case mode.IsDir():
		e.Kind = git.KindDir
	case mode&os.ModeSymlink != 0:
		e.Kind = git.KindSymlink
	case mode.IsRegular():
		e.Kind = git.KindFile
	default:
		return git.Entry{}, false // sockets and devices are not code
	}
	return e, true
}

// Dir lists a directory.
func (d Disk) Dir(name string) ([]git.Entry, bool) {
	listed, err := os.ReadDir(d.Path(name))
	if err != nil {
		return nil, false
	}
	var entries []git.Entry
	for _, one := range listed {
		if e, ok := d.Entry(strings.TrimPrefix(name+"/"+one.Name(), "/")); ok {
			entries = append(entries, e)
		}
	}
	return entries, true
}

// Blob reads a file, or the target of a symlink.
func (d Disk) Blob(_ context.Context, id string, limit int64) ([]byte, error) {
	if e, ok := d.Entry(id); ok && e.Kind == git.KindSymlink {
		target, err := os.Readlink(d.Path(id))
		return []byte(filepath.ToSlash(target)), err
	}
	file, err := os.Open(d.Path(id))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &git.SizeError{ID: id, Size: info.Size(), Limit: limit}
	}
	return io.ReadAll(io.LimitReader(file, limit))
}
