package pulls

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// mergeServer is a Git provider with pull request 12, which records requests that change something.
type mergeServer struct {
	*httptest.Server
	// pull is the response to each request that reads.
	pull string
	// status and body are the response to the others.
	status int
	body   string
	got    []string
}

func newMergeServer(t *testing.T, pull string) *mergeServer {
	s := &mergeServer{pull: pull, status: http.StatusOK, body: `{"merged":true,"state":"merged"}`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, s.pull)
			return
		}
		content, _ := io.ReadAll(r.Body)
		s.got = append(s.got, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(content)))
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

// mergers are the Git providers that merge, each with an open pull request at c0ffee, of fakes of their APIs.
var mergers = map[string]struct {
	pull   string
	client func(*mergeServer) (Client, error)
	// requests by method; empty for a method that the Git provider does not have.
	requests map[Method]string
}{
	"GitHub": {
		`{"number":12,"state":"open","head":{"sha":"c0ffee"},"base":{"ref":"main"}}`,
		func(s *mergeServer) (Client, error) {
			return NewGitHub(GitHubOptions{URL: s.URL, Owner: "acme", Name: "infra", Token: "t", Web: s.Client()})
		},
		map[Method]string{
			MethodMerge:  `PUT /api/v3/repos/acme/infra/pulls/12/merge {"merge_method":"merge","sha":"c0ffee"}`,
			MethodSquash: `PUT /api/v3/repos/acme/infra/pulls/12/merge {"merge_method":"squash","sha":"c0ffee"}`,
			MethodRebase: `PUT /api/v3/repos/acme/infra/pulls/12/merge {"merge_method":"rebase","sha":"c0ffee"}`,
		},
	},
	"GitLab": {
		`{"iid":12,"state":"opened","sha":"c0ffee","target_branch":"main"}`,
		func(s *mergeServer) (Client, error) {
			return NewGitLab(GitLabOptions{URL: s.URL, Project: "acme/infra", Token: "t", Web: s.Client()})
		},
		map[Method]string{
			MethodMerge:  `PUT /api/v4/projects/acme%2Finfra/merge_requests/12/merge {"squash":false,"sha":"c0ffee"}`,
			MethodSquash: `PUT /api/v4/projects/acme%2Finfra/merge_requests/12/merge {"squash":true,"sha":"c0ffee"}`,
		},
	},
	"Gitea": {
		`{"number":12,"state":"open","head":{"sha":"c0ffee"},"base":{"ref":"main"}}`,
		func(s *mergeServer) (Client, error) {
			return NewGitea(GiteaOptions{URL: s.URL, Owner: "acme", Name: "infra", Token: "t", Web: s.Client()}), nil
		},
		map[Method]string{
			MethodMerge:  `POST /api/v1/repos/acme/infra/pulls/12/merge {"Do":"merge","head_commit_id":"c0ffee"}`,
			MethodSquash: `POST /api/v1/repos/acme/infra/pulls/12/merge {"Do":"squash","head_commit_id":"c0ffee"}`,
			MethodRebase: `POST /api/v1/repos/acme/infra/pulls/12/merge {"Do":"rebase","head_commit_id":"c0ffee"}`,
		},
	},
	"Bitbucket Data Center": {
		`{"id":12,"state":"OPEN","version":7,"fromRef":{"latestCommit":"c0ffee"},"toRef":{"displayId":"main"}}`,
		func(s *mergeServer) (Client, error) {
			return NewBitbucketDataCenter(BitbucketDataCenterOptions{URL: s.URL, Project: "ACME", Name: "infra",
				Token: "t", Web: s.Client()}), nil
		},
		map[Method]string{
			MethodMerge:  `POST /rest/api/1.0/projects/ACME/repos/infra/pull-requests/12/merge?version=7 {"autoSubject":true,"strategyId":"no-ff"}`,
			MethodSquash: `POST /rest/api/1.0/projects/ACME/repos/infra/pull-requests/12/merge?version=7 {"autoSubject":true,"strategyId":"squash"}`,
			MethodRebase: `POST /rest/api/1.0/projects/ACME/repos/infra/pull-requests/12/merge?version=7 {"autoSubject":true,"strategyId":"rebase-ff-only"}`,
		},
	},
}

// TestMergeNamesMethodAndHead checks each request, and that a rejection has a kind and is not sent again.
func TestMergeNamesMethodAndHead(t *testing.T) {
	for provider, tt := range mergers {
		for _, method := range []Method{MethodMerge, MethodSquash, MethodRebase, "Other", ""} {
			t.Run(fmt.Sprintf("%s: %s", provider, method), func(t *testing.T) {
				server := newMergeServer(t, tt.pull)
				client, err := tt.client(server)
				if err != nil {
					t.Fatal(err)
				}
				err = MergeHead(t.Context(), client, merge12, method)
				want, ok := tt.requests[method]
				if got := strings.Join(server.got, "\n"); got != want || ok != (err == nil) ||
					!ok && KindOf(err) != NotAllowed {
					t.Errorf("sent %s, want %s; error %v", got, want, err)
				}
				for status, kind := range map[int]Kind{405: NotAllowed, 409: Conflict, 403: Forbidden, 422: Invalid,
					503: Unavailable} {
					server.got, server.status, server.body = nil, status, `{"message":"no"}`
					if err := MergeHead(t.Context(), client, merge12, method); ok && (KindOf(err) != kind ||
						len(server.got) != 1) {
						t.Errorf("after %d: %v, %d requests", status, err, len(server.got))
					}
				}
			})
		}
	}
}

// TestMergeOfAnotherPullRequestIsNotSent checks what is read before a merge.
func TestMergeOfAnotherPullRequestIsNotSent(t *testing.T) {
	const open = `"number":12,"state":"open","head":{"sha":"c0ffee"},"base":{"ref":"main"}`
	for name, tt := range map[string]struct {
		pull string
		kind Kind
	}{
		"a newer head":    {`{"number":12,"state":"open","head":{"sha":"0ther"},"base":{"ref":"main"}}`, Conflict},
		"another base":    {`{"number":12,"state":"open","head":{"sha":"c0ffee"},"base":{"ref":"release"}}`, Conflict},
		"a draft":         {`{"draft":true,` + open + `}`, NotAllowed},
		"it is closed":    {`{"number":12,"state":"closed","head":{"sha":"c0ffee"},"base":{"ref":"main"}}`, NotAllowed},
		"another form":    {`<html>`, Invalid},
		"merged already":  {`{"merged":true,"number":12,"state":"closed","head":{"sha":"c0ffee"},"base":{"ref":"main"}}`, ""},
		"without content": {`{}`, Conflict},
	} {
		server := newMergeServer(t, tt.pull)
		client := NewGitea(GiteaOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		err := MergeHead(t.Context(), client, merge12, MethodMerge)
		if KindOf(err) != tt.kind || (err == nil) != (tt.kind == "") || len(server.got) > 0 {
			t.Errorf("%s: %v, sent %v", name, err, server.got)
		}
	}
}

// TestMergesThatAreNotTheHead checks the answers of Git providers that have one of their own.
func TestMergesThatAreNotTheHead(t *testing.T) {
	server := newMergeServer(t, mergers["GitHub"].pull)
	server.body = `{"merged":false,"message":"not now"}`
	client, err := mergers["GitHub"].client(server)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Merge(t.Context(), merge12, MethodMerge); KindOf(err) != NotAllowed ||
		!strings.Contains(err.Error(), "not now") {
		t.Errorf("GitHub does not merge: %v", err)
	}
	for pull, kind := range map[string]Kind{
		`{"id":12,"state":"OPEN","version":8,"fromRef":{"latestCommit":"0ther"},"toRef":{"displayId":"main"}}`: Conflict,
		`{"id":12,"state":"OPEN","fromRef":{"latestCommit":"c0ffee"},"toRef":{"displayId":"main"}}`:            Invalid,
	} { // a push since the pull request was read
		server := newMergeServer(t, pull)
		client, _ := mergers["Bitbucket Data Center"].client(server)
		if err := client.Merge(t.Context(), merge12, MethodMerge); KindOf(err) != kind || len(server.got) > 0 {
			t.Errorf("%s: %v, sent %v", pull, err, server.got)
		}
	}
	cloud := newMergeServer(t, `{}`)
	b := NewBitbucketCloud(BitbucketCloudOptions{URL: cloud.URL, Workspace: "acme", Name: "infra", Token: "t",
		Web: cloud.Client()})
	if err := b.Merge(t.Context(), merge12, MethodMerge); KindOf(err) != NotAllowed || len(cloud.got) > 0 {
		t.Errorf("Bitbucket Cloud: %v, sent %v", err, cloud.got)
	}
}
