//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/sumdb/dirhash"

	"cairn.dev/cairn/test/node"
)

// providerImage has an unpacked provider. No registry has this image, and none that the node reaches the provider.
const providerImage = "registry.local/providers:1"

// providerAddress and providerVersion are those of the provider in providerImage.
const (
	providerAddress = "registry.opentofu.org/hashicorp/time"
	providerVersion = "0.14.2"
)

// unpacked are the files of the provider, by their names, and where they are on this machine.
func unpacked(tools string, more map[string]string) map[string]string {
	files := map[string]string{"terraform-provider-time_v" + providerVersion: filepath.Join(tools,
		"terraform-provider-time")}
	maps.Copy(files, more)
	return files
}

// loadProviders loads an image of providers into the node, with more files in the folder of the provider.
func loadProviders(t testing.TB, n *node.Node, image string, more map[string]string) {
	t.Helper()
	files := map[string]string{}
	for name, from := range unpacked(n.Tools, more) {
		files[path.Join("/", providerAddress, providerVersion, "linux_"+runtime.GOARCH, name)] = from
	}
	archive := filepath.Join(t.TempDir(), "providers.tar")
	must(t, node.Image{Ref: image, Files: files}.Write(archive))
	must(t, n.Load(t.Context(), archive))
}

// lockFile returns a lock file that pins the provider with these files.
func lockFile(t testing.TB, tools string, more map[string]string) string {
	t.Helper()
	files := unpacked(tools, more)
	h1, err := dirhash.Hash1(slices.Collect(maps.Keys(files)), func(name string) (io.ReadCloser, error) {
		return os.Open(files[name])
	})
	must(t, err)
	return fmt.Sprintf("provider %q {\n  version = %q\n  hashes  = [%q]\n}\n", providerAddress, providerVersion, h1)
}

// lock writes a lock file that pins the provider of providerImage: provider-lock FILE.
func (c cluster) lock(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(lockFile(c.t, c.Node.Tools, nil)), 0o600))
}
