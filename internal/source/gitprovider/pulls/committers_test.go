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
			URL: serve(t, "/api/v1/repos/acme/infra/pulls/12/commits", tt.body), Owner: "acme", Name: "infra",
			Token: "t", Web: http.DefaultClient,
		})
		hub, err := NewGitHub(GitHubOptions{
			URL: serve(t, "/api/v3/repos/acme/infra/pulls/12/commits", tt.body), Owner: "acme", Name: "infra",
			Token: "t", Web: http.DefaultClient,
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
		"/api/v3/repos/acme/infra/pulls/12/commits",
		`[{"sha":"a","author":{"login":"alice"},"committer":{"login":"web-flow"}}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hub.(Committers).Committers(t.Context(), 12, "a"); err != nil ||
		!slices.Equal(got, []string{"alice"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// REST of GitLab has no users of commits, and GraphQL that of the author.
func TestCommittersOfGitLab(t *testing.T) {
	commit := func(sha, author, by, with string) string {
		return `{"sha":"` + sha + `","author":` + author + `,"authorEmail":"` + by + `","committerEmail":"` +
			with + `"}`
	}
	const alice = `{"username":"alice"}`
	answer := func(next string, commits ...string) string {
		return `{"data":{"project":{"mergeRequest":{"commits":{"nodes":[` + strings.Join(commits, ",") +
			`],"pageInfo":` + next + `}}}}}`
	}
	last := `{"hasNextPage":false}`
	for name, tt := range map[string]struct{ body, want string }{
		"one user":          {answer(last, commit("a", alice, "a@a", "a@a")), "alice"},
		"another committer": {answer(last, commit("a", alice, "a@a", "b@b")), ",alice"},
		"without addresses": {answer(last, commit("a", alice, "", "")), ",alice"},
		"an unknown author": {answer(last, commit("a", "null", "a@a", "a@a")), ""},
		"another head":      {answer(last, commit("b", alice, "a@a", "a@a")), ",alice"},
		"no merge request":  {`{"data":{"project":null}}`, ""},
		"an unknown field":  {`{"errors":[{"message":"Field 'committerEmail' doesn't exist"}]}`, ""},
		"more than are read": {answer(`{"hasNextPage":true,"endCursor":"x"}`,
			slices.Repeat([]string{commit("a", alice, "a@a", "a@a")}, 100)...), ""},
	} {
		server := answers(t, map[string]string{"/api/graphql": tt.body})
		client, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.(Committers).Committers(t.Context(), 12, "a")
		if err != nil || len(got) == 0 || strings.Join(got, ",") != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestCommittersOfBitbucket(t *testing.T) {
	for name, tt := range map[string]struct{ cloud, dc, want string }{
		"one user": {
			`{"hash":"a","author":{"user":{"uuid":"{alice}"}}}`,
			`{"id":"a","author":{"name":"alice","slug":"alice"},"committer":{"name":"alice","slug":"alice"}}`, "alice",
		},
		"another committer": {
			`{"hash":"a","author":{"user":{"uuid":"{alice}"}},"committer":{"user":{"uuid":"{bob}"}}}`,
			`{"id":"a","author":{"name":"alice","slug":"alice"},"committer":{"name":"bob","slug":"bob"}}`, "alice,bob",
		},
		"an unknown committer": {
			`{"hash":"a","author":{"user":{"uuid":"{alice}"}},"committer":{"raw":"Bob <b@b>"}}`,
			`{"id":"a","author":{"name":"alice","slug":"alice"},"committer":{"name":"bob","emailAddress":"b@b"}}`,
			",alice",
		},
		"an unknown author": {
			`{"hash":"a","author":{"raw":"alice <a@a>"}}`,
			`{"id":"a","author":{"name":"alice","emailAddress":"a@a"},"committer":{"name":"alice","emailAddress":"a@a"}}`, "",
		},
		"another head": {
			`{"hash":"b","author":{"user":{"uuid":"{alice}"}}}`,
			`{"id":"b","author":{"name":"alice","slug":"alice"},"committer":{"name":"alice","slug":"alice"}}`, ",alice",
		},
	} {
		cloud := answers(t, map[string]string{"/repositories/acme/infra/pullrequests/12/commits": `{"values":[` +
			tt.cloud + `]}`})
		dc := answers(t, map[string]string{
			"/rest/api/1.0/projects/ACME/repos/infra/pull-requests/12/commits": `{"isLastPage":true,"values":[` +
				tt.dc + `]}`,
		})
		for _, client := range []Client{
			NewBitbucketCloud(BitbucketCloudOptions{URL: cloud.URL, Workspace: "acme", Name: "infra", Token: "t",
				Web: cloud.Client()}),
			NewBitbucketDataCenter(BitbucketDataCenterOptions{URL: dc.URL, Project: "ACME", Name: "infra", Token: "t",
				Web: dc.Client()}),
		} {
			got, err := client.(Committers).Committers(t.Context(), 12, "a")
			if err != nil || len(got) == 0 || strings.Join(got, ",") != tt.want {
				t.Errorf("%s, %T: %q, %v", name, client, got, err)
			}
		}
	}
}
