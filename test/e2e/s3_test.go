//go:build e2e

package e2e

import (
	"context"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/s3"
)

// s3 starts an S3 server on this machine that pods reach, with a bucket at $S3_URL, credentials $S3_ACCESS_KEY and
// $S3_SECRET_KEY, and its objects as files below $S3_DIR: s3 BUCKET. It stops with the script.
func (c cluster) s3(ts *testscript.TestScript, _ bool, args []string) {
	server, err := s3.New(context.Background(), c.Node.Host, filepath.Join(ts.Getenv("WORK"), ".s3"))
	ts.Check(err)
	ts.Defer(server.Kill)
	ts.Check(server.MakeBucket(args[0]))
	for name, value := range map[string]string{
		"S3_URL": server.URL(args[0]), "S3_ACCESS_KEY": server.AccessKey, "S3_SECRET_KEY": server.SecretKey,
		"S3_DIR": filepath.Join(server.Dir, args[0]),
	} {
		ts.Setenv(name, value)
	}
}
