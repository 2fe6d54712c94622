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
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

// archive packs what is at some paths of main.
func (w *world) archive(paths ...string) ([]byte, error) {
	w.Helper()
	commit, err := w.m.Resolve(w.Context(), "main")
	w.must(err)
	tree, err := w.m.Tree(w.Context(), commit.ID)
	w.must(err)
	var files []Entry
	for _, path := range paths {
		e, ok := tree.Entry(path)
		if !ok {
			w.Fatalf("there is no %s", path)
		}
		files = append(files, e)
	}
	var out bytes.Buffer
	err = w.m.Archive(w.Context(), tree, files, &out)
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

func TestAnArchiveHasTheFilesAndNothingOfTheMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.change(gitserver.Change{
		Files:    map[string]string{"envs/a/main.tf": "a", "envs/b/main.tf": "b", "modules/net/main.tf": "net", "modules/net/empty": gitserver.Empty, "README": "read me"},
		Programs: map[string]string{"modules/net/run.sh": "#!/bin/sh\n"},
		Links:    map[string]string{"envs/a/net": "../../modules/net", "envs/a/gone": "nothing/here"},
	})
	w.fetch()
	first, err := w.archive("envs/a", "modules/net", "modules/net/main.tf")
	w.must(err)
	want := map[string]string{
		"envs/a/main.tf": "rw-r--r-- a", "envs/a/net": "-> ../../modules/net", "envs/a/gone": "-> nothing/here",
		"modules/net/main.tf": "rw-r--r-- net", "modules/net/empty": "rw-r--r-- ", "modules/net/run.sh": "rwxr-xr-x #!/bin/sh\n",
	}
	if diff := cmp.Diff(want, unpack(t, first)); diff != "" {
		t.Error(diff)
	}
	w.commit(map[string]string{"envs/b/main.tf": "another"})
	w.fetch()
	second, err := w.archive("modules/net", "envs/a/main.tf", "envs/a/gone", "envs/a/net")
	w.must(err)
	if !bytes.Equal(first, second) {
		t.Error("the same files in another order, of another commit, are other bytes")
	}
	// The digest of an archive is in the digest of inputs: when it changes, every Stack is planned anew. Should a new Go
	// compress otherwise, that is what this says.
	sum := sha256.Sum256(first)
	if got := hex.EncodeToString(sum[:]); got != "b8ccdf5dcbdc54e8a186b7c06a09da5b7647c208f3236679cacab656380fcad9" {
		t.Errorf("the archive has another digest than it had: %s", got)
	}
}

// unpacked says whether the runner would take the links: it asks an os.Root for each once all is unpacked.
func unpacked(t *testing.T, files, links map[string]string) bool {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, content := range files {
		root.MkdirAll(path.Dir(name), 0o755)
		if err := root.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		root.MkdirAll(path.Dir(name), 0o755)
		if path.IsAbs(target) {
			return false
		}
		if err := root.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for name := range links {
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

func TestASymlinkStaysWithinTheArchive(t *testing.T) {
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
		{"in a circle", links{"a/one": "two", "a/two": "one"}, "in a circle"},
		{"through a file", links{"a/link": "main.tf/x"}, "which is a file"},
		{"through too many", links{"l1": "l2", "l2": "l3", "l3": "l4", "l4": "l5", "l5": "l6", "l6": "l7", "l7": "l8", "l8": "l9", "l9": "a/main.tf"}, "more than 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"a/main.tf": "a", "b/main.tf": "b"}
			w := &world{T: t, repos: repos, m: mirror(t, t.TempDir(), Options{})}
			w.repo = w.init(strings.ReplaceAll(c.name, " ", "-"))
			w.http = w.serve(false)
			w.change(gitserver.Change{Files: files, Links: c.links})
			w.fetch()
			_, err := w.archive("")
			if c.says == "" {
				w.must(err)
			} else {
				fails(t, err, ErrContent, c.says)
			}
			if taken := unpacked(t, files, c.links); taken != (err == nil) {
				t.Errorf("a runner takes it: %v", taken)
			}
		})
	}
}

func TestAnArchiveHasLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{MaxFiles: 2, MaxBytes: 10})
	w.commit(map[string]string{"few/a": "12345", "few/b": "12345", "many/a": "a", "many/b": "b", "many/c": "c", "large/a": "12345678901"})
	w.fetch()
	_, err := w.archive("few")
	w.must(err)
	_, err = w.archive("many")
	fails(t, err, ErrTooLarge, "more than 2 files")
	_, err = w.archive("large")
	fails(t, err, ErrTooLarge, "more than 10 bytes")
	_, err = w.archive("few") // whoever was in the middle of a file is not asked again
	w.must(err)
}

func TestAPathThatCannotBeUnpackedIsRefused(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/../b", "/a", "a\xff", strings.Repeat("x", mostPath+1)} {
		fails(t, checkPath(name), ErrContent, "")
	}
}

func TestABlobIsReadUpToALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"a": "12345", "dir/b": "x"})
	w.fetch()
	tree, err := w.m.Tree(t.Context(), id)
	w.must(err)
	again, err := w.m.Tree(t.Context(), tree.ID)
	if err != nil || again != tree {
		t.Errorf("the tree by its own ID is another: %v", err)
	}
	e, _ := tree.Entry("a")
	for range 20 {
		data, err := w.m.Blob(t.Context(), e.ID, 5)
		if err != nil || string(data) != "12345" {
			t.Fatalf("got %q, %v", data, err)
		}
		_, err = w.m.Blob(t.Context(), e.ID, 4)
		fails(t, err, ErrTooLarge, "the limit is 4")
	}
	for name, id := range map[string]string{"not there": strings.Repeat("0", 40), "a directory": tree.ID, "two lines": e.ID + "\n" + e.ID, "a ref": "refs/heads/main"} {
		if data, err := w.m.Blob(t.Context(), id, 100); err == nil {
			t.Errorf("%s: got %q", name, data)
		}
	}
	_, err = w.m.Tree(t.Context(), strings.Repeat("0", 40))
	fails(t, err, ErrNoRef, "")
	_, err = w.m.Tree(t.Context(), "--help")
	fails(t, err, ErrNoRef, "")
	_, err = w.m.Tree(t.Context(), e.ID) // a file
	if err == nil {
		t.Error("a file is a tree")
	}
}
