package providers

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inFolder puts an archive into a folder as `tofu providers mirror` does it.
func inFolder(t *testing.T, dir string, p Provider, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(p.dir()), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAirGappedMirrorServesItsFolder(t *testing.T) {
	folder := t.TempDir()
	w := newFixture(t, func(o *Options) { o.Folder, o.Offline = folder, true })
	data := content(t, "carried over")
	inFolder(t, folder, w.p, zipName, data)
	inFolder(t, folder, w.p, "1.1.0.json", []byte("what engines write is not needed"))
	inFolder(t, folder, w.p, "terraform-provider-other_1.1.0_linux_amd64.zip", data)
	if versions, err := w.Versions(t.Context(), w.p); err != nil || !slices.Equal(versions, []string{"1.1.0"}) {
		t.Error(versions, err)
	}
	want := Release{Archives: map[string]Package{
		"linux_amd64": {URL: zipName, Hashes: []string{h1(t, data), zh(data)}}}}
	if got, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || !cmp.Equal(want, got) {
		t.Error(err, cmp.Diff(want, got))
	}
	if got, err := w.read("amd64"); err != nil || !bytes.Equal(got, data) {
		t.Error(err)
	}
	if _, err := w.read("arm64"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := w.Version(t.Context(), w.p, "1.0.0"); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), "which is offline") {
		t.Error(err)
	}
	// What the operator puts there in its place counts from then on.
	changed := content(t, "Carried Over")
	inFolder(t, folder, w.p, zipName, changed)
	if err := os.Chtimes(filepath.Join(folder, w.p.dir(), zipName), time.Time{},
		time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, err := w.read("amd64"); err != nil || !bytes.Equal(got, changed) {
		t.Error(err)
	}
	if w.registry.Asked("") != 0 {
		t.Error("an offline mirror asked a registry")
	}
}

func TestOfflineMirrorServesCachedArchives(t *testing.T) {
	w := newFixture(t, nil)
	if _, err := w.read("amd64"); err != nil {
		t.Fatal(err)
	}
	other, err := w.Archive(t.Context(), w.p, "1.0.0", "linux", "arm64")
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	w.reopen(func(o *Options) { o.Offline = true })
	asked := w.registry.Asked("")
	if versions, err := w.Versions(t.Context(), w.p); err != nil ||
		!slices.Equal(versions, []string{"1.0.0", "1.1.0"}) {
		t.Error(versions, err)
	}
	if release, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || len(release.Archives) != 1 ||
		!release.Signed {
		t.Error(release, err)
	}
	if _, err := w.read("amd64"); err != nil {
		t.Error(err)
	}
	if _, err := w.read("arm64"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if w.registry.Asked("") != asked {
		t.Error("the registry was asked")
	}
}

func TestFolderTakesPrecedenceOverTheRegistry(t *testing.T) {
	folder := t.TempDir()
	w := newFixture(t, func(o *Options) { o.Folder = folder })
	data := content(t, "the operator's own build")
	inFolder(t, folder, w.p, zipName, data)
	inFolder(t, folder, w.p, strings.Replace(zipName, "1.1.0", "7.0.0", 1), data)
	if versions, err := w.Versions(t.Context(), w.p); err != nil ||
		!slices.Equal(versions, []string{"1.0.0", "1.1.0", "7.0.0"}) {
		t.Error(versions, err)
	}
	if got, err := w.read("amd64"); err != nil || !bytes.Equal(got, data) || w.registry.Asked(".zip") != 0 {
		t.Error(err)
	}
	if got, err := w.read("arm64"); err != nil || !bytes.Equal(got, content(t, "1.1.0 arm64")) {
		t.Error("the registry has the other platforms", err)
	}
	if release, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || release.Signed ||
		len(release.Archives) != 2 {
		t.Error(release, err)
	}
	w.away()
	w.reopen(nil)
	if release, err := w.Version(t.Context(), w.p, "7.0.0"); err != nil || len(release.Archives) != 1 {
		t.Error(release, err)
	}
}

func TestPathsOutsideOfTheFolderAreRejected(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	w := newFixture(t, func(o *Options) { o.Folder, o.Offline = folder, true })
	inFolder(t, outside, w.p, zipName, content(t, "not to be read"))
	inFolder(t, folder, w.p, "index.json", nil)
	if err := os.Symlink(filepath.Join(outside, w.p.dir(), zipName),
		filepath.Join(folder, w.p.dir(), zipName)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.read("amd64"); err == nil || errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no folder to keep in":  {},
		"a folder that is gone": {Dir: t.TempDir(), Folder: filepath.Join(t.TempDir(), "gone")},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestIncompleteArchiveIsRemoved(t *testing.T) {
	w := newFixture(t, nil)
	w.Close()
	left := filepath.Join(w.options.Dir, incoming, "half")
	if err := os.WriteFile(left, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.reopen(nil)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestArchiveWithTooMuchContentIsRejected(t *testing.T) {
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, size := range []uint64{largestContent, 1} {
		if _, err := w.CreateRaw(&zip.FileHeader{Name: "bomb", UncompressedSize64: size}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := hashContent(bytes.NewReader(data.Bytes()), int64(data.Len())); err == nil ||
		!strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}
