package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// versions is a set of versions.
type versions map[string]bool

// orElse returns the versions, sorted, or why there are none.
func (v versions) orElse(err error) ([]string, error) {
	if len(v) == 0 {
		return nil, err
	}
	return slices.Sorted(maps.Keys(v)), nil
}

// here returns the versions whose archives are in Folder or Dir.
func (m *Mirror) here(p Provider) (versions, error) {
	found := versions{}
	for _, root := range []*os.Root{m.folder, m.dir} {
		files, err := archivesIn(root, p)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			found[file.version] = true
		}
	}
	return found, nil
}

// file is an archive in a folder.
type file struct {
	name, version string
	platform      Platform
}

// archivesIn lists the archives of a provider in a folder, which may be nil.
func archivesIn(root *os.Root, p Provider) ([]file, error) {
	if root == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(root.FS(), p.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", p, err)
	}
	var files []file
	for _, entry := range entries {
		if version, platform, ok := p.ParseFilename(entry.Name()); ok && !entry.IsDir() {
			files = append(files, file{entry.Name(), version, platform})
		}
	}
	return files, nil
}

// folderRelease returns the archives of a version that are in Folder. Their hashes are what they are.
func (m *Mirror) folderRelease(p Provider, version string) (map[string]Package, error) {
	files, err := archivesIn(m.folder, p)
	if err != nil {
		return nil, err
	}
	found := map[string]Package{}
	for _, file := range files {
		if file.version != version {
			continue
		}
		hashes, err := m.hashesInFolder(p, file.name)
		if err != nil {
			return nil, fmt.Errorf("read %s in the folder of providers: %w", file.name, err)
		}
		found[file.platform.String()] = Package{URL: file.name, Hashes: []string{hashes.h1, "zh:" + hashes.sha256}}
	}
	return found, nil
}

// onlyHere takes the archives out of a release that are not in Dir.
func (m *Mirror) onlyHere(p Provider, version string, release *Release) error {
	files, err := archivesIn(m.dir, p)
	maps.DeleteFunc(release.Archives, func(platform string, _ Package) bool {
		return !slices.ContainsFunc(files, func(f file) bool {
			return f.version == version && f.platform.String() == platform
		})
	})
	return err
}

// sums are the hashes of an archive: of the zip in hex, and of what is in it in the form of a lock file.
type sums struct {
	sha256, h1 string
	size       int64
	changed    time.Time
}

// hashesInFolder returns the hashes of a file in Folder. They are computed again when the file changes.
func (m *Mirror) hashesInFolder(p Provider, name string) (sums, error) {
	path := p.dir() + "/" + name
	file, err := m.folder.Open(path)
	if err != nil {
		return sums{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return sums{}, err
	}
	if known, ok := m.hashed.Get(path); ok && known.size == info.Size() && known.changed.Equal(info.ModTime()) {
		return known, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return sums{}, err
	}
	h1, err := hashContent(file, info.Size())
	if err != nil {
		return sums{}, err
	}
	found := sums{hex.EncodeToString(hash.Sum(nil)), h1, info.Size(), info.ModTime()}
	m.hashed.Add(path, found)
	return found, nil
}
