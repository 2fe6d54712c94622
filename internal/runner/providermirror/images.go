package providermirror

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"cairn.dev/cairn/internal/engine"
)

// Images are the providers that the engine takes from images that are mounted in the pod, by address: those that the
// lock file pins to a version of an image, with a checksum of the files. So images change no result, and the lock
// file protects from what is in them.
//
// An image is unpacked as a filesystem mirror: HOST/NAMESPACE/TYPE/VERSION/OS_ARCH. An engine links to such a folder
// and copies nothing.
type Images struct {
	taken map[string]provider
	// unfit are the addresses of pinned providers that are not taken, since the lock file has no checksum of their
	// files.
	unfit []string
}

// provider is one of an image.
type provider struct {
	// image is the folder of the image, and dir that of the files.
	image, dir string
	// hashes are those of the lock file, of which the files must have one.
	hashes []string
}

// FindImages returns the providers of the images, each of which is a folder of root.
func FindImages(root string, locked map[string]engine.LockedProvider) (*Images, error) {
	images := &Images{taken: map[string]provider{}}
	folders, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return images, nil
	}
	if err != nil {
		return nil, err
	}
	for name, lock := range locked {
		p, ok := find(root, folders, name, lock)
		switch {
		case !ok:
		case slices.ContainsFunc(lock.Hashes, isOfFiles):
			images.taken[name] = p
		default:
			images.unfit = append(images.unfit, name)
		}
	}
	return images, nil
}

// find returns a locked provider of the first image that has it.
func find(root string, images []fs.DirEntry, name string, lock engine.LockedProvider) (provider, bool) {
	if !address.MatchString(name) || !filepath.IsLocal(lock.Version) {
		return provider{}, false
	}
	for _, entry := range images {
		image := filepath.Join(root, entry.Name())
		dir := filepath.Join(image, filepath.FromSlash(name), lock.Version, runtime.GOOS+"_"+runtime.GOARCH)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return provider{image, dir, lock.Hashes}, true
		}
	}
	return provider{}, false
}

// isOfFiles reports whether a checksum is of a provider's files. OpenTofu accepts any files when the lock file has
// checksums of archives alone.
func isOfFiles(hash string) bool { return strings.HasPrefix(hash, "h1:") }

// check computes the checksums of the files, and leaves out the providers that the lock file rejects. It reads all
// files, as the engine does at an init, so it is for one that failed.
func (i *Images) check() error {
	for name, p := range i.taken {
		h1, err := dirhash.HashDir(p.dir, "", dirhash.Hash1)
		if err != nil {
			return err
		}
		if !slices.Contains(p.hashes, h1) {
			delete(i.taken, name)
			i.unfit = append(i.unfit, name)
		}
	}
	return nil
}

// Empty reports whether no provider comes from an image.
func (i *Images) Empty() bool { return len(i.taken) == 0 }

// Unfit returns the addresses of the providers that an image has in the pinned version, and that are not taken from
// it, since the lock file has no checksum of their files.
func (i *Images) Unfit() []string { return slices.Sorted(slices.Values(i.unfit)) }

// methods are the blocks of provider_installation for the images, and the addresses of the providers in them, without
// those that come from elsewhere.
func (i *Images) methods(elsewhere []string) (blocks string, found []string) {
	byImage := map[string][]string{}
	for name, p := range i.taken {
		if !slices.Contains(elsewhere, name) {
			byImage[p.image], found = append(byImage[p.image], name), append(found, name)
		}
	}
	for _, image := range slices.Sorted(maps.Keys(byImage)) {
		blocks += method("filesystem_mirror", path(image), list("include", byImage[image]))
	}
	return blocks, found
}
