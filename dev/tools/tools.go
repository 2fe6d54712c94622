// Package tools finds the programs that `make tools` builds.
package tools

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir is where they are: $CAIRN_BIN, or cairn/bin in the user's cache folder.
func Dir() (string, error) {
	if dir := os.Getenv("CAIRN_BIN"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find binaries: %w", err)
	}
	return filepath.Join(cache, "cairn", "bin"), nil
}

// Path of one of them. One that is missing is an error that says what to do.
func Path(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no %s in %s: run make tools first", name, dir)
	}
	return path, nil
}
