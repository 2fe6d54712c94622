package release

import (
	"archive/zip"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// unpack writes the one file of that name at the top of a zip archive, of at most limit bytes, and nothing else of it.
// No name in the archive becomes a path; one that tries to lead out still says that this is no release.
func unpack(archive io.ReaderAt, size int64, name string, limit int64, to io.Writer) error {
	z, err := zip.NewReader(archive, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var program *zip.File
	for _, f := range z.File {
		if !filepath.IsLocal(strings.TrimSuffix(f.Name, "/")) || strings.Contains(f.Name, `\`) {
			return fmt.Errorf("%w: a file %.200q is in the archive", ErrMalformed, f.Name)
		}
		if f.Name != name {
			continue
		}
		if program != nil {
			return fmt.Errorf("%w: %s is in the archive twice", ErrMalformed, name)
		}
		program = f
	}
	if program == nil || !program.Mode().IsRegular() {
		return fmt.Errorf("%w: no program %s is in the archive", ErrMalformed, name)
	}
	content, err := program.Open()
	if err != nil {
		return fmt.Errorf("%w: unpack %s: %w", ErrMalformed, name, err)
	}
	defer content.Close()
	n, err := io.Copy(to, io.LimitReader(tagged{content, ErrMalformed}, limit+1))
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	if n > limit {
		return fmt.Errorf("%w: %s has more than %d bytes", ErrMalformed, name, limit)
	}
	return nil
}
