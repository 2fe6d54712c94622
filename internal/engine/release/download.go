package release

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/sigverify"
	"cairn.dev/cairn/internal/engine"
)

// fetch returns the stored program, or downloads it. It verifies in this order, so that nothing unverified is read:
// the signature of the list of checksums, the checksum of the archive, the program in it.
func (r *Releases) fetch(ctx context.Context, m engine.Release, w wanted) (p Program, err error) {
	if kept, ok, err := r.shelf.find(m, w); ok || err != nil {
		r.observe(ok, err)
		return kept, err
	}
	defer func() { r.observe(false, err) }()
	defer r.transfers.End(w.key())
	sum, err := r.checksum(ctx, m, w)
	if err != nil {
		return Program{}, err
	}
	archive, err := r.shelf.draft()
	if err != nil {
		return Program{}, err
	}
	defer func() { err = errors.Join(err, r.shelf.discard(archive)) }()
	size, err := r.download(ctx, w, w.name(m.Archive), sum, archive)
	if err != nil {
		return Program{}, err
	}
	if m.Program == "" {
		err = r.shelf.keep(archive, sum, m, w)
	} else {
		err = r.unpack(archive, size, m, w)
	}
	if err != nil {
		return Program{}, fmt.Errorf("keep %s %s: %w", w.product, w.version, err)
	}
	p, _, err = r.shelf.find(m, w)
	return p, err
}

// checksum returns the signed checksum of the archive.
func (r *Releases) checksum(ctx context.Context, m engine.Release, w wanted) (string, error) {
	data, err := r.read(ctx, w, w.name(m.Sums), largestSums)
	if err != nil {
		return "", err
	}
	if w.pin != "" {
		err = checkPin(w, data)
	} else {
		err = r.verify(ctx, m, w, data)
	}
	if err != nil {
		return "", err
	}
	sums, err := sigverify.ParseSums(data)
	if err != nil {
		return "", fmt.Errorf("%w: %s %s: %w", ErrMalformed, w.product, w.version, err)
	}
	sum, ok := sums[w.name(m.Archive)]
	if !ok {
		return "", fmt.Errorf("%w: %s is not in %s", errMissing, w.name(m.Archive), w.name(m.Sums))
	}
	return sum, nil
}

// verify checks that a valid signature of the list of checksums exists.
func (r *Releases) verify(ctx context.Context, m engine.Release, w wanted, sums []byte) error {
	var wrong error
	for _, pattern := range m.Signatures {
		signature, err := r.read(ctx, w, w.name(pattern), largestSignature)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return err
		}
		if wrong = r.keys[w.product].Verify(sums, signature); wrong == nil {
			return nil
		}
	}
	if wrong != nil {
		return fmt.Errorf("%s %s: %w", w.product, w.version, wrong)
	}
	return fmt.Errorf("%w: %s %s is published without one", errUnsigned, w.product, w.version)
}

// checkPin checks that the list of checksums is the one whose digest the configuration has.
func checkPin(w wanted, sums []byte) error {
	sum := sha256.Sum256(sums)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != w.pin {
		return fmt.Errorf("%w: the list of checksums of %s %s is %s, and --engine-unsigned names %s",
			ErrChecksum, w.product, w.version, got, w.pin)
	}
	return nil
}

// open begins to read a file for a download, and counts what is read of it.
func (r *Releases) open(ctx context.Context, w wanted, version, file string) (body, error) {
	source := r.sources[w.product]
	tally := r.transfers.Begin(w.key(), source.at(version, file))
	from, err := source.open(ctx, version, file)
	if err != nil {
		return body{}, err
	}
	tally.Expect(from.size)
	from.Reader = io.TeeReader(from.Reader, tally)
	return from, nil
}

func (r *Releases) read(ctx context.Context, w wanted, file string, limit int64) ([]byte, error) {
	from, err := r.open(ctx, w, w.version, file)
	if err != nil {
		return nil, err
	}
	data, err := readSmall(from, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return data, nil
}

// download writes a file whose checksum is known, and returns its size.
func (r *Releases) download(ctx context.Context, w wanted, file, sum string, to io.Writer) (size int64, err error) {
	from, err := r.open(ctx, w, w.version, file)
	if err != nil {
		return 0, err
	}
	defer from.Close() //nolint:errcheck // only read
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(to, hash), io.LimitReader(from, r.largest+1))
	if err != nil {
		return 0, fmt.Errorf("download %s: %w", file, err)
	}
	if size > r.largest {
		return 0, fmt.Errorf("%w: %s has more than %d bytes", ErrMalformed, file, r.largest)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return 0, fmt.Errorf("%w: %s is sha256:%s, and signed was sha256:%s", ErrChecksum, file, got, sum)
	}
	return size, nil
}

// unpack keeps the program that is in a verified archive.
func (r *Releases) unpack(archive *os.File, size int64, m engine.Release, w wanted) (err error) {
	program, err := r.shelf.draft()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.shelf.discard(program)) }()
	hash := sha256.New()
	if err := unpack(archive, size, m.Program, largestProgram, io.MultiWriter(program, hash)); err != nil {
		return err
	}
	return r.shelf.keep(program, hex.EncodeToString(hash.Sum(nil)), m, w)
}

// unpack writes the one file of that name at the top of a zip archive, of at most limit bytes, and nothing else of it.
// No name in the archive becomes a path; an archive with a name that leads out is rejected.
func unpack(archive io.ReaderAt, size int64, name string, limit int64, to io.Writer) error {
	z, err := download.OpenZip(archive, size)
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
