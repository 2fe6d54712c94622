package workspace

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/targz"
)

func special(name string, kind byte) targz.Entry {
	return targz.Entry{Header: tar.Header{Name: name, Typeflag: kind}}
}

func unpackInto(t testing.TB, dir string, data []byte) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return Unpack(root, bytes.NewReader(data))
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	script := targz.File("bin/run.sh", "#!")
	script.Mode = 0o755
	err := unpackInto(t, dir, targz.Archive(t,
		targz.Entry{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader,
			PAXRecords: map[string]string{"comment": "1f3c"}}},
		special("./", tar.TypeDir),
		targz.File("main.tf", "code"), targz.File("a/b/c.tf", "deep"), script,
		targz.Link("latest", "a/b"), targz.Link("a/up", "../main.tf"), targz.Link("dangling", "nowhere"),
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"main.tf": "code", "a/b/c.tf": "deep", "latest/c.tf": "deep",
		"a/up": "code", "bin/run.sh": "#!"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "bin", "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

// Engines accept a folder with such a link, if nothing reads it.
func TestLinksThatLeadNowhereAreUnpacked(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat(strings.Repeat("n", 200)+"/", 12) + "a.tf"
	err := unpackInto(t, dir, targz.Archive(t,
		targz.File("f", "x"), targz.Link("a", "b"), targz.Link("b", "a"), targz.Link("self", "self"),
		targz.Link("through", "f/x"),
		targz.Link("l1", "l2"), targz.Link("l2", "l3"), targz.Link("l3", "l4"), targz.Link("l4", "l5"),
		targz.Link("l5", "l6"),
		targz.Link("l6", "l7"), targz.Link("l7", "l8"), targz.Link("l8", "l9"), targz.Link("l9", "l10"),
		targz.Link("l10", "f"),
		targz.File(long, "long"),
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"l1": "x", long: "long"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
			t.Errorf("%.20s: %q, %v", name, got, err)
		}
	}
}

func TestHostileArchivesAreRejected(t *testing.T) {
	large := targz.File("large", "")
	large.Size = mostBytes + 1
	many := make([]targz.Entry, mostFiles+1)
	for i := range many {
		many[i] = special("d", tar.TypeDir)
	}
	for name, entries := range map[string][]targz.Entry{
		"upwards":          {targz.File("../out", "x")},
		"upwards within":   {targz.File("a/../../out", "x")},
		"absolute":         {targz.File("/out", "x")},
		"a link upwards":   {targz.Link("l", "../..")},
		"an absolute link": {targz.Link("l", "/etc/passwd")},
		"through a link":   {targz.Link("l", ".."), targz.File("l/out", "x")},
		"a link by way of others": {targz.File("top/x", ""), special("a/b", tar.TypeDir),
			targz.Link("a/b/c", "../../top"), targz.Link("y", "a/b/c/../..")},
		"a dangling link to outside": {targz.Link("l", "../nowhere")},
		"a link upwards by way of many others": {
			targz.Link("a", "b"), targz.Link("b", "c"), targz.Link("c", "d"), targz.Link("d", "e"),
			targz.Link("e", "f"), targz.Link("f", "g"),
			targz.Link("g", "h"), targz.Link("h", "i"), targz.Link("i", "j"), targz.Link("j", ".."),
		},
		"a hard link": {targz.File("f", "x"),
			{Header: tar.Header{Name: "h", Linkname: "f", Typeflag: tar.TypeLink}}},
		"a device":                    {special("dev", tar.TypeChar)},
		"a pipe":                      {special("pipe", tar.TypeFifo)},
		"a file twice":                {targz.File("f", "x"), targz.File("f", "y")},
		"a file over a link":          {targz.File("f", "x"), targz.Link("l", "f"), targz.File("l", "y")},
		"more than it may be":         {large},
		"more files than it may have": many,
	} {
		t.Run(name, func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "root")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unpackInto(t, dir, targz.Archive(t, entries...)); err == nil {
				t.Error("accepted")
			}
			if entries, _ := os.ReadDir(outer); len(entries) != 1 {
				t.Errorf("a file is outside: %v", entries)
			}
		})
	}
	for name, data := range map[string][]byte{"no gzip": []byte("x"),
		"cut off": targz.Archive(t, targz.File("f", strings.Repeat("x", 4096)))[:40]} {
		if err := unpackInto(t, t.TempDir(), data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzUnpack: whatever the archive, nothing is outside of the root and no link leads there.
func FuzzUnpack(f *testing.F) {
	f.Add("l", "..", "l/out")
	f.Add("a/b/c", "../../top", "y")
	f.Add("a/../../b", "/etc", "./c")
	f.Fuzz(func(t *testing.T, one, two, three string) {
		for _, s := range []string{one, two, three} {
			if s == "" || len(s) > 90 || strings.ContainsRune(s, 0) {
				t.Skip("no archive can have such a name")
			}
		}
		outer := t.TempDir()
		dir := filepath.Join(outer, "root")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := targz.Pack(targz.Link(one, two), targz.File(three, "x"), targz.Link(two, one),
			targz.Link(three+"l", one+"/../"+two))
		if err != nil {
			t.Skip("the archive format cannot hold these names:", err) // any other input is unpacked
		}
		taken := unpackInto(t, dir, data) == nil
		if entries, _ := os.ReadDir(outer); len(entries) != 1 {
			t.Fatalf("a file is outside: %v", entries)
		}
		if !taken {
			return
		}
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type()&fs.ModeSymlink != 0 {
				if real, err := filepath.EvalSymlinks(path); err == nil && real != dir &&
					!strings.HasPrefix(real, dir+"/") {
					t.Errorf("%s leads to %s", path, real)
				}
			}
			return nil
		})
	})
}
