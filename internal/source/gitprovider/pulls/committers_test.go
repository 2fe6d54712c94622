package pulls

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// serve returns the URL of a server that responds to a path with JSON.
func serve(t *testing.T, path, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("X-Total-Count", "2")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestCommitters(t *testing.T) {
	for name, tt := range map[string]struct{ body, head, want string }{
		"one user": {`[{"sha":"a","author":{"login":"alice"},"committer":{"login":"alice"}},
			{"sha":"b","author":{"login":"alice"},"committer":{"login":"alice"}}]`, "b", "alice"},
		"another author": {`[{"sha":"a","author":{"login":"bob"},"committer":{"login":"alice"}},
			{"sha":"b","author":{"login":"alice"},"committer":{"login":"alice"}}]`, "b", "alice,bob"},
		"an unknown user": {`[{"sha":"a","author":null,"committer":{"login":"alice"}},
			{"sha":"b","author":{"login":"alice"},"committer":{"login":"alice"}}]`, "b", ",alice"},
		"another head": {`[{"sha":"a","author":{"login":"alice"},"committer":{"login":"alice"}},
			{"sha":"b","author":{"login":"alice"},"committer":{"login":"alice"}}]`, "c", ",alice"},
	} {
		gitea := NewGitea(GiteaOptions{
			URL: serve(t, "/api/v1/repos/acme/infra/pulls/12/commits", tt.body), Owner: "acme", Name: "infra", Token: "t", Web: http.DefaultClient,
		})
		hub, err := NewGitHub(GitHubOptions{
			URL: serve(t, "/api/v3/repos/acme/infra/pulls/12/commits", tt.body), Owner: "acme", Name: "infra", Token: "t", Web: http.DefaultClient,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, client := range []Client{gitea, hub} {
			got, err := client.(Committers).Committers(t.Context(), 12, tt.head)
			if err != nil || strings.Join(got, ",") != tt.want {
				t.Errorf("%s, %T: %q, %v", name, client, got, err)
			}
		}
	}
}

// A push between the list of pull requests and that of commits would hide of whom the commits of the head are.
func TestCommittersOfAnotherHeadAreUnknown(t *testing.T) {
	list := []committed{{"a", []string{"alice"}}, {"b", []string{"alice"}}}
	if got := committers(list, "c"); !slices.Contains(got, "") {
		t.Errorf("%q", got)
	}
	if got := committers(nil, "c"); !slices.Contains(got, "") {
		t.Errorf("no commits: %q", got)
	}
	if got := committers(list, "b"); slices.Contains(got, "") {
		t.Errorf("%q", got)
	}
}

// Users of GitHub create commits in its pages. Their committer is GitHub.
func TestCommitterOfPagesIsGitHub(t *testing.T) {
	hub, err := NewGitHub(GitHubOptions{Owner: "acme", Name: "infra", Token: "t", Web: http.DefaultClient, URL: serve(t,
		"/api/v3/repos/acme/infra/pulls/12/commits", `[{"sha":"a","author":{"login":"alice"},"committer":{"login":"web-flow"}}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hub.(Committers).Committers(t.Context(), 12, "a"); err != nil || !slices.Equal(got, []string{"alice"}) {
		t.Errorf("%q, %v", got, err)
	}
}
