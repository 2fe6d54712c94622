// Package workcopy copies a working directory with the local modules that its code calls, so that an engine does not
// change the user's files. It does not import Kubernetes and starts no engine.
package workcopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
)

// Limits of a copy. Code of a root module does not exceed them, but symlinks that repeat directories do.
const (
	maxFiles = 50_000 // and directories
	maxBytes = 1 << 30
)

// A Copy describes the copy of a working directory.
type Copy struct {
	// Dir is the directory of the root module in the copy.
	Dir string
	// From is the original of Dir, without symlinks in its path.
	From string
	// Base is the common parent of all copied directories; the copy has the same layout below it.
	Base string
	// Modules are the directories of local modules outside From that were copied too.
	Modules []string
	// Unknown lists the places in the code with a path, or the source of a module, that only the engine can evaluate.
	// Example: main.tf:3: module "a".
	Unknown []string
	// State is true if the directory has a local state, which was not copied.
	State bool
	// Files and Bytes are the number and the size of the copied files.
	Files int
	Bytes int64
}

// Create copies a working directory into an empty directory. With root, it copies all of root, and otherwise the
// directory, the local modules that its code calls and the files that they read. It does not copy data directories of
// engines, git repositories and the state of the directory. It copies the target of a symlink. More than 50,000 files
// and directories, or than 1 GiB, are an error.
func Create(ctx context.Context, dir, root, to string) (*Copy, error) {
	from, err := realDir(dir)
	if err != nil {
		return nil, err
	}
	c := &copier{Copy: Copy{From: from}}
	var folders []string
	if root != "" {
		if root, err = realDir(root); err != nil {
			return nil, err
		}
		if !within(from, root) {
			return nil, fmt.Errorf("%s is not in %s", dir, root)
		}
		folders = []string{root}
	} else {
		found, err := reach(ctx, from)
		if err != nil {
			return nil, err
		}
		folders, c.Unknown = found.paths, found.unknown
		c.Modules = slices.DeleteFunc(found.modules, func(m string) bool { return within(m, from) })
	}
	folders = outermost(folders)
	c.Base = commonParent(folders)
	if to, err = realDir(to); err != nil {
		return nil, err
	}
	for _, f := range folders {
		if within(to, f) {
			return nil, fmt.Errorf("the copy would be inside of %s, which it copies: set TMPDIR to another directory",
				f)
		}
		target, err := c.place(f, to)
		if err != nil {
			return nil, err
		}
		if err := c.outer(ctx, f, target); err != nil {
			return nil, err
		}
	}
	c.Dir, err = c.place(from, to)
	return &c.Copy, err
}

// realDir returns the path of a directory without symlinks.
func realDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", path)
	}
	return abs, err
}

// within returns whether a path is a directory or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// outermost removes the directories that are inside of others.
func outermost(folders []string) []string {
	var outer []string
	for i, f := range folders {
		in := func(o string) bool { return o != f && within(f, o) }
		if !slices.ContainsFunc(folders, in) && !slices.Contains(folders[:i], f) {
			outer = append(outer, f)
		}
	}
	return outer
}

// commonParent returns the nearest directory that contains all of them.
func commonParent(folders []string) string {
	base := folders[0]
	for _, f := range folders {
		for !within(f, base) {
			base = filepath.Dir(base)
		}
	}
	return base
}

type copier struct {
	Copy
	// folders is the number of created directories.
	folders int
}

// tooLarge returns the error of a copy that exceeds the limits.
func (c *copier) tooLarge(from string) error {
	return fmt.Errorf("until %s the copy has more than %d files and directories, or %d MiB: move files that are not "+
		"code elsewhere, "+
		"or set --root to the smallest directory with all files that the code reads", from, maxFiles, maxBytes>>20)
}

// place returns the path of a directory in the copy.
func (c *copier) place(folder, to string) (string, error) {
	rel, err := filepath.Rel(c.Base, folder)
	return filepath.Join(to, rel), err
}

// isToolDir returns whether a name is that of a data directory of an engine or of git.
func isToolDir(name string) bool {
	return name == engine.DataDir || name == ".git" || name == ".terragrunt-cache"
}

// skip returns whether an entry of a directory is not copied.
func (c *copier) skip(folder, name string) bool {
	if isToolDir(name) {
		return true
	}
	if folder != c.From {
		return false
	}
	if name == engine.LocalState {
		c.State = true
	}
	return name == engine.LocalState || strings.HasPrefix(name, engine.LocalState+".") ||
		name == engine.ErroredState || name == ".terraform.tfstate.lock.info"
}

// outer copies one of the outermost directories or files.
func (c *copier) outer(ctx context.Context, from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return c.entry(ctx, from, to, info.Mode().Type(), nil)
}

// dir copies the entries of a directory. through has the targets of the symlinks on the path, to detect cycles.
func (c *copier) dir(ctx context.Context, from, to string, through []string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if c.folders++; c.Files+c.folders > maxFiles {
		return c.tooLarge(from)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if c.skip(from, entry.Name()) {
			continue
		}
		name := entry.Name()
		if err := c.entry(ctx, filepath.Join(from, name), filepath.Join(to, name), entry.Type(), through); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(ctx context.Context, from, to string, kind fs.FileMode, through []string) error {
	switch {
	case kind.IsDir():
		return c.dir(ctx, from, to, through)
	case kind.IsRegular():
		return c.file(from, to)
	case kind&fs.ModeSymlink == 0:
		return nil // sockets and devices are not code
	}
	real, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a broken symlink, which engines ignore too
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return c.entry(ctx, real, to, info.Mode().Type(), through)
	}
	if slices.Contains(through, real) || within(from, real) {
		return fmt.Errorf("the symlink %s points to a directory that contains it", from)
	}
	return c.dir(ctx, real, to, append(slices.Clone(through), real))
}

func (c *copier) file(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // only read
	info, err := source.Stat()
	if err != nil {
		return err
	}
	c.Files++
	if c.Files+c.folders > maxFiles || info.Size() > maxBytes-c.Bytes {
		return c.tooLarge(from)
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	n, err := io.Copy(target, io.LimitReader(source, maxBytes-c.Bytes+1)) // the file may grow meanwhile
	if c.Bytes += n; err == nil && c.Bytes > maxBytes {
		err = c.tooLarge(from)
	}
	return err
}
