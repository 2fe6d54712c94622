package git

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Refs names all branches and tags as they are now, and what they name: another value after a fetch says that it brought
// something.
func (m *Mirror) Refs() string {
	known, sum := m.known(), sha256.New()
	fmt.Fprintf(sum, "%s\n", known.head)
	for _, name := range slices.Sorted(maps.Keys(known.ids)) {
		fmt.Fprintf(sum, "%s %s\n", known.ids[name], name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Empty says that no fetch has filled the mirror since it was made: nothing is known of the remote. What was fetched from
// a repository without branches and tags is not empty.
func (m *Mirror) Empty() bool { return m.known().ids == nil }

// IsCommitID says whether a ref is the full ID of a commit, which needs no branch or tag.
func IsCommitID(ref string) bool { return isID(ref) }
