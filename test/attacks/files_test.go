package attacks

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/source/git"
)

// repository is the content of a commit, by path. "-> x" is a symlink to x.
type repository map[string]string

// blobs are the files of a commit, by ID.
type blobs map[string]string

// Blob returns a file.
func (b blobs) Blob(_ context.Context, id string, limit int64) ([]byte, error) {
	text, ok := b[id]
	if size := int64(len(text)); size > limit {
		return nil, &git.SizeError{ID: id, Size: size, Limit: limit}
	}
	if !ok {
		return nil, fmt.Errorf("no blob %s", id)
	}
	return []byte(text), nil
}

// commit returns the tree that git lists, and the files. The ID of a directory depends on all files, as caches use it
// as a key.
func (r repository) commit() (*git.Tree, blobs, error) {
	files, entries, root := blobs{}, map[string]string{}, ""
	for _, name := range slices.Sorted(maps.Keys(r)) {
		mode, text := "100644", r[name]
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			mode, text = "120000", target
		}
		id := digest(text)
		files[id], entries[name] = text, mode+" blob "+id
		root = digest(root + name + entries[name])
	}
	for name := range r {
		for dir := parent(name); dir != ""; dir = parent(dir) {
			entries[dir] = "040000 tree " + digest(root+" "+dir)
		}
	}
	var listing strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		fmt.Fprintf(&listing, "%s\t%s\x00", entries[name], name)
	}
	tree, err := git.ParseTree(root, []byte(listing.String()))
	return tree, files, err
}

func digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func parent(name string) string {
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		return name[:at]
	}
	return ""
}
