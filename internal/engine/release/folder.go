package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// folder is a source on a disk, for an install that has no way out. It is opened anew each time: a volume may be mounted
// late, and filled while Cairn runs.
type folder struct{ base, product string }

func (f folder) String() string { return "file://" + path.Join(f.base, f.product) }

// versions are those of a list, or else the names of the folders.
func (f folder) versions(context.Context) ([]string, error) {
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // holds no data
	for _, name := range indexes() {
		file, err := f.file(root, name)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data, err := readSmall(file, largestIndex)
		if err != nil {
			return nil, err
		}
		return parseIndex(data)
	}
	entries, err := fs.ReadDir(root.FS(), f.product)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (f folder) at(version, file string) string {
	return "file://" + path.Join(f.base, f.product, version, file)
}

func (f folder) keyAt() string { return "file://" + path.Join(f.base, f.product, keyFile) }

func (f folder) key(ctx context.Context) (body, error) { return f.open(ctx, "", keyFile) }

func (f folder) open(_ context.Context, version, file string) (body, error) {
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer root.Close() //nolint:errcheck // holds no data
	return f.file(root, path.Join(version, file))
}

func (f folder) file(root *os.Root, name string) (body, error) {
	name = path.Join(f.product, name)
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return body{}, fmt.Errorf("%s: %w", path.Join(f.base, name), errMissing)
	}
	if err != nil {
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if !info.Mode().IsRegular() {
		return body{}, fmt.Errorf("%w: %s is no file", ErrMalformed, path.Join(f.base, name))
	}
	file, err := root.Open(name)
	if err != nil {
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return body{tagged{file, ErrUnreachable}, file, info.Size()}, nil
}
