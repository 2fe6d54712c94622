package git

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/test/gitserver"
)

// archive packs what is at some paths of main.
func (f *fixture) archive(paths ...string) ([]byte, error) {
	f.Helper()
	commit, err := f.m.Resolve(f.Context(), "main")
	f.must(err)
	tree, err := f.m.Tree(f.Context(), commit.ID)
	f.must(err)
	var files []Entry
	for _, path := range paths {
		e, ok := tree.Entry(path)
		if !ok {
			f.Fatalf("there is no %s", path)
		}
		files = append(files, e)
	}
	var out bytes.Buffer
	err = f.m.Archive(f.Context(), tree, files, &out)
	return out.Bytes(), err
}

// unpack gives "mode content" of each file, "-> target" of each symlink.
func unpack(t testing.TB, archive []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for entries := tar.NewReader(plain); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			found[h.Name] = fs.FileMode(h.Mode).String()[1:] + " " + string(data)
		case tar.TypeSymlink:
			found[h.Name] = "-> " + h.Linkname
		default:
			t.Errorf("%s is of type %c", h.Name, h.Typeflag)
		}
	}
}

func TestArchiveIsReproducible(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.change(gitserver.Change{
		Files: map[string]string{"envs/a/main.tf": "a", "envs/b/main.tf": "b", "modules/net/main.tf": "net",
			"modules/net/empty": gitserver.Empty, "README": "read me"},
		Programs: map[string]string{"modules/net/run.sh": "#!/bin/sh\n"},
		Links:    map[string]string{"envs/a/net": "../../modules/net", "envs/a/gone": "nothing/here"},
	})
	f.fetch()
	first, err := f.archive("envs/a", "modules/net", "modules/net/main.tf")
	f.must(err)
	want := map[string]string{
		"envs/a/main.tf": "rw-r--r-- a", "envs/a/net": "-> ../../modules/net", "envs/a/gone": "-> nothing/here",
		"modules/net/main.tf": "rw-r--r-- net", "modules/net/empty": "rw-r--r-- ",
		"modules/net/run.sh": "rwxr-xr-x #!/bin/sh\n",
	}
	if diff := cmp.Diff(want, unpack(t, first)); diff != "" {
		t.Error(diff)
	}
	f.commit(map[string]string{"envs/b/main.tf": "another"})
	f.fetch()
	second, err := f.archive("modules/net", "envs/a/main.tf", "envs/a/gone", "envs/a/net")
	f.must(err)
	if !bytes.Equal(first, second) {
		t.Error("the same files in another order, of another commit, are other bytes")
	}
	// The digest of an archive is in the digest of inputs: when it changes, every Stack is planned anew. Should a new
	// Go compress otherwise, that is what this says.
	sum := sha256.Sum256(first)
	if got := hex.EncodeToString(sum[:]); got != "b8ccdf5dcbdc54e8a186b7c06a09da5b7647c208f3236679cacab656380fcad9" {
		t.Errorf("the archive has another digest than it had: %s", got)
	}
}

// unpackAsRunner unpacks an archive as the runner does.
func unpackAsRunner(t *testing.T, archive []byte) error {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		return err
	}
	return errors.Join(workspace.Unpack(root, bytes.NewReader(archive)), root.Close())
}

func TestSymlinkOutsideOfTheArchiveIsRejected(t *testing.T) {
	t.Parallel()
	type links = map[string]string
	repos := gitserver.New(t)
	for _, c := range []struct {
		name  string
		links links
		says  string
	}{
		{"beside", links{"a/link": "main.tf"}, ""},
		{"up and down", links{"a/link": "../b/main.tf"}, ""},
		{"to the root", links{"a/link": ".."}, ""},
		{"to nothing", links{"a/link": "../c/d"}, ""},
		{"through another", links{"a/one": "../b", "a/two": "one/main.tf"}, ""},
		{"to nothing through nothing", links{"a/link": "nothing/../../../x"}, ""},
		{"to an absolute path", links{"a/link": "/etc/passwd"}, "outside of the repository"},
		{"out", links{"a/link": "../../etc"}, "leads out"},
		{"out through another", links{"a/b/c/root": "../../..", "a/link": "b/c/root/../x"}, "leads out"},
		{"in a circle", links{"a/one": "two", "a/two": "one"}, ""},
		{"to itself", links{"a/one": "one"}, ""},
		{"through a file", links{"a/link": "main.tf/x"}, ""},
		{"out through many", links{"l1": "l2", "l2": "l3", "l3": "l4", "l4": "l5", "l5": "l6", "l6": "l7", "l7": "l8",
			"l8": "l9", "l9": "l10", "l10": "../x"}, "leads out"},
		{"through many", links{"l1": "l2", "l2": "l3", "l3": "l4", "l4": "l5", "l5": "l6", "l6": "l7", "l7": "l8",
			"l8": "l9", "l9": "a/main.tf"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"a/main.tf": "a", "b/main.tf": "b"}
			f := &fixture{T: t, repos: repos, m: mirror(t, t.TempDir(), Options{})}
			f.repo = f.init(strings.ReplaceAll(c.name, " ", "-"))
			f.http = f.serve(false)
			f.change(gitserver.Change{Files: files, Links: c.links})
			f.fetch()
			archive, err := f.archive("")
			if c.says == "" {
				f.must(err)
				f.must(unpackAsRunner(t, archive))
			} else {
				fails(t, err, ErrContent, c.says)
			}
		})
	}
}

func TestSizeOfAnArchiveIsLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{MaxFiles: 2, MaxBytes: 10})
	f.commit(map[string]string{"few/a": "12345", "few/b": "12345", "many/a": "a", "many/b": "b", "many/c": "c",
		"large/a": "12345678901"})
	f.fetch()
	_, err := f.archive("few")
	f.must(err)
	_, err = f.archive("many")
	fails(t, err, ErrTooLarge, "more than 2 files")
	_, err = f.archive("large")
	fails(t, err, ErrTooLarge, "more than 10 bytes")
	_, err = f.archive("few") // the reader that was interrupted in a file is not used again
	f.must(err)
}

func TestInvalidArchivePathIsRejected(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/../b", "/a", "a\xff", strings.Repeat("x", mostPath+1)} {
		fails(t, checkPath(name), ErrContent, "")
	}
}

func TestSizeOfABlobIsLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"a": "12345", "dir/b": "x"})
	f.fetch()
	tree, err := f.m.Tree(t.Context(), id)
	f.must(err)
	again, err := f.m.Tree(t.Context(), tree.ID)
	if err != nil || again != tree {
		t.Errorf("the tree by its own ID is another: %v", err)
	}
	e, _ := tree.Entry("a")
	for range 20 {
		data, err := f.m.Blob(t.Context(), e.ID, 5)
		if err != nil || string(data) != "12345" {
			t.Fatalf("got %q, %v", data, err)
		}
		_, err = f.m.Blob(t.Context(), e.ID, 4)
		fails(t, err, ErrTooLarge, "the limit is 4")
	}
	for name, id := range map[string]string{"not there": strings.Repeat("0", 40), "a directory": tree.ID,
		"two lines": e.ID + "\n" + e.ID, "a ref": "refs/heads/main"} {
		if data, err := f.m.Blob(t.Context(), id, 100); err == nil {
			t.Errorf("%s: got %q", name, data)
		}
	}
	_, err = f.m.Tree(t.Context(), strings.Repeat("0", 40))
	fails(t, err, ErrNoRef, "")
	_, err = f.m.Tree(t.Context(), "--help")
	fails(t, err, ErrNoRef, "")
	_, err = f.m.Tree(t.Context(), e.ID) // a file
	if err == nil {
		t.Error("a file is a tree")
	}
}
