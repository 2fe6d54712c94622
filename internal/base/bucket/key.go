package bucket

import (
	"errors"
	"fmt"
	"strings"
)

const maxKey = 1000

// checkKey rejects names that could mean another place than they seem to. Keys are folders and a last name, each of
// letters, digits and a few signs; what Cairn puts in them (namespaces, names, UIDs, digests) needs nothing else.
func checkKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("bucket key of %d bytes: at most %d", len(key), maxKey)
	}
	if hidden(key) {
		return fmt.Errorf("bucket key %q ends like a temporary file", key)
	}
	for part := range strings.SplitSeq(key, "/") {
		if err := checkPart(part); err != nil {
			return fmt.Errorf("bucket key %q: %w", key, err)
		}
	}
	return nil
}

func checkPart(part string) error {
	switch part {
	case "":
		return errors.New("an empty part")
	case ".", "..":
		return errors.New("a part that is a path of its own")
	}
	for _, c := range part {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("._:-", c):
		default:
			return fmt.Errorf("character %q", c)
		}
	}
	return nil
}

// hidden reports whether a name is one that the folder driver uses for itself: a write cut off by a crash may leave
// one.
func hidden(key string) bool {
	return strings.HasSuffix(key, ".tmp") || strings.HasSuffix(key, ".attrs")
}

// folder is the prefix that holds all keys below a folder and none of a sibling whose name only begins the same way.
func folder(dir string) (string, error) {
	dir = strings.TrimSuffix(dir, "/")
	if err := checkKey(dir); err != nil {
		return "", err
	}
	return dir + "/", nil
}
