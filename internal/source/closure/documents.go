package closure

import (
	"crypto/sha256"
	"encoding/hex"
	"path"

	"cairn.dev/cairn/internal/source/git"
)

// documentless is a module's directory that is in the closure without the documents directly in it: no code of the
// Stack reads them.
type documentless struct {
	// path of the directory, and its ID.
	path, id string
	// sum is a hash of the entries that are in the closure.
	sum string
}

// isDocument reports whether a file is one that engines never read by themselves.
func isDocument(e git.Entry) bool {
	return isFile(e.Kind) && (path.Ext(e.Name()) == ".md" || e.Name() == "LICENSE")
}

// documentless returns the module's directories among the roots that are in the closure without their documents. The
// documents are in the closure if code may read them: if a path in the code, in values, in triggers or in a symlink
// leads to one of them, to the directory or to a directory above it, or if a program runs whose files are below the
// directory. Terragrunt copies directories with their documents, and its hooks run in them.
func (s *search) documentless(roots []git.Entry) []documentless {
	var all []documentless
	for _, e := range roots {
		if e.Kind == git.KindDir && s.modules[e.Path] && len(s.units) == 0 && !s.isRead(e.Path) {
			all = append(all, documentless{e.Path, e.ID, sumWithoutDocuments(s.tree, e.Path)})
		}
	}
	return all
}

// isRead reports whether code may read the documents of a directory.
func (s *search) isRead(dir string) bool {
	entries, _ := s.tree.Dir(dir)
	for _, e := range entries {
		if s.named[e.Path] && isDocument(e) {
			return true
		}
	}
	for ; !s.named[dir]; dir = parentOf(dir) {
		if dir == "" {
			return false
		}
	}
	return true
}

// holds reports whether the directory is the same in a tree, except for its documents.
func (d documentless) holds(tree Tree) bool {
	e, _ := tree.Entry(d.path)
	return e.Kind == git.KindDir && (e.ID == d.id || sumWithoutDocuments(tree, d.path) == d.sum)
}

func sumWithoutDocuments(tree Tree, dir string) string {
	entries, _ := tree.Dir(dir)
	h := sha256.New()
	for _, e := range entries {
		if !isDocument(e) {
			writeEntries(h, []git.Entry{e})
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
