package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// largestInput is how large a file below the inputs folder may be. Kubernetes allows 1 MiB.
const largestInput = 8 << 20

// OpenInputs opens the inputs folder. A pod that reads nothing has nothing mounted there: then it is the empty folder
// of the variable files, so that every file is not found.
func (d Dir) OpenInputs(inputs string) (*os.Root, error) {
	root, err := os.OpenRoot(inputs)
	if errors.Is(err, fs.ErrNotExist) {
		return os.OpenRoot(d.VariableFiles())
	}
	return root, err
}

// List returns the names of the files in a folder of root, sorted. Names that begin with ".." are the kubelet's: the
// folders that it swaps when an object changes.
func List(root *os.Root, dir string) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), path.Clean(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		info, err := root.Stat(path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Read reads a file of root. Its links may not lead out of it.
func Read(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(file, largestInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > largestInput {
		return nil, fmt.Errorf("read %s: %w", name, errors.New("it is too large"))
	}
	return data, nil
}
