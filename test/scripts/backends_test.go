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

// bucketServer starts an S3 server for a script, and sets $S3 to its address, $S3_DIR to its folder and the variables
// of its credentials that engines read.
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
		"S3": server.Endpoint, "S3_DIR": server.Dir, "AWS_ACCESS_KEY_ID": server.AccessKey,
		"AWS_SECRET_ACCESS_KEY": server.SecretKey,
	} {
		ts.Setenv(name, value)
	}
}

// stateServer starts a server for the http backend that is not Cairn's, and sets $HTTP_STATE to its address.
//
//	http-state
func stateServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: http-state")
	}
	state := &httpstate.Server{}
	mux := http.NewServeMux()
	mux.Handle("/state", state)
	mux.HandleFunc("GET /lock-id", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, state.LockID())
	})
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	ts.Setenv("HTTP_STATE", server.URL)
}

// lockID sets $LOCK_ID to the ID of the current lock at the server of http-state.
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

// deleteBucket deletes a bucket with its objects.
//
//	delete-bucket BUCKET
func deleteBucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: delete-bucket BUCKET")
	}
	ts.Check(os.RemoveAll(filepath.Join(ts.Getenv("S3_DIR"), args[0])))
}
