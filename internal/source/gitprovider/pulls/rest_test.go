package pulls

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// answering is a client of a server that answers each request in the same way.
func answering(t *testing.T, handler http.HandlerFunc) Client {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return NewGitea(GiteaOptions{
		URL: server.URL, Owner: "acme", Name: "infra", Token: "t0ken", Web: server.Client(), Now: func() time.Time {
			return now
		},
	})
}

// atlantis #4932: a status was lost when the rate limit was exceeded. What is rate limited says when to try again.
func TestErrorsHaveAKind(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   Error
	}{
		"not found": {status: 404, body: `{"message":"no such repository"}`,
			want: Error{Kind: NotFound, Message: "no such repository"}},
		"unauthorized": {status: 401, want: Error{Kind: Unauthorized}},
		"forbidden":    {status: 403, want: Error{Kind: Forbidden}},
		"forbidden for the rate": {status: 403, header: map[string]string{"Retry-After": "60"},
			want: Error{Kind: RateLimited, RetryAfter: time.Minute}},
		"too many requests": {status: 429, want: Error{Kind: RateLimited}},
		"forbidden by the second rate": {status: 403, body: "You have exceeded a secondary rate limit",
			want: Error{Kind: RateLimited, Message: "You have exceeded a secondary rate limit"}},
		"until the rate is reset": {status: 429, header: map[string]string{"X-Ratelimit-Remaining": "0",
			"X-Ratelimit-Reset": "1795781400"}, want: Error{Kind: RateLimited, RetryAfter: 10 * time.Minute}},
		"for ever": {status: 429, header: map[string]string{"Retry-After": "99999999"},
			want: Error{Kind: RateLimited, RetryAfter: 2 * time.Hour}},
		"not allowed": {status: 405, want: Error{Kind: NotAllowed}},
		"conflict":    {status: 409, want: Error{Kind: Conflict}},
		"unavailable": {status: 503, body: "<html>\nsorry</html>",
			want: Error{Kind: Unavailable, Message: "<html> sorry</html>"}},
		"rejected": {status: 422, want: Error{Kind: Invalid}},
		"a message with the token": {status: 502, body: "Authorization: token t0ken",
			want: Error{Kind: Unavailable, Message: "Authorization: token ***"}},
		"a message that is long": {status: 500, body: strings.Repeat("ä", 1000),
			want: Error{Kind: Unavailable, Message: strings.Repeat("ä", 148) + "…"}},
		"a success that is no JSON": {status: 200, body: "<html>",
			want: Error{Kind: Invalid, Message: "the response is no JSON of the expected form"}},
		"a success that is too large": {status: 200, body: strings.Repeat(" ", maxResponse+1),
			want: Error{Kind: Invalid, Message: "the response is too large"}},
		"a redirect to nowhere in time": {status: 304, want: Error{Kind: Invalid}},
	} {
		t.Run(name, func(t *testing.T) {
			client := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, value := range test.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body)) // a client may stop to read
			})
			_, err := client.Get(t.Context(), 1)
			test.want.Status = test.status
			if got, ok := err.(*Error); !ok || *got != test.want { //nolint:errorlint // the client returns this type
				t.Errorf("got %#v, want %#v", err, test.want)
			}
		})
	}
}

// The token is for one scheme, host and port. net/http compares names of hosts alone.
func TestTokenIsNotSentAfterARedirectToAnotherServer(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(thief.Close)
	redirecting := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect) // to another port
	}
	clients := map[string]Client{"Gitea": answering(t, redirecting)}
	server := httptest.NewServer(http.HandlerFunc(redirecting))
	t.Cleanup(server.Close)
	gitlab, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: "t0ken", Web: server.Client(),
		Now: func() time.Time {
			return now
		}})
	if err != nil {
		t.Fatal(err)
	}
	clients["GitLab"] = gitlab
	for name, client := range clients {
		_, err := client.Get(t.Context(), 1)
		if KindOf(err) != Invalid || !strings.Contains(err.Error(), "redirects to "+thief.URL+
			", which does not get the token") {
			t.Errorf("%s: %v", name, err)
		}
		if err := client.SetStatus(t.Context(), "c0ffee", Status{Context: "cairn/a", State: Success}); KindOf(err) !=
			Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A repository that was renamed is at another path of the same server.
func TestRedirectWithinTheServerIsFollowed(t *testing.T) {
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("again") != "" || strings.HasSuffix(r.URL.Path, "/2"):
			http.Redirect(w, r, "/api/v1?again=1", http.StatusFound)
		case r.URL.Path == "/renamed":
			_, _ = w.Write([]byte(`{"number":1,"state":"open"}`))
		default:
			http.Redirect(w, r, "/renamed", http.StatusMovedPermanently)
		}
	})
	if got, err := client.Get(t.Context(), 1); err != nil || got.Number != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := client.Get(t.Context(), 2); KindOf(err) != Invalid {
		t.Errorf("without end: %v", err)
	}
}

func TestErrorWithoutAResponseHasNeitherURLNorToken(t *testing.T) {
	client := answering(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := client.Get(t.Context(), 1)
	if KindOf(err) != Unavailable || strings.Contains(err.Error(), "127.0.0.1") ||
		strings.Contains(err.Error(), "t0ken") {
		t.Error(err)
	}
}

// The lost response of a create is the reason why the next call finds the comment and creates no second one; a comment
// of another user with the marker is not ours.
func TestOneComment(t *testing.T) {
	comments := `[{"id":3,"user":{"login":"cairn"},"body":"M old"},{"id":1,"user":{"login":"mallory"},"body":"M fake"},{"id":5,"user":{"login":"cairn"},"body":"M twice"},{"id":4,"user":{"login":"cairn"},"body":"other"}]`
	var calls []string
	client := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			calls = append(calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1/repos/acme/infra/issues/"))
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/user"):
			_, _ = w.Write([]byte(`{"login":"cairn"}`))
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte(comments))
		case strings.HasSuffix(r.URL.Path, "/comments/9"):
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(`{"id":7,"updated_at":"2026-11-27T12:00:00Z"}`))
		}
	})
	ours := func(body string) bool { return strings.HasPrefix(body, "M ") }
	upsert := func(known, id int64, want string) {
		t.Helper()
		calls = nil
		got, err := client.Upsert(t.Context(), 12, known, ours, "M new")
		if err != nil || got.ID != id || !got.At.Equal(now) || strings.Join(calls, ", ") != want {
			t.Errorf("comment %v, %v: %q", got, err, calls)
		}
	}
	upsert(0, 3, "DELETE comments/5, PATCH comments/3")
	upsert(3, 3, "PATCH comments/3")
	upsert(9, 3, "PATCH comments/9, DELETE comments/5, PATCH comments/3") // the server does not have it
	comments = `[{"id":1,"user":{"login":"mallory"},"body":"M new"}]`
	upsert(0, 7, "POST 12/comments")
	var others []string // ours follows more comments than Comments returns
	for id := range MaxComments + 1 {
		others = append(others, fmt.Sprintf(`{"id":%d,"user":{"login":"mallory"},"body":"x"}`, id+10))
	}
	comments = "[" + strings.Join(others, ",") + `,{"id":5000,"user":{"login":"cairn"},"body":"M old"}]`
	upsert(0, 5000, "PATCH comments/5000")
}

// listing answers with pages of one object, as a server with a small limit does.
func listing(objects *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Total-Count", strconv.Itoa(len(*objects)))
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > len(*objects) {
			_, _ = w.Write([]byte("[]"))
			return
		}
		_, _ = w.Write([]byte("[" + (*objects)[page-1] + "]"))
	}
}

// A change within the second of the last update, to which Gitea rounds times, is a change.
func TestListHasAllPagesAndIsUnchangedOnlyIfItIs(t *testing.T) {
	const at = `"updated_at":"2026-11-27T12:00:00Z"`
	objects := []string{`{"number":2,"head":{"sha":"a"},` + at + `}`, `{"number":1,` + at + `}`, `{"number":3}`}
	client := answering(t, listing(&objects))
	open, version, err := client.Open(t.Context(), "")
	if err != nil || len(open) != 3 || open[2].Number != 3 {
		t.Fatal(open, err)
	}
	if _, _, err := client.Open(t.Context(), version); !errors.Is(err, ErrUnchanged) {
		t.Error(err)
	}
	objects[0] = `{"number":2,"head":{"sha":"b"},` + at + `}`
	if open, _, err = client.Open(t.Context(), version); err != nil || open[0].Head.Commit != "b" {
		t.Error(open, err)
	}
	objects = slices.Repeat([]string{`{"number":1}`}, MaxOpen+1)
	if open, _, err := client.Open(t.Context(), version); !errors.Is(err, ErrTooMany) {
		t.Errorf("%d open pull requests, %v", len(open), err)
	}
}

func TestDescriptionIsCut(t *testing.T) {
	var got struct{ Description string }
	client := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	})
	most := client.Limits().Description
	for text, want := range map[string]string{strings.Repeat("ä", most): strings.Repeat("ä", most),
		strings.Repeat("ä", most+1): strings.Repeat("ä", most-1) + "…"} {
		if err := client.SetStatus(t.Context(), "c0ffee", Status{State: Success, Description: text}); err != nil ||
			got.Description != want {
			t.Errorf("%d characters: %q, %v", most, got.Description, err)
		}
	}
}
