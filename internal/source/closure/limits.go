package closure

import (
	"errors"

	"cairn.dev/cairn/internal/source/git"
)

const (
	// parseWork is the work of parsing a byte of code.
	parseWork = 16
	// entryWork is the work of comparing an entry of a tree with a glob.
	entryWork = 64
	// expressionWork is the work of evaluating a byte of an expression.
	expressionWork = 16
	// referenceWork is the work of following a reference in Terragrunt's configuration.
	referenceWork = 1024
)

// errWork is the error of a step that would do more work than Options.Work.
var errWork = errors.New("too much work")

// budget is how much work may still be done. A nil budget is not limited.
type budget struct{ left int }

// spend reports that work is done. Its error is errWork.
func (b *budget) spend(work int) error {
	if b == nil {
		return nil
	}
	if b.left -= work; b.left < 0 {
		return errWork
	}
	return nil
}

// Memory of cached values, about, in bytes.
const (
	entryWeight = 200 // an entry of a cache, or of a tree, beside its text
	pathWeight  = 64
	callWeight  = 64
	textWeight  = 16
)

func textsWeight(texts []string) int {
	bytes := 0
	for _, text := range texts {
		bytes += textWeight + len(text)
	}
	return bytes
}

// entriesWeight counts paths twice: an entry refers to the line that git listed, which has its ID and its path.
func entriesWeight(entries []git.Entry) int {
	bytes := 0
	for _, e := range entries {
		bytes += entryWeight + 2*len(e.Path)
	}
	return bytes
}

func (a *answer) weight() int {
	bytes := entriesWeight(a.roots) + entriesWeight(a.facts) + textsWeight(a.modules) + textsWeight(a.open)
	for _, g := range a.globs {
		bytes += entryWeight + len(g.glob.base) + len(g.glob.pattern)
	}
	bytes += textsWeight(a.unit.Includes)
	for _, d := range append(a.unit.Dependencies, a.dependencies...) {
		bytes += textWeight + len(d.Path)
	}
	for _, d := range a.documentless {
		bytes += entryWeight + len(d.path)
	}
	return bytes
}
