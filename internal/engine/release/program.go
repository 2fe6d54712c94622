package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Program is a program that was verified and is kept.
type Program struct {
	// Path of the program. It can be executed.
	Path string
	// Digest of the program: sha256: and hex.
	Digest string
	// Size in bytes.
	Size int64
	// Version without a v. Example: 1.12.6.
	Version string
}

// Open opens the program after it has read all of it and found it to be what was verified. One that has changed is
// removed, and the error is ErrDamaged. The caller closes the file.
func (p Program) Open() (*os.File, error) {
	file, err := os.Open(p.Path)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if err == nil && "sha256:"+hex.EncodeToString(hash.Sum(nil)) != p.Digest {
		err = errors.Join(fmt.Errorf("%w: %s", ErrDamaged, p.Path), os.Remove(p.Path))
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
