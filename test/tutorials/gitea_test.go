package tutorials

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/gitea"
)

// giteaServer starts a real Gitea with an empty repository, acme/infra, and the users alice and bob, who can write to
// it:
//
//	gitea-server
//
// It sets $GITEA_HOST, $GITEA_URL of the repository, $GITEA_PUSH_URL with alice's token, $GITEA_TOKEN, and $TOKEN_alice
// and $TOKEN_bob.
func giteaServer(ts *testscript.TestScript, _ bool, _ []string) {
	ctx := context.Background()
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "gitea")
	ts.Check(err)
	s, err := gitea.New(ctx, "127.0.0.1", dir)
	ts.Check(err)
	ts.Defer(s.Kill)
	root, err := s.User(ctx, gitea.Admin)
	ts.Check(err)
	ts.Check(s.Call(ctx, root, "POST", "/orgs", map[string]any{"username": "acme"}, nil))
	ts.Check(s.Call(ctx, root, "POST", "/orgs/acme/repos", map[string]any{"name": "infra", "default_branch": "main"},
		nil))
	for _, name := range []string{"alice", "bob"} {
		token, err := s.User(ctx, name)
		ts.Check(err)
		ts.Setenv("TOKEN_"+name, token)
		ts.Check(s.Call(ctx, root, "PUT", "/repos/acme/infra/collaborators/"+name,
			map[string]any{"permission": "write"}, nil))
	}
	token := ts.Getenv("TOKEN_alice")
	ts.Setenv("GITEA_HOST", strings.TrimPrefix(s.URL, "http://"))
	ts.Setenv("GITEA_URL", s.URL+"/acme/infra.git")
	ts.Setenv("GITEA_PUSH_URL", s.CloneURL("alice", token, "acme/infra"))
	ts.Setenv("GITEA_TOKEN", token)
}

// callGitea sends a request of a user to the API of Gitea, about the repository: gitea alice METHOD PATH JSON.
func callGitea(ts *testscript.TestScript, _ bool, args []string) {
	s := gitea.Server{URL: "http://" + ts.Getenv("GITEA_HOST")}
	ts.Check(s.Call(context.Background(), ts.Getenv("TOKEN_"+args[0]), args[1], "/repos/acme/infra"+args[2],
		json.RawMessage(args[3]), nil))
}
