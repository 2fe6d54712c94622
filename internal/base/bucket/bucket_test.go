package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
)

func newKeys(t *testing.T) Keys {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(id.String())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func open(t *testing.T, url string, keys Keys) *Bucket {
	t.Helper()
	b, err := Open(t.Context(), url, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// files are the names of all files below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestFilesAreEncrypted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when", "missing")
	b := open(t, "file://"+dir, newKeys(t))
	canary := "canary-7f3a"
	for _, put := range []func(context.Context, string, []byte) error{b.Put, b.PutOnce, b.PutLoose} {
		if err := put(t.Context(), "plans/ns/uid/one", []byte(strings.Repeat(canary, 100))); err != nil {
			t.Fatal(err)
		}
		if err := b.Delete(t.Context(), "plans/ns/uid/one"); err != nil {
			t.Fatal(err)
		}
		if err := put(t.Context(), "plans/ns/uid/two", []byte(strings.Repeat(canary, 100))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.PutHashed(t.Context(), "plans/ns/uid", strings.NewReader(strings.Repeat(canary, 300_000)),
		1<<30); err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds the text in clear", name)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is open to others: %v %v", info.Mode(), err)
	}
}

func TestBucketIsNotOpenedWithoutKeys(t *testing.T) {
	if _, err := Open(t.Context(), "mem://", Keys{}); err == nil {
		t.Fatal("opened")
	}
}

func TestOldKeyDecrypts(t *testing.T) {
	dir, older, newer := t.TempDir(), newKeys(t), newKeys(t)
	if err := open(t, "file://"+dir, older).Put(t.Context(), "a/b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	both := Keys{append(newer.secrets, older.secrets...)}
	if got, err := open(t, "file://"+dir, both).Get(t.Context(), "a/b", 10); err != nil || string(got) != "x" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestModifiedObjectIsRejected(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	if err := b.Put(t.Context(), "a/b", []byte("the text")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a", "b")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "a/b", 100); err == nil {
		t.Fatal("read")
	}
}

func TestInterruptedWriteStoresNothing(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	cut := errors.New("cable pulled")
	long := bytes.NewReader(make([]byte, 3<<20))

	err := b.PutFrom(t.Context(), "a/b", io.MultiReader(long, iotest.ErrReader(cut)))
	if !errors.Is(err, cut) {
		t.Errorf("got %v", err)
	}
	_, err = b.PutHashed(t.Context(), "a", io.MultiReader(bytes.NewReader(make([]byte, 3<<20)), iotest.ErrReader(cut)),
		1<<30)
	if !errors.Is(err, cut) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Put(ctx, "a/c", []byte("x")); err == nil {
		t.Error("a canceled write was kept")
	}
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a power cut leaves of a name is what was synced of its file, and the name itself if its folder was.
func TestWritesToAFolderAreSynced(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	var synced []os.FileInfo
	b.sync = func(f *os.File) error {
		info, err := f.Stat()
		synced = append(synced, info)
		return errors.Join(err, f.Sync())
	}
	for what, size := range map[string]int{"small": 100, "large": inMemory + 1} {
		synced = nil
		digest, err := b.PutHashed(t.Context(), "plans/"+what, bytes.NewReader(make([]byte, size)), inMemory+1)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(dir, "plans", what), filepath.Join(dir, "plans", what, digest)} {
			kept, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(synced, func(s os.FileInfo) bool {
				return os.SameFile(s, kept) && s.Size() == kept.Size()
			}) {
				t.Errorf("%s: %s is not on the disk", what, path)
			}
		}
	}
}

func TestUnsafeKeysAreRejected(t *testing.T) {
	b := open(t, "file://"+t.TempDir(), newKeys(t))
	for _, key := range []string{
		"", "/", "/etc/passwd", "a/../b", "../a", "..", ".", "a/./b", "a//b", "a/", "a\\b", "a b", "a\x00b",
		"a/%2e%2e/b",
		"ä", "a.tmp", "a/b.attrs", strings.Repeat("a", 1001),
	} {
		if err := b.Put(t.Context(), key, nil); err == nil {
			t.Errorf("Put(%q) was taken", key)
		}
		if _, err := b.Get(t.Context(), key, 1); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q): %v", key, err)
		}
		if err := b.Delete(t.Context(), key); err == nil {
			t.Errorf("Delete(%q) was taken", key)
		}
	}
	for _, dir := range []string{"", "/", "..", "a/.."} {
		if err := b.DeletePrefix(t.Context(), dir); err == nil {
			t.Errorf("DeletePrefix(%q) was taken", dir)
		}
	}
}

func TestFirstNeedsNoKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when", "missing")
	first := func(want string) {
		t.Helper()
		if got, err := First(t.Context(), "file://"+dir); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	first("")
	// What is not Cairn's: of the volume, of a write that was cut off.
	for _, name := range []string{"lost+found/#12", "plans/ns/one.18f.tmp"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	first("")
	if err := open(t, "file://"+dir, newKeys(t)).Put(t.Context(), "sources/sha256:1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	first("sources/sha256:1")

	if _, err := First(t.Context(), "file:///dev/null/bucket"); err == nil {
		t.Error("a bucket that is not there has nothing in it")
	}
}

func TestReadsAreBounded(t *testing.T) {
	b := open(t, "mem://", newKeys(t))
	if err := b.Put(t.Context(), "a", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "a", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if _, err := b.PutHashed(t.Context(), "h", strings.NewReader("12345"), 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestFolderDoesNotIncludeASiblingWithALongerName(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	for _, key := range []string{"logs/ns/a/1/000", "logs/ns/a/1/100", "logs/ns/ab/1/000"} {
		if err := b.Put(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	stranded := filepath.Join(dir, "logs", "ns", "a", "1", "200.18f.tmp")
	if err := os.WriteFile(stranded, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := b.List(t.Context(), "logs/ns/a")
	if diff := cmp.Diff([]string{"logs/ns/a/1/000", "logs/ns/a/1/100"}, keys); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if err := b.DeletePrefix(t.Context(), "logs/ns/a"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"logs/ns/ab/1/000"}, files(t, dir)); diff != "" {
		t.Fatal(diff)
	}
}
