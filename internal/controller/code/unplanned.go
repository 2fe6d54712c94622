package code

import (
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

const (
	// mostManifests is how many changed files are searched for manifests, and manifestBytes the size of the largest.
	mostManifests = 200
	manifestBytes = 1 << 20
)

// Unplanned is what a proposal changes and no plan shows, by path.
type Unplanned struct {
	// Directories have code, had none before, and neither a Stack nor a StackSet reads them.
	Directories []string
	// Manifests are the files with manifests of Cairn that are added, changed or deleted.
	Manifests []string
}

// Unplanned returns what the proposal changes and no plan shows. stacks are those that read the base, and listed are
// the directories that StackSets list in the merge result.
func (p *Proposal) Unplanned(
	ctx context.Context, r *v1alpha1.Repository, stacks []v1alpha1.Stack, listed []string,
) (Unplanned, error) {
	changed := changedFiles(p.base.tree, p.merged.tree)
	found, added := Unplanned{}, map[string]bool{}
	for _, file := range changed {
		dir := parentOf(file)
		if _, ok := p.merged.tree.Entry(file); ok && isCode(file) && !hasCode(p.base.tree, dir) {
			added[dir] = true
		}
	}
	if len(added) > 0 {
		var read []closure.Wanted
		for i := range stacks {
			read = append(read, wanted(r, &stacks[i]))
		}
		for _, dir := range listed {
			if added[dir] {
				read = append(read, closure.Wanted{Path: dir})
			}
		}
		p.withoutRead(ctx, added, read)
	}
	found.Directories = slices.Sorted(maps.Keys(added))
	searched := 0
	for _, file := range changed {
		if !isManifest(file) || searched == mostManifests {
			continue
		}
		searched++
		has, err := p.hasManifest(ctx, file)
		if err != nil {
			return found, err
		}
		if has {
			found.Manifests = append(found.Manifests, file)
		}
	}
	return found, nil
}

// withoutRead removes the directories that are read: of root modules and of their local modules. Code that cannot be
// read is reported elsewhere.
func (p *Proposal) withoutRead(ctx context.Context, directories map[string]bool, read []closure.Wanted) {
	for _, want := range read {
		dir, _ := closure.CleanPath(want.Path)
		delete(directories, dir)
		of, err := p.codes.closures.Of(ctx, p.merged.tree, p.merged.mirror, want)
		if err != nil {
			continue
		}
		if len(of.Open) > 0 { // it reads the whole repository
			clear(directories)
		}
		for _, module := range of.Modules {
			delete(directories, module)
		}
	}
}

// hasManifest reports whether a file has a manifest of Cairn, in the merge result or in the base.
func (p *Proposal) hasManifest(ctx context.Context, file string) (bool, error) {
	for _, at := range []GitCode{p.merged, p.base} {
		entry, ok := at.tree.Entry(file)
		if !ok {
			continue
		}
		data, err := at.mirror.Blob(ctx, entry.ID, manifestBytes)
		if errors.Is(err, git.ErrTooLarge) {
			continue
		}
		if err != nil {
			return false, err
		}
		if manifest.Match(data) {
			return true, nil
		}
	}
	return false, nil
}

// manifest matches the apiVersion of a manifest of Cairn, in YAML or JSON.
var manifest = regexp.MustCompile(`(?m)(^|[{,\s-])"?apiVersion"?\s*:\s*["']?` +
	regexp.QuoteMeta(v1alpha1.GroupVersion.Group) + `/`)

func isManifest(file string) bool {
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") || strings.HasSuffix(file, ".json")
}

// isCode reports whether a file is code of an engine, or the unit of a Terragrunt Stack.
func isCode(file string) bool {
	_, kind := engine.CodeFile(file)
	return kind != "" || strings.HasSuffix(file, "/terragrunt.hcl") || strings.HasSuffix(file, "/terragrunt.stack.hcl")
}

func hasCode(tree *git.Tree, dir string) bool {
	entries, _ := tree.Dir(dir)
	return slices.ContainsFunc(entries, func(e git.Entry) bool { return e.Kind != git.KindDir && isCode(e.Path) })
}

func parentOf(file string) string {
	if dir := path.Dir(file); dir != "." {
		return dir
	}
	return ""
}

// changedFiles returns the paths of the files that differ between two trees, sorted.
func changedFiles(before, after *git.Tree) []string {
	changed := map[string]bool{}
	var compare func(a, b *git.Tree, dir string)
	compare = func(a, b *git.Tree, dir string) {
		entries, _ := a.Dir(dir)
		for _, e := range entries {
			other, ok := b.Entry(e.Path)
			switch {
			case ok && other.ID == e.ID && other.Kind == e.Kind:
			case e.Kind == git.KindDir:
				compare(a, b, e.Path)
			case e.Kind == git.KindFile || e.Kind == git.KindExec:
				changed[e.Path] = true
			}
		}
	}
	compare(after, before, "")
	compare(before, after, "")
	return slices.Sorted(maps.Keys(changed))
}
