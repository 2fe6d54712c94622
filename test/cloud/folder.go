package cloud

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"cairn.dev/cairn/dev/tools"
)

// Folder writes the provider to a folder for `cairn-controller serve --provider-folder` or an engine's
// filesystem_mirror.
func Folder(dir string) (err error) {
	program, err := tools.Path("terraform-provider-cloud")
	if err != nil {
		return err
	}
	home := filepath.Join(dir, "cairn.dev", "test", "cloud")
	if err := os.MkdirAll(home, 0o750); err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(home, "terraform-provider-cloud_1.0.0_"+runtime.GOOS+"_"+runtime.GOARCH+
		".zip"))
	if err != nil {
		return err
	}
	defer func() {
		if cerr := archive.Close(); err == nil {
			err = cerr
		}
	}()
	z := zip.NewWriter(archive)
	header := &zip.FileHeader{Name: "terraform-provider-cloud_v1.0.0", Method: zip.Store}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	content, err := os.Open(program)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read
	if _, err := io.Copy(w, content); err != nil {
		return err
	}
	return z.Close()
}
