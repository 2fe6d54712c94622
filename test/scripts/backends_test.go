package scripts

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/httpstate"
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

// stateServer starts a server of the http backend that is not Cairn's, leaves its address in $HTTP_STATE.
//
//	http-state
func stateServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: http-state")
	}
	state := &httpstate.Server{}
	mux := http.NewServeMux()
	mux.Handle("/state", state)
	mux.HandleFunc("GET /lock-id", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, state.LockID()) })
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("HTTP_STATE", server.URL)
}

// lockID puts the ID of the lock that somebody holds at the server of http-state into $LOCK_ID.
//
//	lock-id
func lockID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: lock-id")
	}
	answer, err := http.Get(ts.Getenv("HTTP_STATE") + "/lock-id")
	ts.Check(err)
	defer answer.Body.Close()
	id, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Setenv("LOCK_ID", string(id))
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
