package git

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// unlock removes the lock files and half-written packs of a git that was killed. Only one git at a time writes in a
// mirror, and it is ours; so what is there while none runs is nobody's.
func unlock(repo string) error {
	root, err := os.OpenRoot(repo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only a handle of a folder
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // git cleans up as well
			return nil
		case err != nil:
			return err
		case entry.IsDir() && loose(name):
			return fs.SkipDir
		case !entry.IsDir() && leftover(name):
			return root.Remove(name)
		}
		return nil
	})
}

// loose says that a folder has loose objects only, of which there may be many.
func loose(name string) bool {
	dir, base := path.Split(name)
	return dir == "objects/" && len(base) == 2
}

func leftover(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, ".lock") || base == "gc.pid" || base == "gc.log" || strings.HasPrefix(name, "objects/") && strings.HasPrefix(base, "tmp_")
}
