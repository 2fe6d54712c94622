package workcopy

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/closure"
	"cairn.dev/cairn/internal/git"
)

// reached lists the paths that the code in a directory reads.
type reached struct {
	// paths of the directory, and of the directories and files outside of it that the code reads.
	paths []string
	// modules are the directories of local modules; unknown lists the places with a path that only the engine can
	// evaluate.
	modules, unknown []string
}

// reach returns a directory and the paths that its code reads elsewhere: local modules, files, and those that they
// read. It is the closure of a Stack, computed of the file system in place of a commit.
func reach(ctx context.Context, dir string) (reached, error) {
	disk := disk{volume: filepath.VolumeName(dir) + string(filepath.Separator)}
	found, err := closure.New(closure.Options{}).Reach(ctx, disk, disk, disk.name(dir))
	if err != nil {
		return reached{}, err
	}
	r := reached{paths: []string{dir}}
	for _, e := range found.Entries {
		if path := disk.path(e.Path); path != dir {
			r.paths = append(r.paths, path)
		}
	}
	for _, module := range found.Modules {
		r.modules = append(r.modules, disk.path(module))
	}
	for _, at := range found.Open {
		r.unknown = append(r.unknown, strings.TrimPrefix(at, disk.name(dir)+"/"))
	}
	return r, nil
}

// disk is the file system as a git tree, with paths below its root as names and IDs.
type disk struct{ volume string }

func (d disk) name(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(path, d.volume))
}

func (d disk) path(name string) string { return d.volume + filepath.FromSlash(name) }

// Entry returns the entry of a path; none for data directories of engines.
func (d disk) Entry(name string) (git.Entry, bool) {
	info, err := os.Lstat(d.path(name))
	if err != nil || isToolDir(filepath.Base(name)) {
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
func (d disk) Dir(name string) ([]git.Entry, bool) {
	listed, err := os.ReadDir(d.path(name))
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
func (d disk) Blob(_ context.Context, id string, limit int64) ([]byte, error) {
	if e, ok := d.Entry(id); ok && e.Kind == git.KindSymlink {
		target, err := os.Readlink(d.path(id))
		return []byte(filepath.ToSlash(target)), err
	}
	file, err := os.Open(d.path(id))
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
