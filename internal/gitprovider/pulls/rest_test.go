package pulls

import (
	"net/http"
	"net/http/httptest"
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
		URL: server.URL, Owner: "acme", Name: "infra", Token: "t0ken", Web: server.Client(), Now: func() time.Time { return now },
	})
}

func TestErrorsHaveAKind(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   Error
	}{
		"not found":                     {status: 404, body: `{"message":"no such repository"}`, want: Error{Kind: NotFound, Message: "no such repository"}},
		"unauthorized":                  {status: 401, want: Error{Kind: Unauthorized}},
		"forbidden":                     {status: 403, want: Error{Kind: Forbidden}},
		"forbidden for the rate":        {status: 403, header: map[string]string{"Retry-After": "60"}, want: Error{Kind: RateLimited, RetryAfter: time.Minute}},
		"too many requests":             {status: 429, want: Error{Kind: RateLimited}},
		"until the rate is reset":       {status: 429, header: map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1795781400"}, want: Error{Kind: RateLimited, RetryAfter: 10 * time.Minute}},
		"for ever":                      {status: 429, header: map[string]string{"Retry-After": "99999999"}, want: Error{Kind: RateLimited, RetryAfter: 2 * time.Hour}},
		"not allowed":                   {status: 405, want: Error{Kind: NotAllowed}},
		"conflict":                      {status: 409, want: Error{Kind: Conflict}},
		"unavailable":                   {status: 503, body: "<html>\nsorry</html>", want: Error{Kind: Unavailable, Message: "<html> sorry</html>"}},
		"rejected":                      {status: 422, want: Error{Kind: Invalid}},
		"a message that is long":        {status: 500, body: strings.Repeat("ä", 1000), want: Error{Kind: Unavailable, Message: strings.Repeat("ä", 150)}},
		"a success that is no JSON":     {status: 200, body: "<html>", want: Error{Kind: Invalid, Message: "the response is no JSON of the expected form"}},
		"a success that is too large":   {status: 200, body: strings.Repeat(" ", maxResponse+1), want: Error{Kind: Invalid, Message: "the response is too large"}},
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

func TestErrorWithoutAResponseHasNeitherURLNorToken(t *testing.T) {
	client := answering(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := client.Get(t.Context(), 1)
	if KindOf(err) != Unavailable || strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "t0ken") {
		t.Error(err)
	}
}

// The lost response of a create is the reason why the next call finds the comment and creates no second one; a comment of another
// user with the marker is not ours.
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
		default:
			_, _ = w.Write([]byte(`{"id":7}`))
		}
	})
	ours := func(body string) bool { return strings.HasPrefix(body, "M ") }
	upsert := func(body string, id int64, want string) {
		t.Helper()
		calls = nil
		got, err := client.Upsert(t.Context(), 12, ours, body)
		if err != nil || got != id || strings.Join(calls, ", ") != want {
			t.Errorf("comment %d, %v: %q", got, err, calls)
		}
	}
	upsert("M new", 3, "DELETE comments/5, PATCH comments/3")
	comments = `[{"id":3,"user":{"login":"cairn"},"body":"M new"}]`
	upsert("M new", 3, "")
	comments = `[{"id":1,"user":{"login":"mallory"},"body":"M new"}]`
	upsert("M new", 7, "POST 12/comments")
}
