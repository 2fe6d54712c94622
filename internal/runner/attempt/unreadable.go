package attempt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine"
)

const (
	// mostNamed is how many files of each kind a message names, and longestNamed how many bytes that takes.
	mostNamed, longestNamed = 3, 400
	// largestPointer is the largest size of a Git LFS pointer, and pointerStart its first line, by the specification of
	// Git LFS.
	largestPointer = 1024
	pointerStart   = "version https://git-lfs.github.com/spec/v1\n"
)

// unreadable returns aboutFiles of the attempt's code; empty before it is there.
func (w *workbench) unreadable() string {
	if !w.fetched {
		return ""
	}
	return aboutFiles(os.DirFS(w.code()), path.Clean(w.order.Path))
}

// aboutFiles returns a note on files of the code that no engine can read for what they are in git: dangling symlinks,
// and Git LFS pointers. An engine's error is about what it found in place of the content. Files in the root module's
// folder come first. It is empty when there are none.
func aboutFiles(code fs.FS, module string) string {
	var links, pointers []string
	// what cannot be read is not named
	_ = fs.WalkDir(code, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir() && entry.Name() == engine.DataDir:
			return fs.SkipDir
		case entry.Type() == fs.ModeSymlink && isDangling(code, name):
			target, _ := fs.ReadLink(code, name)
			links = append(links, fmt.Sprintf("%s -> %s", name, target))
		case entry.Type().IsRegular() && isPointer(code, name, entry):
			pointers = append(pointers, name)
		}
		return nil
	})
	said := ""
	if len(links) > 0 {
		said += "; the repository has symlinks to files that do not exist: " + someOf(links, module)
	}
	if len(pointers) > 0 {
		said += "; the code has Git LFS pointers in place of files: set spec.lfs: true on the Repository to fetch " +
			someOf(pointers, module)
	}
	return said
}

func isDangling(code fs.FS, name string) bool {
	_, err := fs.Stat(code, name)
	return errors.Is(err, fs.ErrNotExist)
}

func isPointer(code fs.FS, name string, entry fs.DirEntry) bool {
	info, err := entry.Info()
	if err != nil || info.Size() >= largestPointer || info.Size() < int64(len(pointerStart)) {
		return false
	}
	file, err := code.Open(name)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // only read
	start := make([]byte, len(pointerStart))
	_, err = io.ReadFull(file, start)
	return err == nil && bytes.Equal(start, []byte(pointerStart))
}

// someOf lists the first of many names, those below a folder before others.
func someOf(names []string, folder string) string {
	elsewhere := func(name string) int {
		if folder == "." || strings.HasPrefix(name, folder+"/") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(elsewhere(a), elsewhere(b)) })
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	return shorten.Bytes(strings.Join(names, ", "), longestNamed) + more
}
