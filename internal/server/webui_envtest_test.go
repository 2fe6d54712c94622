//go:build envtest

package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/webui"
	"cairn.dev/cairn/internal/userapi"
)

// TestBrowserOfTheCommandUIIsTheUser opens the link of `cairn ui` in a browser: the real server authenticates the user
// whose credentials the command has, allows what the user may, and streams changes.
func TestBrowserOfTheCommandUIIsTheUser(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	user, who := e.account("alice")
	to, err := url.Parse(p.base)
	must(t, err)
	local := httptest.NewUnstartedServer(nil)
	proxy := webui.NewProxy(local.Listener.Addr().String(), to, p.transport(who), func(err error) error { return err })
	local.Config.Handler = proxy
	local.Start()
	t.Cleanup(local.Close)
	jar, err := cookiejar.New(nil)
	must(t, err)
	browser := &http.Client{Jar: jar}
	send := func(method, path, body string, change ...func(http.Header)) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, local.URL+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		for _, c := range change {
			c(r.Header)
		}
		answer, err := browser.Do(r)
		must(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	read := func(answer *http.Response) string {
		t.Helper()
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		return string(text)
	}
	if answer := send(http.MethodGet, "/api/v1/me", ""); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the link: %d %s", answer.StatusCode, read(answer))
	}
	link, err := url.Parse(proxy.Link("/stacks", true))
	must(t, err)
	if answer := send(http.MethodGet, link.RequestURI(), ""); answer.StatusCode != http.StatusOK ||
		answer.Request.URL.Path != "/stacks" ||
		!strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the link leads to %s: %d %s", answer.Request.URL, answer.StatusCode, read(answer))
	}
	var me userapi.Me
	must(t, json.Unmarshal([]byte(read(send(http.MethodGet, "/api/v1/me", ""))), &me))
	if me.Name != user {
		t.Errorf("the browser is %s, want %s", me.Name, user)
	}
	var build userapi.Build
	must(t, json.Unmarshal([]byte(read(send(http.MethodGet, "/api/v1/version", ""))), &build))
	if build.Version != version.Version {
		t.Errorf("the server has the version %q", build.Version)
	}

	stream := send(http.MethodGet, "/api/v1/changes", "", func(h http.Header) { h.Set("Accept", "text/event-stream") })
	if first, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || strings.TrimSpace(first) == "" {
		t.Errorf("the stream begins with %q (%v)", first, err)
	}

	const suspend = "/stacks/shown/suspend"
	path := "/api/v1/namespaces/" + e.namespace + suspend
	e.newStack("shown")
	e.allow(user, rbacv1.PolicyRule{APIGroups: []string{"cairn.dev"}, Resources: []string{"stacks"},
		Verbs: []string{"get", "patch", "update"}})
	var own *http.Response
	p.eventually(func() bool { // the role takes effect
		own = send(http.MethodPost, path, "", func(h http.Header) {
			h.Set("Origin", local.URL)
			h.Set("Sec-Fetch-Site", "same-origin")
		})
		return own.StatusCode != http.StatusForbidden
	})
	if own.StatusCode != http.StatusOK {
		t.Errorf("a write of the page: %d %s", own.StatusCode, read(own))
	}
	other := send(http.MethodPost, path, "", func(h http.Header) {
		h.Set("Origin", "http://evil.example.com")
		h.Set("Sec-Fetch-Site", "cross-site")
	})
	if text := read(other); other.StatusCode != http.StatusForbidden || !strings.Contains(text, "another site") {
		t.Errorf("a write of another site: %d %s", other.StatusCode, text)
	}
}
