package webui

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// user adds the credentials of a user, as the transport of a session does.
type user struct{ to http.RoundTripper }

func (u user) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" { // as client-go
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer alice")
	}
	return u.to.RoundTrip(r)
}

const host = "127.0.0.1:8080"

// proxyTo returns a Proxy to a server, which remembers the headers of the last request.
func proxyTo(t *testing.T) (p *Proxy, last *http.Header) {
	t.Helper()
	last = &http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = r.Header.Clone()
		w.Header().Set("Set-Cookie", "__Host-cairn=x; Secure")
		w.Header().Set("Strict-Transport-Security", "max-age=1")
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return NewProxy(host, u, user{server.Client().Transport}, func(err error) error { return err }), last
}

// ask sends a request of a browser to the address of the Proxy.
func ask(p *Proxy, method, address string, change ...func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, address, nil)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result()
}

// signedIn returns what a browser that opened a link sends with each request.
func signedIn(t *testing.T, p *Proxy) func(*http.Request) {
	t.Helper()
	answer := ask(p, http.MethodGet, p.Link("/", true))
	cookies := answer.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("the link answers %d with the cookies %v", answer.StatusCode, cookies)
	}
	return func(r *http.Request) { r.AddCookie(cookies[0]) }
}

func TestOnlyBrowsersThatOpenedALinkActAsTheUser(t *testing.T) {
	p, last := proxyTo(t)
	in := signedIn(t, p)
	for name, test := range map[string]struct {
		method, address string
		change          []func(*http.Request)
		code            int
	}{
		"signed in": {"GET", "http://" + host + "/stacks", []func(*http.Request){in}, 200},
		"a write of the page": {"POST", "http://" + host + "/api/v1/x",
			[]func(*http.Request){in, with("Sec-Fetch-Site", "same-origin")}, 200},
		"without a cookie": {"GET", "http://" + host + "/api/v1/me", nil, 401},
		"with another cookie": {"GET", "http://" + host + "/",
			[]func(*http.Request){with("Cookie", "cairn-ui-8080=x")}, 401},
		"a name that leads here": {"GET", "http://evil.example.com:8080/", []func(*http.Request){in}, 421},
		"a link by a name": {"GET", strings.Replace(p.Link("/", true), "127.0.0.1", "evil.example.com", 1),
			nil, 421},
		"a write of another site": {"POST", "http://" + host + "/api/v1/x",
			[]func(*http.Request){in, with("Sec-Fetch-Site", "cross-site")}, 403},
		"a write of another port": {"POST", "http://" + host + "/api/v1/x",
			[]func(*http.Request){in, with("Sec-Fetch-Site", "same-site")}, 403},
		"a write of an older browser": {"POST", "http://" + host + "/api/v1/x",
			[]func(*http.Request){in, with("Origin", "http://127.0.0.1:9")}, 403},
		"a link that is none":   {"GET", "http://" + host + "/signin/link?code=x", nil, 401},
		"a link without a code": {"GET", "http://" + host + "/signin/link", nil, 401},
	} {
		t.Run(name, func(t *testing.T) {
			*last = nil
			answer := ask(p, test.method, test.address, test.change...)
			if answer.StatusCode != test.code || (test.code == 200) != (last.Get("Authorization") == "Bearer alice") {
				t.Errorf("%d, and the server has %v", answer.StatusCode, *last)
			}
			if test.code != 200 && len(answer.Cookies()) > 0 {
				t.Errorf("it has the cookies %v", answer.Cookies())
			}
		})
	}
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestTheServerGetsTheCredentialsOfTheUserAlone(t *testing.T) {
	p, last := proxyTo(t)
	answer := ask(p, "GET", "http://"+host+"/", signedIn(t, p), with("Authorization", "Bearer eve"),
		with("Impersonate-User", "root"),
		with("Origin", "http://"+host), with("Sec-Fetch-Site", "same-origin"), with("Accept", "text/html"))
	if last.Get("Authorization") != "Bearer alice" || last.Get("Accept") != "text/html" {
		t.Errorf("the server got %v", *last)
	}
	for _, name := range []string{"Impersonate-User", "Cookie", "Origin", "Sec-Fetch-Site"} {
		if last.Get(name) != "" {
			t.Errorf("the server got %s: %s", name, last.Get(name))
		}
	}
	for _, name := range []string{"Set-Cookie", "Strict-Transport-Security"} {
		if answer.Header.Get(name) != "" {
			t.Errorf("the browser got %s: %s", name, answer.Header.Get(name))
		}
	}
}

func TestLinks(t *testing.T) {
	p, _ := proxyTo(t)
	once, often := p.Link("/stacks/shop/net", true), p.Link("/runs/shop/net-7", false)
	for i, want := range []struct {
		link string
		code int
		to   string
	}{{once, 303, "/stacks/shop/net"}, {once, 401, ""}, {often, 303, "/runs/shop/net-7"},
		{often, 303, "/runs/shop/net-7"}} {
		answer := ask(p, http.MethodGet, want.link)
		if answer.StatusCode != want.code || answer.Header.Get("Location") != want.to {
			t.Errorf("%d: %d to %s", i, answer.StatusCode, answer.Header.Get("Location"))
		}
	}
	preview := p.Link("/", true)
	if answer := ask(p, http.MethodHead, preview); answer.StatusCode != 204 {
		t.Errorf("a preview answers %d", answer.StatusCode)
	}
	if answer := ask(p, http.MethodGet, preview); answer.StatusCode != 303 {
		t.Errorf("after a preview the link answers %d", answer.StatusCode)
	}
}

func TestSigningOutDeletesTheCookie(t *testing.T) {
	p, last := proxyTo(t)
	in := signedIn(t, p)
	*last = nil
	answer := ask(p, http.MethodDelete, "http://"+host+"/api/v1/session", in)
	if c := answer.Cookies(); answer.StatusCode != 204 || len(c) != 1 || c[0].MaxAge >= 0 || *last != nil {
		t.Errorf("%d with %v; the server has %v", answer.StatusCode, c, *last)
	}
}

func TestServerThatIsAway(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "cairn.example.com"}
	p := NewProxy(host, u, broken{}, func(error) error { return errors.New("Cairn's server does not answer") })
	answer := ask(p, "GET", "http://"+host+"/", signedIn(t, p))
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 502 ||
		!strings.Contains(string(body), `"detail":"Cairn's server does not answer"`) {
		t.Errorf("%d %s (%v)", answer.StatusCode, body, err)
	}
}

type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("broken") }
