package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// copySelf makes dest this very program: another name for it where the file system allows that, otherwise a copy. What
// is at dest is replaced at once, so that nobody ever runs half of it.
func copySelf(dest string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	temporary := filepath.Clean(dest) + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) { //nolint:gosec // whoever starts us says where
		return err
	}
	if !link(self, temporary) {
		if err := copyFile(self, temporary); err != nil {
			return err
		}
	}
	err = os.Rename(temporary, dest) //nolint:gosec // whoever starts us says where
	_ = os.Remove(temporary)         //nolint:gosec // whoever starts us says where; it is still there when dest was this very file before
	return err
}

// link gives a file that anyone may run a second name.
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
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // a program: the engine's container, of another user maybe, has to execute it
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(0o755), target.Close())
}
