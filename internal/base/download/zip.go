package download

import (
	"archive/zip"
	"errors"
	"io"
)

// mostDirectory is how many bytes of a zip archive may be read to list its files: the archive of a provider or an
// engine has some ten files. A directory entry of 46 bytes takes some 400 bytes of memory, and an archive of 2 GiB may
// have 46 million of them.
const mostDirectory = 1 << 20

// ErrDirectory is the error of a zip archive that lists too many files.
var ErrDirectory = errors.New("the zip archive lists too many files")

// OpenZip lists the files of a zip archive. Its error is ErrDirectory for an archive whose list is too large.
func OpenZip(archive io.ReaderAt, size int64) (*zip.Reader, error) {
	bounded := &boundedReaderAt{ReaderAt: archive, left: mostDirectory}
	z, err := zip.NewReader(bounded, size)
	switch {
	case bounded.left < 0:
		return nil, ErrDirectory
	case err != nil:
		return nil, err
	}
	bounded.opened = true
	return z, nil
}

// boundedReaderAt limits how much is read until the archive is opened.
type boundedReaderAt struct {
	io.ReaderAt
	left   int
	opened bool
}

// ReadAt reads a part of the archive.
func (b *boundedReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	if !b.opened {
		if b.left -= len(p); b.left < 0 {
			return 0, ErrDirectory
		}
	}
	return b.ReaderAt.ReadAt(p, offset)
}
