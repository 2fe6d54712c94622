//go:build envtest

package server_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/internal/base/signinlink"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/webhook"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

const me = "/api/v1/me"

func TestTokenSignsIn(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	user, who := e.account("alice")
	b := p.browser()
	b.want(200, `"methods":[{"type":"Token"}]`, "GET", "/api/v1/signin", nil)
	b.want(401, "who asks?", "GET", me, nil)
	for name, test := range map[string]struct {
		sent any
		code int
		says string
	}{
		"nothing":                {userapi.Session{}, 401, "send the token"},
		"what is no token":       {userapi.Session{Token: "x"}, 401, "not one that Kubernetes takes"},
		"what is no JSON":        {"token=x", 400, "not what was expected"},
		"longer than any":        {userapi.Session{Token: strings.Repeat("x", 20<<10)}, 401, "send the token"},
		"more than is ever sent": {userapi.Session{Token: strings.Repeat("x", 100<<10)}, 413, "bytes"},
	} {
		t.Run(name, func(t *testing.T) { b.want(test.code, test.says, "POST", "/api/v1/session", test.sent) })
	}
	if b.kept() != nil {
		t.Fatal("who was refused has a cookie")
	}
	if p.log.line("audit: not signed in", "method=Token", "from=127.0.0.1") == "" {
		t.Error("who was refused is not in the audit")
	}
	b.sends.Set("Content-Type", "text/plain")
	b.want(415, "Content-Type", "POST", "/api/v1/session", userapi.Session{Token: who.token})
	b.sends.Del("Content-Type")

	b.sends.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	got := b.want(204, "", "POST", "/api/v1/session", userapi.Session{Token: " " + who.token + "\n"})
	c := got.Cookies()[0]
	if c.Name != "__Host-cairn" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" ||
		c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	if c.MaxAge < 3500 || c.MaxAge > 3600 { // as long as the token, which is an hour
		t.Errorf("the session lasts %d s", c.MaxAge)
	}
	if line := p.log.line("audit: signed in", "by="+user, "method=Token",
		"traceID=0af7651916cd43dd8448eb211c80319c"); line == "" {
		t.Error("who signed in is not in the audit")
	}
	answer := b.want(200, user, "GET", me, nil)
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy":              "no-referrer",
		"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		if answer.Header.Get(name) != want {
			t.Errorf("%s is %q", name, answer.Header.Get(name))
		}
	}
	b.want(403, user+" may not list stacks", "GET", "/api/v1/stacks", nil)

	// Another process, or this one after a restart, knows the session too.
	other := e.serveSite().browser()
	other.sends.Set("Cookie", "__Host-cairn="+b.kept().Value)
	other.want(200, user, "GET", me, nil)
	// What is not as it was made is nothing.
	forged := []byte(b.kept().Value)
	forged[40] ^= 1
	other.sends.Set("Cookie", "__Host-cairn="+string(forged))
	other.want(401, "sign in again", "GET", me, nil)
	other.sends.Set("Cookie", "cairn-="+b.kept().Value)
	other.want(401, "who asks?", "GET", me, nil)

	b.want(204, "", "DELETE", "/api/v1/session", nil)
	if b.kept() != nil {
		t.Error("the cookie is there still")
	}
	b.want(401, "who asks?", "GET", me, nil)
	if p.log.line("audit: signed out", "by="+user) == "" {
		t.Error("who signed out is not in the audit")
	}
	if p.log.line(who.token) != "" {
		t.Error("the token is in the log")
	}
}

func TestSessionExpires(t *testing.T) {
	e := newEnv(t)
	_, who := e.account("alice")
	now := time.Now()
	p := e.serveSite(func(o *server.Options) {
		o.SignIn.Lifetime = time.Minute
		o.Now = func() time.Time { return now }
	})
	b := p.browser().signIn(who)
	value := b.kept().Value
	b.sends.Set("Cookie", "__Host-cairn="+value)
	b.want(200, "alice", "GET", me, nil)
	now = now.Add(time.Minute)
	b.want(401, "your session is over", "GET", me, nil)
}

func TestTooLongTokenIsRejected(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "alice"}}
	must(t, apiserver.Kube.Create(t.Context(), account))
	_, bob := e.account("bob")
	_, payload, _ := parts(bob.token)
	data, err := base64.RawURLEncoding.DecodeString(payload)
	must(t, err)
	var says struct {
		Audiences []string `json:"aud"`
	}
	must(t, json.Unmarshal(data, &says))
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: append(says.Audiences, strings.Repeat("x", 3000))}}
	must(t, apiserver.Kube.SubResource("token").Create(t.Context(), account, request))
	p.browser().want(400, "more than a browser stores", "POST", "/api/v1/session",
		userapi.Session{Token: request.Status.Token})
}

// What a browser shows by itself it shows for other sites too.
func TestCrossSiteRequestsAreRejected(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	user, who := e.account("alice")
	e.allow(user, mayAll)
	p.authorized(p.as(who))
	b := p.browser().signIn(who)
	e.newRun(e.stack, "net-1")
	cancel := "/api/v1/namespaces/" + e.namespace + "/runs/net-1/cancel"
	for name, headers := range map[string]http.Header{
		"another site":      {"Sec-Fetch-Site": {"cross-site"}},
		"a sister":          {"Sec-Fetch-Site": {"same-site"}},
		"an older browser":  {"Origin": {"https://evil.example"}},
		"a page of no site": {"Origin": {"null"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.sends = headers
			b.want(403, "another site", "POST", cancel, nil)
			b.want(403, "another site", "POST", "/api/v1/session", userapi.Session{Token: who.token})
			b.want(403, "another site", "DELETE", "/api/v1/session", nil)
			with := *b
			with.http = &http.Client{Transport: p.transport(shown{certificate: adminCertificate(t), headers: headers})}
			with.want(403, "another site", "POST", cancel, nil)
		})
	}
	if b.kept() == nil {
		t.Error("another site has signed alice out")
	}
	// A token is shown by a program, which no other site is.
	b.sends = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Authorization": {"Bearer " + who.token}}
	b.want(200, `"cancel":true`, "POST", cancel, nil)
	b.sends = http.Header{"Sec-Fetch-Site": {"same-origin"}}
	b.want(200, `"cancel":true`, "POST", cancel, nil)
}

func TestLinkSignsInOnce(t *testing.T) {
	e := newEnv(t)
	folder := filepath.Join(t.TempDir(), "links")
	p := e.serveSite(func(o *server.Options) { o.SignIn.Links = folder })
	user, who := e.account("alice")
	path, err := signinlink.New(folder, who.token)
	must(t, err)
	files, err := os.ReadDir(folder)
	must(t, err)
	if strings.Contains(path, files[0].Name()) {
		t.Error("the name of the file contains the code")
	}
	about, err := files[0].Info()
	must(t, err)
	if about.Mode().Perm() != 0o600 {
		t.Errorf("the file is %s", about.Mode())
	}
	b := p.browser()
	b.want(204, "", "HEAD", path, nil)                         // uses nothing up
	for _, site := range []string{"cross-site", "same-site"} { // nor does another site sign in with it
		b.sends = http.Header{"Sec-Fetch-Site": {site}}
		if to := b.goes(path); to.RequestURI() != "/signin" || b.kept() != nil ||
			b.signInFailure() != userapi.SignInOtherSite {
			t.Errorf("%s: a link leads to %s", site, to)
		}
	}
	b.sends = http.Header{}
	if to := b.goes(path + "&to=/stacks%3Fready%3DFalse"); to.RequestURI() != "/stacks?ready=False" {
		t.Errorf("it leads to %s", to)
	}
	b.want(200, user, "GET", me, nil)
	thief := p.browser()
	refused := func(path string) {
		t.Helper()
		to := thief.goes(path)
		if why := thief.signInFailure(); to.RequestURI() != "/signin" || why != userapi.SignInLinkExpired ||
			thief.kept() != nil {
			t.Errorf("a link again leads to %s, with the error %q", to, why)
		}
	}
	refused(path)
	refused("/signin/link?code=")
	refused("/signin/link?code=..%2F..%2Fkubeconfig")
	late, err := signinlink.New(folder, who.token)
	must(t, err)
	for _, f := range second0(os.ReadDir(folder)) {
		must(t, os.Chtimes(filepath.Join(folder, f.Name()), time.Time{}, time.Now().Add(-11*time.Minute)))
	}
	refused(late)
	if p.log.line("audit: signed in", "method=Link", "by="+user) == "" ||
		p.log.line("audit: not signed in", "method=Link") == "" {
		t.Error("links are not in the audit")
	}
	for _, to := range []string{"https://evil.example", "//evil.example", "///evil.example", "/\\evil.example", "evil",
		"/\tx", ""} {
		path, err := signinlink.New(folder, who.token)
		must(t, err)
		if got := b.goes(path + "&to=" + strings.ReplaceAll(strings.ReplaceAll(to, "\\", "%5C"), "\t",
			"%09")); got.RequestURI() != "/" || got.Host != strings.TrimPrefix(p.base, "https://") {
			t.Errorf("%q leads to %s", to, got)
		}
	}
}

func second0[A any](a A, _ error) A { return a }

// On this machine alone a page may do without TLS. Its cookie is of its port, and the other one counts nothing there.
func TestWebListener(t *testing.T) {
	e := newEnv(t)
	user, who := e.account("alice")
	serve := func(url string) (*userServer, *browser) {
		p := e.serveSite(func(o *server.Options) { o.SignIn.URL = url })
		web := httptest.NewServer(p.WebHandler(webhook.Repositories{Log: p.Options.Log}.Handler()))
		t.Cleanup(web.Close)
		b := p.browser()
		at := *p
		at.base = web.URL
		b.userServer = &at
		return p, b
	}
	_, b := serve("http://127.0.0.1:7777")
	c := b.want(204, "", "POST", "/api/v1/session", userapi.Session{Token: who.token}).Cookies()[0]
	if c.Name != "cairn-7777" || c.Secure || !c.HttpOnly {
		t.Errorf("the cookie is %v", c)
	}
	b.want(200, user, "GET", me, nil)
	// Behind what has a certificate for it, a browser sends it over TLS alone.
	_, b = serve("https://cairn.example.com")
	if c := b.want(204, "", "POST", "/api/v1/session", userapi.Session{Token: who.token}).Cookies()[0]; c.Name !=
		"__Host-cairn" || !c.Secure {
		t.Errorf("the cookie is %v", c)
	}
	// Runners are not served there, nor is the page in the place of what is not there.
	for _, route := range []string{"GET /v1/order", "GET /v1/state", "POST /v1/steps", "GET /api/v1/nothing",
		"GET /signin/nothing", "DELETE /api/v1/me"} {
		method, path, _ := strings.Cut(route, " ")
		b.want(404, "there is no "+path, method, path, nil)
	}
	b.want(404, "", "POST", "/hooks/github/x/y", nil)
	b.want(405, "", "POST", "/sync", nil) // no hook of metacontroller
	b.want(204, "", "GET", "/healthz", nil)
	if got := b.do("GET", "/stacks", nil); strings.Contains(got.Header.Get("Content-Type"), "problem") {
		t.Errorf("the page is %s", got.body)
	}
}
