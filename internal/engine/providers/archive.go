package providers

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/mod/sumdb/dirhash"

	"cairn.dev/cairn/internal/base/download"
)

// Archive is a zip that was verified. Who asked for it closes it.
type Archive struct {
	*os.File
	// Size in bytes, and SHA256 of them in hex.
	Size   int64
	SHA256 string
}

// Archive returns the archive of a version for a platform: ErrNotFound when there is none, ErrVerify when it does
// not match the version's list of checksums. One that is not cached yet is pulled, and kept; that continues when
// ctx is over.
func (m *Mirror) Archive(ctx context.Context, p Provider, version, system, arch string) (Archive, error) {
	platform, ok := parsePlatform(system + "_" + arch)
	if !ok {
		return Archive{}, fmt.Errorf("%s %s: %.80q is no platform: %w", p, version, system+"_"+arch, ErrNotFound)
	}
	release, err := m.Version(ctx, p, version)
	if err != nil {
		return Archive{}, err
	}
	there, ok := release.Archives[platform.String()]
	if !ok {
		return Archive{}, fmt.Errorf("%s %s for %s: %w", p, version, platform, ErrNotFound)
	}
	name := p.dir() + "/" + p.Filename(version, platform)
	for _, root := range []*os.Root{m.folder, m.dir} {
		if found, err := openIn(root, name, there.sum()); err == nil || !errors.Is(err, fs.ErrNotExist) {
			m.Requested(true, err)
			m.used(root, name)
			return found, err
		}
	}
	if err := m.asks(p); err != nil {
		return Archive{}, err
	}
	// Where the limit allows few archives, others that are pulled at the same time may replace it before it is
	// opened.
	for range mostTries {
		_, err = download.Do(ctx, m.downloads, "archive "+name, func(ctx context.Context) (any, error) {
			err := m.pull(ctx, p, version, platform, there.sum())
			m.Requested(false, err)
			return nil, err
		})
		if err != nil {
			return Archive{}, err
		}
		found, err := openIn(m.dir, name, there.sum())
		if !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
	}
	return Archive{}, fmt.Errorf("%s: the other downloads leave no space for it; raise the limit of the mirror of "+
		"providers", name)
}

// mostTries is how often an archive is pulled that is pushed out again at once.
const mostTries = 3

// openIn opens an archive in a folder, which may be nil.
func openIn(root *os.Root, name, sum string) (Archive, error) {
	if root == nil {
		return Archive{}, fs.ErrNotExist
	}
	file, err := root.Open(name)
	if err != nil {
		return Archive{}, err
	}
	info, err := file.Stat()
	if err != nil {
		return Archive{}, errors.Join(err, file.Close())
	}
	return Archive{file, info.Size(), sum}, nil
}

// pull fetches an archive, verifies its checksum, and keeps it.
func (m *Mirror) pull(ctx context.Context, p Provider, version string, platform Platform, sum string) error {
	ctx, cancel := context.WithTimeout(ctx, longestArchive)
	defer cancel()
	if err := m.pulls.Acquire(ctx, 1); err != nil {
		return err
	}
	defer m.pulls.Release(1)
	d, err := m.registry.download(ctx, p, version, platform)
	if err != nil {
		return err
	}
	name, h1 := p.Filename(version, platform), ""
	if d.sum != sum {
		return fmt.Errorf("%s: %w: the registry's checksum is not the one in the list", name, ErrVerify)
	}
	err = m.place(p, name, func(file *os.File) error {
		defer m.transfers.End(p.String())
		size, err := m.registry.fetch(ctx, d, file, m.transfers.Begin(p.String(), where(d.archive)))
		if err != nil {
			return err
		}
		if h1, err = hashContent(file, size); err != nil {
			return fmt.Errorf("%w: %w", ErrVerify, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("pull %s: %w", name, err)
	}
	if err := m.trim(p.dir() + "/" + name); err != nil {
		return err
	}
	return m.keepHash(p, version, platform, h1)
}

// fetch writes an archive into a file and returns its size, once its checksum is the expected one.
func (r registry) fetch(ctx context.Context, d location, file *os.File, tally *download.Tally) (int64, error) {
	answer, err := r.open(ctx, d.archive)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	tooLarge := fmt.Errorf("%s is larger than %d bytes", where(d.archive), r.largest)
	if answer.ContentLength > r.largest {
		return 0, tooLarge
	}
	tally.Expect(answer.ContentLength)
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, hash, tally), io.LimitReader(answer.Body, r.largest+1))
	switch {
	case err != nil:
		return 0, fmt.Errorf("read %s: %w", where(d.archive), err)
	case size > r.largest:
		return 0, tooLarge
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != d.sum {
		return 0, fmt.Errorf("%w: its checksum is %s, not %s", ErrVerify, got, d.sum)
	}
	return size, nil
}

// keepHash adds the hash of what is in an archive to the record of its version.
func (m *Mirror) keepHash(p Provider, version string, platform Platform, h1 string) error {
	m.records.Lock()
	defer m.records.Unlock()
	release, ok := m.keptRelease(p, version)
	there, known := release.Archives[platform.String()]
	if !ok || !known {
		return nil // Dir was emptied: the hash is computed again
	}
	there.Hashes = []string{h1, "zh:" + there.sum()}
	release.Archives[platform.String()] = there
	return m.keep(p, version+".json", release)
}

// largestContent is how much may be in an archive, unpacked.
const largestContent = 8 << 30

// hashContent returns the hash of what is in a zip, in the form of a lock file: h1:...
func hashContent(file io.ReaderAt, size int64) (string, error) {
	content, err := download.OpenZip(file, size)
	if err != nil {
		return "", err
	}
	names, files, left := []string{}, map[string]*zip.File{}, uint64(largestContent)
	for _, f := range content.File {
		if f.UncompressedSize64 > left { // the reader enforces the size that is declared here
			return "", fmt.Errorf("more than %d bytes are in it", uint64(largestContent))
		}
		left -= f.UncompressedSize64
		names, files[f.Name] = append(names, f.Name), f
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return files[name].Open() })
}
