package workspace

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"testing"
)

// A small archive may declare a large content. It is rejected before any of that is written.
func TestArchiveThatUnpacksToTooMuchIsRejected(t *testing.T) {
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	entries := tar.NewWriter(zipped)
	if err := entries.WriteHeader(&tar.Header{Name: "large.tf", Typeflag: tar.TypeReg, Mode: 0o644,
		Size: mostBytes + 1}); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil { // the content is not needed
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Unpack(root, &archive); err == nil || !strings.Contains(err.Error(), "more than 104857600 bytes") {
		t.Errorf("got %v", err)
	}
	if _, err := root.Stat("large.tf"); err == nil {
		t.Error("it was written")
	}
}
