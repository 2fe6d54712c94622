package engine

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// largestLockFile is more than any lock file needs.
const largestLockFile = 8 << 20

// PlannedLockFile gives the lock file that a saved plan was made with, so that it is applied with the same providers.
// It is nil when there is none, and for a plan that the engine encrypted: then the engine itself compares.
func PlannedLockFile(plan io.ReaderAt, size int64) ([]byte, error) {
	archive, err := zip.NewReader(plan, size)
	if errors.Is(err, zip.ErrFormat) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the plan: %w", err)
	}
	content, err := archive.Open(LockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the plan's lock file: %w", err)
	}
	defer content.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(content, largestLockFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the plan's lock file: %w", err)
	}
	if len(data) > largestLockFile {
		return nil, errors.New("the plan's lock file is too large")
	}
	return data, nil
}
