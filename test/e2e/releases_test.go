//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/releases"
)

// releases starts a release mirror on this machine, at $RELEASES for pods, and writes its signing key to key.asc. It
// has OpenTofu 1.12.5, Terraform 1.5.7 and a script that replaces Terragrunt 1.0.0, none of which the images have. It
// stops with the script.
func (c cluster) releases(ts *testscript.TestScript, _ bool, _ []string) {
	program := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(c.Environment.Tools, name))
		ts.Check(err)
		return data
	}
	mirror := releases.New(c.t,
		releases.Release{Product: "OpenTofu", Version: "1.12.5",
			Program: bytes.ReplaceAll(program("tofu"), []byte("1.12.6"), []byte("1.12.5"))},
		releases.Release{Product: "Terraform", Version: "1.5.7", Program: program("terraform")},
		releases.Release{Product: "Terragrunt", Version: "1.0.0", Program: []byte(releases.Terragrunt)})
	ts.Check(os.WriteFile(ts.MkAbs("key.asc"), []byte(mirror.Key), 0o600))
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(c.Node.Host, "0"))
	ts.Check(err)
	server := &http.Server{Handler: http.FileServer(http.Dir(mirror.Dir)), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	ts.Defer(func() { _ = server.Close() })
	ts.Setenv("RELEASES", "http://"+listener.Addr().String())
}
