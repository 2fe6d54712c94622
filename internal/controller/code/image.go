package code

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// Image is what an image is built from at the commit of the code: the Dockerfile with its own list of what to leave
// out, and all files of the context's folder.
func (c GitCode) Image(r *v1alpha1.Repository, b *inputs.Build) (GitCode, error) {
	if c.image != nil {
		return c.image.Image(r, b)
	}
	found, err := imageOf(c.tree, b)
	if err != nil {
		return GitCode{}, err
	}
	return c.of(r, found), nil
}

// imageOf lists what an image is built from.
func imageOf(tree *git.Tree, b *inputs.Build) (closure.Closure, error) {
	files, folder, err := imageRoots(tree, b)
	if err != nil {
		return closure.Closure{}, err
	}
	found := closure.Closure{Digest: digestOf(append(files, folder)...), Files: files}
	tree.Walk(folder.Path, func(e git.Entry) {
		if e.Kind != git.KindDir && e.Path != files[0].Path {
			found.Files = append(found.Files, e)
		}
		found.Submodules = found.Submodules || e.Kind == git.KindSubmodule
	})
	slices.SortFunc(found.Files, func(a, b git.Entry) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// imageRoots are the Dockerfile, with what is read beside it where that is not in the context, and the context's
// folder.
func imageRoots(tree *git.Tree, b *inputs.Build) (files []git.Entry, folder git.Entry, err error) {
	name := b.Spec.Context
	if name == "." {
		name = ""
	}
	file, ok := tree.Entry(b.Spec.Dockerfile)
	if !ok || file.Kind == git.KindDir || file.Kind == git.KindSubmodule {
		return nil, folder, fmt.Errorf("%w: %s (spec.runner.build.dockerfile, from the repository's "+
			"root)", ErrNoDockerfile, b.Spec.Dockerfile)
	}
	if folder, ok = tree.Entry(name); !ok || folder.Kind != git.KindDir {
		return nil, folder, fmt.Errorf("%w: there is no folder %s (spec.runner.build.context, from the repository's "+
			"root)", ErrNoDockerfile, name)
	}
	files = []git.Entry{file}
	for _, beside := range b.IgnoreFiles() {
		e, ok := tree.Entry(beside)
		if ok && e.Kind != git.KindDir && e.Kind != git.KindSubmodule && name != "" &&
			!strings.HasPrefix(e.Path, name+"/") {
			files = append(files, e)
		}
	}
	return files, folder, nil
}

// digestOf is over the entries' paths, kinds and ids. A folder's id is over all that is below it.
func digestOf(entries ...git.Entry) string {
	sum := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(sum, "%d:%s%c%s\n", len(e.Path), e.Path, e.Kind, e.ID)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// imageDigest is that of what the Stack's image is built from; empty when it has none. It is asked of each Stack at
// each push, so no folder is walked.
func imageDigest(tree *git.Tree, stack *v1alpha1.Stack) string {
	b := inputs.NewBuild(stack.Spec.Runner.Build)
	if b == nil {
		return ""
	}
	files, folder, err := imageRoots(tree, b)
	if err != nil {
		return "/"
	}
	return "/" + digestOf(append(files, folder)...)
}
