//go:build envtest

package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

// serveSite serves users with a catalog, and allows them to write.
func (e *env) serveSite(change ...func(*server.Options)) *userServer {
	e.Helper()
	return e.serveLists(append([]func(*server.Options){func(o *server.Options) {
		o.Kubernetes = apiserver.Config
	}}, change...)...)
}

// A browser keeps cookies, and follows no redirect.
type browser struct {
	*userServer
	http *http.Client
	// sends are headers that it sets.
	sends http.Header
}

func (p *userServer) browser() *browser {
	p.Helper()
	jar, err := cookiejar.New(nil)
	must(p.T, err)
	return &browser{userServer: p, sends: http.Header{}, http: &http.Client{
		Jar: jar, Transport: p.transport(shown{}), CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// answer is what a browser got.
type answer struct {
	*http.Response
	body string
}

// do sends a request; what is sent is JSON unless it is a text.
func (b *browser) do(method, path string, sent any) answer {
	b.Helper()
	var body io.Reader
	switch v := sent.(type) {
	case nil:
	case string:
		body = strings.NewReader(v)
	default:
		data, err := json.Marshal(v)
		must(b.T, err)
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(b.Context(), method, b.base+path, body)
	must(b.T, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range b.sends {
		r.Header[name] = values
	}
	got, err := b.http.Do(r)
	must(b.T, err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	must(b.T, err)
	if strings.HasPrefix(path, "/api/") && got.StatusCode != http.StatusNotFound {
		described(b.T, r, got, text)
	}
	return answer{got, string(text)}
}

// want is do, with a response of that code that contains a text.
func (b *browser) want(code int, says, method, path string, sent any) answer {
	b.Helper()
	got := b.do(method, path, sent)
	if got.StatusCode != code || !strings.Contains(got.body, says) {
		b.Fatalf("%s %s: %d %s; want %d and %q", method, path, got.StatusCode, got.body, code, says)
	}
	return got
}

// goes is a GET that sends the browser to a place.
func (b *browser) goes(path string) *url.URL {
	b.Helper()
	got := b.do(http.MethodGet, path, nil)
	to, err := got.Location()
	if got.StatusCode != http.StatusSeeOther || err != nil {
		b.Fatalf("%s: %d %s (%v)", path, got.StatusCode, got.body, err)
	}
	return to
}

// signInError returns what the sign-in page shows.
func (b *browser) signInFailure() userapi.SignInFailure {
	b.Helper()
	var shown userapi.SignIn
	must(b.T, json.Unmarshal([]byte(b.want(http.StatusOK, "", http.MethodGet, "/api/v1/signin", nil).body), &shown))
	return shown.Failure
}

// signIn signs in with a token.
func (b *browser) signIn(who shown) *browser {
	b.Helper()
	b.want(http.StatusNoContent, "", http.MethodPost, "/api/v1/session", userapi.Session{Token: who.token})
	return b
}

// kept is the cookie that the browser has of a session.
func (b *browser) kept() *http.Cookie {
	b.Helper()
	at, err := url.Parse(b.base)
	must(b.T, err)
	for _, c := range b.http.Jar.Cookies(at) {
		if c.Name == "__Host-cairn" {
			return c
		}
	}
	return nil
}
