package workcopy

import (
	"context"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/source/closure"
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
	disk := closure.Disk{Root: filepath.VolumeName(dir) + string(filepath.Separator), Hidden: isToolDir}
	found, err := closure.New(closure.Options{}).Reach(ctx, disk, disk, disk.Name(dir))
	if err != nil {
		return reached{}, err
	}
	r := reached{paths: []string{dir}}
	for _, e := range found.Entries {
		if path := disk.Path(e.Path); path != dir {
			r.paths = append(r.paths, path)
		}
	}
	for _, module := range found.Modules {
		r.modules = append(r.modules, disk.Path(module))
	}
	for _, at := range found.Open {
		r.unknown = append(r.unknown, strings.TrimPrefix(at, disk.Name(dir)+"/"))
	}
	return r, nil
}
