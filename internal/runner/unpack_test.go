package runner

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is one entry of an archive.
type entry struct {
	tar.Header
	content string
}

// archive makes a tar.gz.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	data, err := pack(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func pack(entries ...entry) ([]byte, error) {
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	w := tar.NewWriter(packed)
	for _, entry := range entries {
		if entry.Size == 0 {
			entry.Size = int64(len(entry.content))
		}
		if err := w.WriteHeader(&entry.Header); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(entry.content)); err != nil {
			return nil, err
		}
	}
	_ = w.Close() // an entry may be cut short on purpose
	err := packed.Close()
	return data.Bytes(), err
}

func file(name, content string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, content}
}

func link(name, to string) entry {
	return entry{Header: tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}}
}

func special(name string, kind byte) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: kind}}
}

func unpackInto(t testing.TB, dir string, data []byte) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	return unpack(root, bytes.NewReader(data))
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	script := file("bin/run.sh", "#!")
	script.Mode = 0o755
	err := unpackInto(t, dir, archive(t,
		entry{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "1f3c"}}},
		special("./", tar.TypeDir),
		file("main.tf", "code"), file("a/b/c.tf", "deep"), script,
		link("latest", "a/b"), link("a/up", "../main.tf"), link("dangling", "nowhere"),
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"main.tf": "code", "a/b/c.tf": "deep", "latest/c.tf": "deep", "a/up": "code", "bin/run.sh": "#!"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "bin", "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	large := file("large", "")
	large.Size = mostBytes + 1
	many := make([]entry, mostFiles+1)
	for i := range many {
		many[i] = special("d", tar.TypeDir)
	}
	for name, entries := range map[string][]entry{
		"upwards":                     {file("../out", "x")},
		"upwards within":              {file("a/../../out", "x")},
		"absolute":                    {file("/out", "x")},
		"a link upwards":              {link("l", "../..")},
		"an absolute link":            {link("l", "/etc/passwd")},
		"through a link":              {link("l", ".."), file("l/out", "x")},
		"a link by way of others":     {file("top/x", ""), special("a/b", tar.TypeDir), link("a/b/c", "../../top"), link("y", "a/b/c/../..")},
		"a dangling link to outside":  {link("l", "../nowhere")},
		"a loop":                      {link("a", "b"), link("b", "a")},
		"a hard link":                 {file("f", "x"), {Header: tar.Header{Name: "h", Linkname: "f", Typeflag: tar.TypeLink}}},
		"a device":                    {special("dev", tar.TypeChar)},
		"a pipe":                      {special("pipe", tar.TypeFifo)},
		"a file twice":                {file("f", "x"), file("f", "y")},
		"a file over a link":          {file("f", "x"), link("l", "f"), file("l", "y")},
		"more than it may be":         {large},
		"more files than it may have": many,
	} {
		t.Run(name, func(t *testing.T) {
			outer := t.TempDir()
			dir := filepath.Join(outer, "root")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unpackInto(t, dir, archive(t, entries...)); err == nil {
				t.Error("taken")
			}
			if entries, _ := os.ReadDir(outer); len(entries) != 1 {
				t.Errorf("something is outside: %v", entries)
			}
		})
	}
	for name, data := range map[string][]byte{"no gzip": []byte("x"), "cut off": archive(t, file("f", strings.Repeat("x", 4096)))[:40]} {
		if err := unpackInto(t, t.TempDir(), data); err == nil {
			t.Errorf("%s: taken", name)
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
		data, err := pack(link(one, two), file(three, "x"), link(two, one), link(three+"l", one+"/../"+two))
		if err != nil {
			t.Skip("not an archive")
		}
		taken := unpackInto(t, dir, data) == nil
		if entries, _ := os.ReadDir(outer); len(entries) != 1 {
			t.Fatalf("something is outside: %v", entries)
		}
		if !taken {
			return
		}
		_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type()&fs.ModeSymlink != 0 {
				if real, err := filepath.EvalSymlinks(path); err == nil && real != dir && !strings.HasPrefix(real, dir+"/") {
					t.Errorf("%s leads to %s", path, real)
				}
			}
			return nil
		})
	})
}
