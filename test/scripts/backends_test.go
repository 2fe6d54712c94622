package scripts

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/s3"
)

// bucketServer starts a real S3 for a script, and leaves its address in $S3, its folder in $S3_DIR and its credentials in the variables by which engines know
// them.
//
//	s3
func bucketServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: s3")
	}
	server, err := s3.New(context.Background(), "127.0.0.1", filepath.Join(ts.Getenv("WORK"), "s3"))
	ts.Check(err)
	ts.Defer(server.Kill)
	ts.Check(server.MakeBucket("states"))
	for name, value := range map[string]string{
		"S3": server.Endpoint, "S3_DIR": server.Dir, "AWS_ACCESS_KEY_ID": server.AccessKey, "AWS_SECRET_ACCESS_KEY": server.SecretKey,
	} {
		ts.Setenv(name, value)
	}
}

// vanished takes a bucket away, with all that was in it.
//
//	vanished BUCKET
func vanished(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: vanished BUCKET")
	}
	for _, dir := range []string{ts.Getenv("S3_DIR"), filepath.Join(filepath.Dir(ts.Getenv("S3_DIR")), "known")} {
		ts.Check(os.RemoveAll(filepath.Join(dir, args[0])))
	}
}
