package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/source/gitprovider"
)

// install is a Handler of two Repositories, one without secrets, and what it did.
type install struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	woken []string
	fails error // of RequestFetch
	log   bytes.Buffer
}

func newInstall(t *testing.T, o Options) *install {
	in := &install{t: t}
	if o.Secrets == nil {
		o.Secrets = secretsOf
	}
	if o.RequestFetch == nil {
		o.RequestFetch = func(_ context.Context, namespace, repository string, e gitprovider.Event) error {
			in.mu.Lock()
			defer in.mu.Unlock()
			if in.fails != nil {
				return in.fails
			}
			in.woken = append(in.woken, namespace+"/"+repository+" "+e.Ref)
			return nil
		}
	}
	o.Log = slog.New(slog.NewTextHandler(&in.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Now == nil {
		o.Now = func() time.Time { return hookTime }
	}
	server := httptest.NewServer(New(o))
	t.Cleanup(server.Close)
	in.url = server.URL
	return in
}

func secretsOf(_ context.Context, namespace, repository string) ([][]byte, error) {
	switch namespace + "/" + repository {
	case "team-a/infra", "team-b/infra":
		return [][]byte{[]byte("old"), []byte(hookSecret)}, nil
	case "team-a/open":
		return nil, nil
	case "team-a/empty":
		return [][]byte{{}}, nil
	case "team-a/broken":
		return nil, errors.New("the API server is away")
	}
	return nil, fmt.Errorf("%s/%s: %w", namespace, repository, ErrUnknown)
}

func (in *install) send(method, path string, h http.Header, body io.Reader) (int, http.Header, string) {
	in.t.Helper()
	r, err := http.NewRequest(method, in.url+path, body)
	if err != nil {
		in.t.Fatal(err)
	}
	r.Header = h
	res, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return res.StatusCode, res.Header, strings.TrimSpace(string(text))
}

func gitHub(key, event, delivery, body string) http.Header {
	h := hookHeaders("X-GitHub-Event", event, "X-GitHub-Delivery", delivery)
	h.Set("X-Hub-Signature-256", "sha256="+hmacOf(key, body))
	return h
}

func TestHandler(t *testing.T) {
	push := example(t, "github-push")
	const refused = "not signed with a secret of such a Repository"
	for _, c := range []struct {
		name, method, path string
		h                  http.Header
		body               string
		code               int
		text               string
		woken              []string
	}{
		{"a push wakes the Repository", "POST", "/hooks/team-a/infra", gitHub(hookSecret, "push", "1", push), push, 202,
			"accepted", []string{"team-a/infra refs/heads/main"}},
		{"a tag wakes it too", "POST", "/hooks/team-a/infra", gitHub(hookSecret, "push", "1", example(t, "github-tag")),
			example(t, "github-tag"), 202, "accepted", []string{"team-a/infra refs/tags/v1.4.0"}},
		{"a branch that is deleted wakes it too", "POST", "/hooks/team-a/infra",
			gitHub(hookSecret, "push", "1", example(t, "github-delete")), example(t, "github-delete"), 202, "accepted",
			[]string{"team-a/infra refs/heads/widen"}},
		{"the other secret will do", "POST", "/hooks/team-a/infra", gitHub("old", "push", "1", push), push, 202,
			"accepted", []string{"team-a/infra refs/heads/main"}},
		{"a ping wakes nothing", "POST", "/hooks/team-a/infra", gitHub(hookSecret, "ping", "1", push), push, 200,
			"pong", nil},
		{"a pull request wakes it too", "POST", "/hooks/team-a/infra",
			gitHub(hookSecret, "pull_request", "1", example(t, "github-pull-request")),
			example(t, "github-pull-request"), 202, "accepted", []string{"team-a/infra "}},
		{"a comment on a pull request wakes it too", "POST", "/hooks/team-a/infra",
			gitHub(hookSecret, "issue_comment", "1", example(t, "github-comment")), example(t, "github-comment"), 202,
			"accepted", []string{"team-a/infra "}},
		{"a review wakes it too", "POST", "/hooks/team-a/infra", gitHub(hookSecret, "pull_request_review", "1",
			example(t, "github-review")), example(t, "github-review"), 202, "accepted", []string{"team-a/infra "}},
		{"a comment on an issue wakes nothing", "POST", "/hooks/team-a/infra",
			gitHub(hookSecret, "issue_comment", "1", example(t, "github-issue-comment")),
			example(t, "github-issue-comment"), 200, "nothing to do for this event", nil},
		{"an event that is of no pull request wakes nothing", "POST", "/hooks/team-a/infra",
			gitHub(hookSecret, "issues", "1", example(t, "github-issue-comment")), example(t, "github-issue-comment"),
			200, "nothing to do for this event", nil},
		{"a pull request has to be signed too", "POST", "/hooks/team-a/infra",
			gitHub("wrong", "pull_request", "1", push), push, 401, refused, nil},
		{"a ping has to be signed too", "POST", "/hooks/team-a/infra", gitHub("wrong", "ping", "1", push), push, 401,
			refused, nil},
		{"a wrong signature is refused", "POST", "/hooks/team-a/infra", gitHub("wrong", "push", "1", push), push, 401,
			refused, nil},
		{"no signature is refused", "POST", "/hooks/team-a/infra", hookHeaders("X-GitHub-Event", "push"), push, 401,
			refused, nil},
		{"a request of no Git provider is rejected", "POST", "/hooks/team-a/infra", hookHeaders(), push, 401,
			refused, nil},
		{"a Repository that is unknown is refused with the same words", "POST", "/hooks/team-a/other",
			gitHub(hookSecret, "push", "1", push), push, 401, refused, nil},
		{"a Repository without secrets is refused with the same words", "POST", "/hooks/team-a/open",
			gitHub("", "push", "1", push), push, 401, refused, nil},
		{"a Repository with an empty secret is refused with the same words", "POST", "/hooks/team-a/empty",
			gitHub("", "push", "1", push), push, 401, refused, nil},
		{"secrets that cannot be had are for later", "POST", "/hooks/team-a/broken",
			gitHub(hookSecret, "push", "1", push), push, 503, "try again", nil},
		{"signed well and no JSON", "POST", "/hooks/team-a/infra", gitHub(hookSecret, "push", "1", "hello"), "hello",
			400, "not what a Git provider sends", nil},
		{"a GET", "GET", "/hooks/team-a/infra", hookHeaders(), "", 405, "Method Not Allowed", nil},
		{"another path", "POST", "/hooks/team-a", hookHeaders(), "", 404, "404 page not found", nil},
		{"another type", "POST", "/hooks/team-a/infra", http.Header{"Content-Type": {"text/plain"}}, push, 415,
			"send application/json", nil},
		{"no type", "POST", "/hooks/team-a/infra", http.Header{}, push, 415, "send application/json", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInstall(t, Options{})
			code, h, text := in.send(c.method, c.path, c.h, strings.NewReader(c.body))
			if code != c.code || text != c.text {
				t.Errorf("%d %q, want %d %q", code, text, c.code, c.text)
			}
			if (h.Get("Retry-After") != "") != (c.code == 503) {
				t.Errorf("Retry-After: %q", h.Get("Retry-After"))
			}
			if diff := cmp.Diff(c.woken, in.woken); diff != "" {
				t.Error(diff)
			}
			for _, word := range []string{hmacOf(hookSecret, c.body), hmacOf("wrong", c.body), "Widen the subnet",
				hookSecret} {
				if strings.Contains(in.log.String(), word) {
					t.Errorf("%q is in the log: %s", word, in.log.String())
				}
			}
		})
	}
}

func TestUnknownRepositoryIsAnsweredLikeAWrongSignature(t *testing.T) {
	in := newInstall(t, Options{})
	push := example(t, "github-push")
	h := gitHub("wrong", "push", "1", push)
	wantCode, want, wantText := in.send("POST", "/hooks/team-a/infra", h, strings.NewReader(push))
	for _, path := range []string{"/hooks/team-a/other", "/hooks/team-x/infra", "/hooks/team-a/open",
		"/hooks/team-a/empty"} {
		code, got, text := in.send("POST", path, h, strings.NewReader(push))
		want.Del("Date")
		got.Del("Date")
		if diff := cmp.Diff(want, got); diff != "" || code != wantCode || text != wantText {
			t.Errorf("%s: %d %q %s", path, code, text, diff)
		}
	}
}

func TestEachDeliveryRequestsAFetch(t *testing.T) {
	in := newInstall(t, Options{})
	push := example(t, "github-push")
	for _, c := range []struct {
		name, path string
		fails      error
		code       int
		text       string
	}{
		{"when the fetch cannot be requested, the response is to try again", "/hooks/team-a/infra", errors.New("busy"),
			503, "try again"},
		{"then it is accepted", "/hooks/team-a/infra", nil, 202, "accepted"},
		{"a user sends it again", "/hooks/team-a/infra", nil, 202, "accepted"},
		{"the same webhook of another Repository", "/hooks/team-b/infra", nil, 202, "accepted"},
	} {
		in.fails = c.fails
		code, _, text := in.send("POST", c.path, gitHub(hookSecret, "push", "1", push), strings.NewReader(push))
		if code != c.code || text != c.text {
			t.Errorf("%s: %d %q", c.name, code, text)
		}
	}
	if len(in.woken) != 3 {
		t.Errorf("woken: %q", in.woken)
	}
}

// counted counts how often a body is read from its beginning to its end.
type counted struct {
	io.Reader
	bytes, ends int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += n
	if err == io.EOF {
		c.ends++
	}
	return n, err
}

func TestBodyIsReadOnceForManySecrets(t *testing.T) {
	push := example(t, "github-push")
	woken := 0
	h := New(Options{
		Secrets: func(context.Context, string, string) ([][]byte, error) {
			return [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte(hookSecret)}, nil
		},
		RequestFetch: func(context.Context, string, string, gitprovider.Event) error { woken++; return nil },
		Log:          slog.New(slog.DiscardHandler),
	})
	body := &counted{Reader: strings.NewReader(push)}
	r := httptest.NewRequest("POST", "/hooks/team-a/infra", body)
	r.Header = gitHub(hookSecret, "push", "1", push)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusAccepted || woken != 1 || body.ends != 1 || body.bytes != len(push) {
		t.Errorf("%d, woken %d times, %d ends and %d of %d bytes read", w.Code, woken, body.ends, body.bytes, len(push))
	}
}

func TestBodyOf25MiBIsAccepted(t *testing.T) {
	in := newInstall(t, Options{Timeout: time.Minute})
	for _, c := range []struct{ size, code int }{{largest, http.StatusAccepted},
		{largest + 1, http.StatusRequestEntityTooLarge}} {
		body := `{"ref":"refs/heads/main","pad":"`
		body += strings.Repeat("x", c.size-len(body)-2) + `"}`
		// a reader of no known length is sent in chunks, so that no header has its size
		code, _, text := in.send("POST", "/hooks/team-a/infra", gitHub(hookSecret, "push", "1", body),
			io.MultiReader(strings.NewReader(body)))
		if code != c.code {
			t.Errorf("%d bytes: %d %q, want %d", c.size, code, text, c.code)
		}
	}
}

func TestTooManyConcurrentWebhooksAreRejected(t *testing.T) {
	started, leave := make(chan struct{}), make(chan struct{})
	in := newInstall(t, Options{Concurrent: 2, RequestFetch: func(context.Context, string, string,
		gitprovider.Event) error {
		started <- struct{}{}
		<-leave
		return nil
	}})
	push := example(t, "github-push")
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			if code, _, _ := in.send("POST", "/hooks/team-a/infra", gitHub(hookSecret, "push", fmt.Sprint(i), push),
				strings.NewReader(push)); code != 202 {
				t.Errorf("%d", code)
			}
		})
	}
	<-started
	<-started
	code, h, _ := in.send("POST", "/hooks/team-a/infra", gitHub(hookSecret, "push", "3", push), strings.NewReader(push))
	if code != http.StatusTooManyRequests || h.Get("Retry-After") == "" {
		t.Errorf("%d, Retry-After %q", code, h.Get("Retry-After"))
	}
	close(leave)
	all.Wait()
	if code, _, _ := in.send("POST", "/hooks/team-a/infra", gitHub(hookSecret, "ping", "4", push),
		strings.NewReader(push)); code != 200 {
		t.Errorf("no place is free again: %d", code)
	}
}

// A stranger can begin as many bodies as he likes, and send them as slowly as the deadline lets him.
func TestSlowBodiesDoNotBlockOtherWebhooks(t *testing.T) {
	for name, begun := range map[string]int{"small ones": 1, "large ones": small + 1} {
		t.Run(name, func(t *testing.T) {
			h := New(Options{
				Concurrent: 2, Timeout: time.Minute, Secrets: secretsOf, Log: slog.New(slog.DiscardHandler),
				Now: func() time.Time {
					return hookTime
				},
				RequestFetch: func(context.Context, string, string, gitprovider.Event) error { return nil },
			})
			send := func(body io.Reader, of string) int {
				r := httptest.NewRequest("POST", "/hooks/team-a/infra", body)
				r.Header = gitHub(hookSecret, "push", "1", of)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code
			}
			var all sync.WaitGroup
			t.Cleanup(all.Wait)
			for range 2 {
				body, ends := io.Pipe()
				t.Cleanup(func() { _ = ends.Close() })
				all.Go(func() { send(body, "") })
				if _, err := ends.Write(make([]byte, begun)); err != nil { // which waits until it is read
					t.Fatal(err)
				}
			}
			push := example(t, "github-push")
			if code := send(strings.NewReader(push), push); code != http.StatusAccepted {
				t.Errorf("a push is answered %d", code)
			}
			if long := strings.Repeat(" ", small+1); begun > small &&
				send(strings.NewReader(long), long) != http.StatusTooManyRequests {
				t.Error("there is no end to large ones")
			}
		})
	}
}

// A client is not authenticated before its body is read, so few large bodies are in memory.
func TestConcurrentLargeBodiesAreLimited(t *testing.T) {
	h := New(Options{
		Timeout: time.Minute, Secrets: secretsOf, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
			return hookTime
		},
		RequestFetch: func(context.Context, string, string, gitprovider.Event) error { return nil },
	})
	send := func(body io.Reader) int {
		r := httptest.NewRequest("POST", "/hooks/team-a/infra", body)
		r.Header = gitHub(hookSecret, "push", "1", "")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for range mostLarge {
		body, ends := io.Pipe()
		t.Cleanup(func() { _ = ends.Close() })
		all.Go(func() { send(body) })
		if _, err := ends.Write(make([]byte, small+1)); err != nil { // which waits until it is read
			t.Fatal(err)
		}
	}
	if code := send(strings.NewReader(strings.Repeat(" ", small+1))); code != http.StatusTooManyRequests {
		t.Errorf("one more is answered %d", code)
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	in := newInstall(t, Options{Timeout: 50 * time.Millisecond, Concurrent: 1})
	conn, err := net.Dial("tcp", strings.TrimPrefix(in.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /hooks/team-a/infra HTTP/1.1\r\nHost: cairn\r\nContent-Type: "+
		"application/json\r\nContent-Length: 100\r\n\r\n{")
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestFetchRequestEndsBeforeTheGitProviderTimesOut(t *testing.T) {
	h := New(Options{Timeout: 50 * time.Millisecond, Secrets: secretsOf, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time {
			return hookTime
		},
		RequestFetch: func(ctx context.Context, _, _ string, _ gitprovider.Event) error {
			<-ctx.Done()
			return ctx.Err()
		}})
	push := example(t, "github-push")
	// whose body is there, however long the rest takes
	r := httptest.NewRequest("POST", "/hooks/team-a/infra", strings.NewReader(push))
	r.Header = gitHub(hookSecret, "push", "1", push)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d", w.Code)
	}
}
