package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// copySelf creates a hard link to this program at dest, or a copy if the file system does not support that. It replaces
// an existing file atomically, so that no process runs an incomplete one.
func copySelf(dest string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	temporary := filepath.Clean(dest) + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) { //nolint:gosec // the caller sets the path
		return err
	}
	if !link(self, temporary) {
		if err := copyFile(self, temporary); err != nil {
			return err
		}
	}
	err = os.Rename(temporary, dest) //nolint:gosec // the caller sets the path
	_ = os.Remove(temporary)         //nolint:gosec // the caller sets the path; it remains if dest was a link to this file before
	return err
}

// link creates a hard link to a file that all users can execute, and returns whether it did.
func link(from, to string) bool {
	info, err := os.Stat(from)
	return err == nil && info.Mode().Perm()&0o555 == 0o555 && os.Link(from, to) == nil
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()                                                     //nolint:errcheck // only read
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // the user of the engine's container must be able to execute it
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(0o755), target.Close())
}
