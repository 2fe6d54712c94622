package pulls

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers returns a server that responds to GET and POST of paths with JSON.
func answers(t *testing.T, bodies map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("X-Total-Count", fmt.Sprint(strings.Count(body, `"id"`)))
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server
}

// shown returns reviews as text: the author, the commit and the minute after noon.
func shown(reviews []Review) string {
	var all []string
	for _, r := range reviews {
		at := "never"
		if !r.At.IsZero() {
			at = fmt.Sprint(int(r.At.Sub(now) / time.Minute))
		}
		all = append(all, strings.Join([]string{r.Author, r.Commit, at}, " "))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

const reviewedAt = `"submitted_at":"2026-11-27T12:%02d:00Z"`

// The newest result of each user counts: neither a comment nor a request for a review is one.
func TestReviewsOfGitea(t *testing.T) {
	review := func(id int, login, state, more string) string {
		return fmt.Sprintf(`{"id":%d,"user":{"login":%q},"state":%q,"commit_id":"c0ffee",`+reviewedAt+`%s}`, id, login,
			state, id, more)
	}
	for name, tt := range map[string]struct {
		reviews []string
		want    string
	}{
		"one": {[]string{review(1, "bob", "APPROVED", "")}, "bob c0ffee 1"},
		"of two users": {[]string{review(1, "bob", "APPROVED", ""),
			review(2, "carol", "APPROVED", "")}, "bob c0ffee 1, carol c0ffee 2"},
		"twice": {[]string{review(1, "bob", "APPROVED", ""),
			review(2, "bob", "APPROVED", "")}, "bob c0ffee 2"},
		"changes requested later": {[]string{review(1, "bob", "APPROVED", ""),
			review(2, "bob", "REQUEST_CHANGES", "")}, ""},
		"changes requested later, first": {[]string{review(2, "bob", "REQUEST_CHANGES", ""),
			review(1, "bob", "APPROVED", "")}, ""},
		"changes requested before": {[]string{review(1, "bob", "REQUEST_CHANGES", ""),
			review(2, "bob", "APPROVED", "")}, "bob c0ffee 2"},
		"changes requested by another one": {[]string{review(1, "bob", "APPROVED", ""),
			review(2, "carol", "REQUEST_CHANGES", "")}, "bob c0ffee 1"},
		"a comment later": {[]string{review(1, "bob", "APPROVED", ""), review(2, "bob", "COMMENT", "")},
			"bob c0ffee 1"},
		"a pending one": {[]string{review(1, "bob", "PENDING", "")}, ""},
		"a dismissed one": {[]string{review(1, "bob", "APPROVED", ""),
			review(2, "bob", "APPROVED", `,"dismissed":true`)}, ""},
		"a stale one":         {[]string{review(1, "bob", "APPROVED", `,"stale":true`)}, ""},
		"a request to a team": {[]string{`{"id":1,"user":null,"state":"REQUEST_REVIEW"}`}, ""},
	} {
		server := answers(t, map[string]string{"/api/v1/repos/acme/infra/pulls/12/reviews": "[" +
			strings.Join(tt.reviews, ",") + "]"})
		client := NewGitea(GiteaOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		if got, err := client.Reviews(t.Context(), 12); err != nil || shown(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, shown(got), err, tt.want)
		}
	}
}

func TestReviewsOfGitHub(t *testing.T) {
	review := func(id int, login, state string) string {
		return fmt.Sprintf(`{"id":%d,"user":{"login":%q},"state":%q,"commit_id":"c0ffee",`+reviewedAt+`}`, id, login,
			state, id%60)
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = review(i+1, "bob", "COMMENTED")
	}
	for name, tt := range map[string]struct {
		reviews []string
		want    string
		err     error
	}{
		"one": {[]string{review(1, "bob", "APPROVED")}, "bob c0ffee 1", nil},
		"changes requested later": {[]string{review(1, "bob", "APPROVED"), review(2, "bob", "CHANGES_REQUESTED")}, "",
			nil},
		"a comment later": {[]string{review(1, "bob", "APPROVED"), review(2, "bob", "COMMENTED")},
			"bob c0ffee 1", nil},
		"the newest is dismissed": {[]string{review(1, "bob", "APPROVED"), review(2, "bob", "DISMISSED")}, "", nil},
		"too many":                {append(many, review(2000, "bob", "APPROVED")), "", errTooManyReviews},
	} {
		server := answers(t, map[string]string{"/api/v3/repos/acme/infra/pulls/12/reviews": "[" +
			strings.Join(tt.reviews, ",") + "]"})
		client, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Reviews(t.Context(), 12); err != tt.err || shown(got) != tt.want { //nolint:errorlint // it is not wrapped
			t.Errorf("%s: %q, %v, want %q", name, shown(got), err, tt.want)
		}
	}
}

// A version that is newer than an approval is another commit than the approved one.
func TestReviewsOfGitLab(t *testing.T) {
	const versions = `[{"id":1,"head_commit_sha":"0dd","created_at":"2026-11-27T12:01:00Z"},{"id":2,"head_commit_sha":"c0ffee","created_at":"2026-11-27T12:05:00.5Z"}]`
	for name, tt := range map[string]struct{ approvals, versions, want string }{
		"after the push": {`{"user":{"username":"bob"},"approved_at":"2026-11-27T12:06:00Z"}`, versions,
			"bob c0ffee 6"},
		"before the push": {`{"user":{"username":"bob"},"approved_at":"2026-11-27T12:05:00.4Z"}`,
			versions, "bob  5"},
		"at the push": {`{"user":{"username":"bob"},"approved_at":"2026-11-27T12:05:00.5Z"}`,
			versions, "bob  5"},
		"without a time":        {`{"user":{"username":"bob"}}`, versions, "bob  never"},
		"without versions":      {`{"user":{"username":"bob"},"approved_at":"2026-11-27T12:06:00Z"}`, `[]`, "bob  6"},
		"none":                  {``, versions, ""},
		"of a user who is gone": {`{"user":null,"approved_at":"2026-11-27T12:06:00Z"}`, versions, ""},
	} {
		const one = "/api/v4/projects/acme/infra/merge_requests/12"
		server := answers(t, map[string]string{one + "/approvals": `{"approved_by":[` + tt.approvals + `]}`,
			one + "/versions": tt.versions})
		client, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Reviews(t.Context(), 12); err != nil || shown(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, shown(got), err, tt.want)
		}
	}
}

// An update that is newer than an approval may be a push: two commits can have the same abbreviated hash.
func TestReviewsOfBitbucketCloud(t *testing.T) {
	const comment = `{"comment":{"id":1}}`
	update := func(minute int, state string) string {
		return fmt.Sprintf(`{"update":{"state":%q,"date":"2026-11-27T12:%02d:00Z","source":{"commit":{"hash":"c0ffee"}}}}`, state, minute)
	}
	const bob = `{"user":{"uuid":"{bob}"},"approved":true,"state":"approved","participated_on":"2026-11-27T12:06:00Z"}`
	for name, tt := range map[string]struct {
		participants string
		activity     []string
		want         string
	}{
		"after the push":  {bob, []string{comment, update(5, "OPEN"), update(7, "OPEN")}, "bob c0ffee01 6"},
		"before the push": {bob, []string{comment, update(7, "OPEN"), update(5, "OPEN")}, "bob  6"},
		"at the push":     {bob, []string{update(6, "OPEN")}, "bob  6"},
		"before the merge": {bob, []string{update(8, "MERGED"), update(7, "FULFILLED"), update(5, "OPEN")},
			"bob c0ffee01 6"},
		"without an update": {bob, []string{comment}, "bob  6"},
		"changes requested": {`{"user":{"uuid":"{bob}"},"approved":true,"state":"changes_requested"}`, nil, ""},
		"a comment": {
			`{"user":{"uuid":"{bob}"},"approved":false,"participated_on":"2026-11-27T12:06:00Z"}`, nil, ""},
		"an approval without one": {
			`{"user":{"uuid":"{bob}"},"approved":true,"state":"approved","participated_on":null}`,
			[]string{update(5, "OPEN")}, "bob  never"},
	} {
		const one = "/repositories/acme/infra/pullrequests/12"
		server := answers(t, map[string]string{
			one:               `{"source":{"commit":{"hash":"c0ffee"}},"participants":[` + tt.participants + `]}`,
			one + "/commits":  `{"values":[{"hash":"c0ffee01"}]}`,
			one + "/activity": `{"values":[` + strings.Join(tt.activity, ",") + `]}`,
		})
		client := NewBitbucketCloud(BitbucketCloudOptions{URL: server.URL, Workspace: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		if got, err := client.Reviews(t.Context(), 12); err != nil || shown(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, shown(got), err, tt.want)
		}
	}
}

func TestReviewsOfBitbucketDataCenter(t *testing.T) {
	activity := func(action, user string, minute int) string {
		return fmt.Sprintf(`{"action":%q,"user":{"name":%q},"createdDate":%d}`, action, user,
			now.Add(time.Duration(minute)*time.Minute).UnixMilli())
	}
	const bob = `{"user":{"name":"bob"},"approved":true,"status":"APPROVED","lastReviewedCommit":"c0ffee"}`
	all := strings.Join([]string{activity("COMMENTED", "bob", 9), activity("APPROVED", "carol", 8),
		activity("APPROVED", "bob", 6), activity("APPROVED", "bob", 3)}, ",")
	for name, tt := range map[string]struct{ reviewers, participants, activities, want string }{
		"a reviewer":     {bob, "", all, "bob c0ffee 6"},
		"a participant":  {"", bob, all, "bob c0ffee 6"},
		"without a time": {bob, "", activity("APPROVED", "carol", 8), "bob c0ffee never"},
		"revoked, or changes requested": {
			`{"user":{"name":"bob"},"approved":false,"status":"NEEDS_WORK","lastReviewedCommit":"c0ffee"}`,
			"", all, ""},
	} {
		const one = "/rest/api/1.0/projects/ACME/repos/infra/pull-requests/12"
		server := answers(t, map[string]string{
			one:                 `{"reviewers":[` + tt.reviewers + `],"participants":[` + tt.participants + `]}`,
			one + "/activities": `{"isLastPage":true,"values":[` + tt.activities + `]}`,
		})
		client := NewBitbucketDataCenter(BitbucketDataCenterOptions{URL: server.URL, Project: "ACME", Name: "infra",
			Token: "t", Web: server.Client()})
		if got, err := client.Reviews(t.Context(), 12); err != nil || shown(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, shown(got), err, tt.want)
		}
	}
}

// None of the clients takes a response that is no list for one without reviews.
func TestReviewsThatCannotBeReadAreAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	hub, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
		Web: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	lab, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: "t", Web: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]Client{
		"GitHub": hub, "GitLab": lab,
		"Gitea": NewGitea(GiteaOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()}),
		"Bitbucket Cloud": NewBitbucketCloud(BitbucketCloudOptions{URL: server.URL, Workspace: "acme",
			Name: "infra", Token: "t", Web: server.Client()}),
		"Bitbucket Data Center": NewBitbucketDataCenter(BitbucketDataCenterOptions{URL: server.URL, Project: "ACME",
			Name: "infra", Token: "t", Web: server.Client()}),
	} {
		if got, err := client.Reviews(t.Context(), 12); KindOf(err) != Forbidden || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
