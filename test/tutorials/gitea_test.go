package tutorials

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"cairn.dev/cairn/test/gitea"
)

// giteaServer starts a real Gitea with an empty repository, acme/infra, and the user alice, who can write to it:
//
//	gitea-server
//
// It sets $GITEA_HOST, $GITEA_URL of the repository, $GITEA_PUSH_URL with alice's token, and $GITEA_TOKEN.
func giteaServer(ts *testscript.TestScript, _ bool, _ []string) {
	ctx := context.Background()
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "gitea")
	ts.Check(err)
	s, err := gitea.New(ctx, "127.0.0.1", dir)
	ts.Check(err)
	ts.Defer(s.Kill)
	root, err := s.User(ctx, gitea.Admin)
	ts.Check(err)
	token, err := s.User(ctx, "alice")
	ts.Check(err)
	ts.Check(s.Call(ctx, root, "POST", "/orgs", map[string]any{"username": "acme"}, nil))
	ts.Check(s.Call(ctx, root, "POST", "/orgs/acme/repos", map[string]any{"name": "infra", "default_branch": "main"}, nil))
	ts.Check(s.Call(ctx, root, "PUT", "/repos/acme/infra/collaborators/alice", map[string]any{"permission": "write"}, nil))
	ts.Setenv("GITEA_HOST", strings.TrimPrefix(s.URL, "http://"))
	ts.Setenv("GITEA_URL", s.URL+"/acme/infra.git")
	ts.Setenv("GITEA_PUSH_URL", s.CloneURL("alice", token, "acme/infra"))
	ts.Setenv("GITEA_TOKEN", token)
}

// callGitea sends a request of alice to the API of Gitea, about the repository: gitea METHOD PATH JSON.
func callGitea(ts *testscript.TestScript, _ bool, args []string) {
	s := gitea.Server{URL: "http://" + ts.Getenv("GITEA_HOST")}
	ts.Check(s.Call(context.Background(), ts.Getenv("GITEA_TOKEN"), args[0], "/repos/acme/infra"+args[1], json.RawMessage(args[2]), nil))
}
