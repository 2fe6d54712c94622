package download

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

// zipOf is an archive of n files, the last of which has a long content.
func zipOf(t *testing.T, n int) *bytes.Reader {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for i := range n {
		file, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Method: zip.Store})
		if err == nil && i == n-1 {
			_, err = file.Write(bytes.Repeat([]byte("a"), 3<<20))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(data.Bytes())
}

func TestZipWithTooManyFilesIsRejected(t *testing.T) {
	archive := zipOf(t, 1000)
	z, err := OpenZip(archive, archive.Size())
	if err != nil {
		t.Fatal(err)
	}
	file, err := z.File[999].Open()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, file); n != 3<<20 || err != nil { // content is not limited here
		t.Errorf("%d bytes: %v", n, err)
	}
	archive = zipOf(t, 30_000)
	if _, err := OpenZip(archive, archive.Size()); !errors.Is(err, ErrDirectory) {
		t.Errorf("got %v", err)
	}
}
