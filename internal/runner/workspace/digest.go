package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// Verify reads a file from its beginning and compares its digest. Afterwards its offset is at the beginning.
func Verify(file *os.File, want string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	got, err := Digest(file)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("its digest is %s, not %s", got, want)
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// Digest returns the SHA256 of what it reads, as digests are written in orders.
func Digest(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}
