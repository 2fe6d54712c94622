package webui

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"cairn.dev/cairn/internal/base/signinlink"
	"cairn.dev/cairn/internal/userapi"
)

// Proxy serves the web UI and the API of Cairn's server on a loopback address, with the credentials of a user. A
// browser signs in with a link, as in `cairn dev`, and gets a cookie: other users of this machine and the pages of
// other sites can connect to the address too. The credentials are never in the browser.
type Proxy struct {
	// host is the address of this proxy, HOST:PORT, as browsers name it.
	host   string
	cookie http.Cookie
	to     http.Handler
	guard  *http.CrossOriginProtection

	mu sync.Mutex
	// links are the links by their code.
	links map[string]link
}

// link signs a browser in, and leads to a page.
type link struct {
	page string
	once bool
}

// NewProxy creates a Proxy at the address host, HOST:PORT, to the server with that URL, whose transport sends the
// credentials of the user. Explain returns the message of a request that did not reach the server.
func NewProxy(host string, server *url.URL, transport http.RoundTripper, explain func(error) error) *Proxy {
	_, port, _ := strings.Cut(host, ":")
	return &Proxy{
		host: host, guard: http.NewCrossOriginProtection(), links: map[string]link{},
		//nolint:gosec // there is no TLS on a loopback address; the port is in its name, as browsers ignore it for cookies
		cookie: http.Cookie{
			Name: "cairn-ui-" + port, Value: rand.Text(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		},
		to: &httputil.ReverseProxy{
			Transport:      transport,
			FlushInterval:  -1,                         // logs and changes are streams
			ErrorLog:       log.New(io.Discard, "", 0), // of connections that browsers end
			Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(server); asUser(r.Out.Header) },
			ModifyResponse: forBrowser,
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				answer(w, http.StatusBadGateway, explain(err).Error())
			},
		},
	}
}

// asUser removes what a browser sends for this proxy, and what would replace the credentials of the transport.
func asUser(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "Sec-Fetch-") {
			h.Del(name)
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
		h.Del(name)
	}
}

// forBrowser removes what is for the server's own host.
func forBrowser(r *http.Response) error {
	r.Header.Del("Set-Cookie")
	r.Header.Del("Strict-Transport-Security")
	return nil
}

// Link returns the address of a page, which signs a browser in: once, or as often as it is opened while the Proxy runs.
// Commands that open a browser have its address as an argument, which other users of the machine can read: it has to be
// a link that works once.
func (p *Proxy) Link(page string, once bool) string {
	code := rand.Text()
	p.mu.Lock()
	p.links[code] = link{page, once}
	p.mu.Unlock()
	return "http://" + p.host + signinlink.Path + "?" + url.Values{"code": {code}}.Encode()
}

// take returns the page of the link with a code, and invalidates the link if it works once.
func (p *Proxy) take(code string) (page string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.links[code]
	if l.once {
		delete(p.links, code)
	}
	return l.page, ok
}

// ServeHTTP handles a request of a browser.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Host != p.host: // a page whose name leads here would be this site
		answer(w, http.StatusMisdirectedRequest, "the web UI is at http://"+p.host)
	case r.URL.Path == signinlink.Path:
		p.signIn(w, r)
	case p.guard.Check(r) != nil:
		answer(w, http.StatusForbidden, "the page of another site had your browser send this, and nothing was done")
	case !p.signedIn(r):
		answer(w, http.StatusUnauthorized, "open the link that cairn ui printed")
	case r.URL.Path == "/api/v1/session":
		ended := p.cookie //nolint:gosec // its settings are those of the cookie that it ends
		ended.Value, ended.MaxAge = "", -1
		http.SetCookie(w, &ended)
		w.WriteHeader(http.StatusNoContent)
	default:
		p.to.ServeHTTP(w, r)
	}
}

func (p *Proxy) signIn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // HEAD, of programs that preview links
		w.WriteHeader(http.StatusNoContent)
		return
	}
	page, ok := p.take(r.URL.Query().Get("code"))
	if !ok {
		answer(w, http.StatusUnauthorized, "this link was used already, or is of another cairn ui: open "+
			"the one that cairn ui printed")
		return
	}
	cookie := p.cookie
	http.SetCookie(w, &cookie)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", page)
	w.WriteHeader(http.StatusSeeOther)
}

func (p *Proxy) signedIn(r *http.Request) bool {
	c, err := r.Cookie(p.cookie.Name)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(p.cookie.Value)) == 1
}

// answer writes an error as the API does.
func answer(w http.ResponseWriter, code int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(userapi.Problem{Type: "about:blank", Title: http.StatusText(code), Status: code,
		Detail: detail})
}
