// Package workcopy copies a working directory with the local modules that its code calls, so that an engine can work there
// and nothing that it writes is in a person's files. It knows no Kubernetes and starts no engine.
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

// The most that is copied. What is more is no code of a root module, or a fan of symlinks in which the same folders come
// again and again.
const (
	mostFiles = 50_000 // and folders
	mostBytes = 1 << 30
)

// A Copy is what was copied.
type Copy struct {
	// Dir is the root module's folder in the copy.
	Dir string
	// From is the folder that it is a copy of, without symlinks in its path.
	From string
	// Base is the folder above all that was copied; the copy has the same layout below it.
	Base string
	// Modules are the folders of local modules outside From that were copied too.
	Modules []string
	// Unknown says where the code names a path, or the source of a module, that cannot be known without running the engine.
	// Example: main.tf:3: module "a".
	Unknown []string
	// State says that the folder has a state of its own, which was left out.
	State bool
	// Files and Bytes are how much was copied.
	Files int
	Bytes int64
}

// Make copies a working directory to below a folder that is there and empty. All of root is copied where one is given;
// otherwise the directory itself, the local modules that code in it calls and the files that they read, wherever they are. What an engine keeps for
// itself and repositories of git are left out, and so is the state of the directory. A symlink is copied as what it leads to.
// More than 50,000 files and folders, or than 1 GiB, are an error.
func Make(ctx context.Context, dir, root, to string) (*Copy, error) {
	from, err := folder(dir)
	if err != nil {
		return nil, err
	}
	c := &copier{Copy: Copy{From: from}}
	var folders []string
	if root != "" {
		if root, err = folder(root); err != nil {
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
	c.Base = above(folders)
	if to, err = folder(to); err != nil {
		return nil, err
	}
	for _, f := range folders {
		if within(to, f) {
			return nil, fmt.Errorf("the copy would be in %s, of which it is one: set TMPDIR to a folder elsewhere", f)
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

// folder is the real path of a folder.
func folder(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return abs, err
}

// within says whether a path is a folder or below it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// outermost leaves out the folders that are in others.
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

// above is the nearest folder that all of them are in.
func above(folders []string) string {
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
	// folders that were made.
	folders int
}

// tooMuch is why a copy is not made.
func (c *copier) tooMuch(from string) error {
	return fmt.Errorf("up to %s there are more than %d files and folders, or %d MiB, to copy: keep what is no code elsewhere; --root, if it is "+
		"given, is best the smallest folder with all that the code reads", from, mostFiles, mostBytes>>20)
}

// place is where a folder is in the copy.
func (c *copier) place(folder, to string) (string, error) {
	rel, err := filepath.Rel(c.Base, folder)
	return filepath.Join(to, rel), err
}

// ofTheEngine says whether a name is that of a folder which engines and git keep for themselves.
func ofTheEngine(name string) bool {
	return name == engine.DataDir || name == ".git" || name == ".terragrunt-cache"
}

// leftOut says whether something of a folder is not copied.
func (c *copier) leftOut(folder, name string) bool {
	if ofTheEngine(name) {
		return true
	}
	if folder != c.From {
		return false
	}
	if name == engine.LocalState {
		c.State = true
	}
	return name == engine.LocalState || strings.HasPrefix(name, engine.LocalState+".") || name == engine.ErroredState || name == ".terraform.tfstate.lock.info"
}

// outer copies one of the outermost folders or files.
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

// folder copies what is in a folder. Those it was come to through symlinks are told, so that none leads around in a circle.
func (c *copier) folder(ctx context.Context, from, to string, through []string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if c.folders++; c.Files+c.folders > mostFiles {
		return c.tooMuch(from)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if c.leftOut(from, entry.Name()) {
			continue
		}
		if err := c.entry(ctx, filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()), entry.Type(), through); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) entry(ctx context.Context, from, to string, kind fs.FileMode, through []string) error {
	switch {
	case kind.IsDir():
		return c.folder(ctx, from, to, through)
	case kind.IsRegular():
		return c.file(from, to)
	case kind&fs.ModeSymlink == 0:
		return nil // a socket or the like is no code
	}
	real, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // leads nowhere, as for an engine
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
		return fmt.Errorf("the symlink %s leads to a folder that it is in itself", from)
	}
	return c.folder(ctx, real, to, append(slices.Clone(through), real))
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
	if c.Files+c.folders > mostFiles || info.Size() > mostBytes-c.Bytes {
		return c.tooMuch(from)
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	n, err := io.Copy(target, io.LimitReader(source, mostBytes-c.Bytes+1)) // it may grow meanwhile
	if c.Bytes += n; err == nil && c.Bytes > mostBytes {
		err = c.tooMuch(from)
	}
	return err
}
