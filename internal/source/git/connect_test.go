package git

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/base/egress"
)

// A repository that was renamed, and a URL without .git, are redirected within their server.
func TestRedirectWithinTheServerIsFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.http.RequireBasic("alice", canary)
	behind, err := url.Parse(f.http.URL)
	f.must(err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	var redirects int
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/old"); ok {
			redirects++
			http.Redirect(rw, r, f.repo.Path()+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	defer front.Close()
	remote := Remote{URL: front.URL + "/old", Auth: Auth{Username: "alice", Password: canary}}
	f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
	f.at("main", id)
	asked := redirects
	id = f.commit(map[string]string{"main.tf": "b"})
	f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
	f.at("main", id)
	if redirects != asked {
		t.Errorf("the second fetch asked the old URL %d times", redirects-asked)
	}
}

func TestRedirectTargetIsChecked(t *testing.T) {
	parse := func(raw string) remoteURL {
		r, err := parseRemote(raw)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		from, to string
		follows  bool
	}{
		{"https://git.example.org/x", "https://git.example.org/y", true},
		{"https://git.example.org/x", "https://GIT.example.org.:443/y", true},
		{"http://git.example.org/x", "https://git.example.org/x", true},
		{"https://git.example.org/x", "http://git.example.org/x", false},
		{"https://git.example.org/x", "https://git.example.org:8443/x", false},
		{"http://git.example.org:8080/x", "https://git.example.org/x", false},
		{"https://git.example.org/x", "https://www.git.example.org/x", false},
	} {
		if got := parse(c.from).leadsTo(parse(c.to)); got != c.follows {
			t.Errorf("%s to %s: %v", c.from, c.to, got)
		}
	}
}

func TestGitConnectsToTheCheckedAddresses(t *testing.T) {
	at, err := parseRemote("https://Git.example.org./x")
	if err != nil {
		t.Fatal(err)
	}
	got := at.pin(egress.Route{Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1"),
		netip.MustParseAddr("2001:db8::1")}})
	want := []setting{{"http.proxy", ""}, {"http.curloptResolve", "git.example.org:443:192.0.2.1,[2001:db8::1]"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(setting{})); diff != "" {
		t.Error(diff)
	}
	proxy := &url.URL{Scheme: "http", Host: "proxy.example.org:3128"}
	if diff := cmp.Diff([]setting{{"http.proxy", "http://proxy.example.org:3128"}}, at.pin(egress.Route{Proxy: proxy}),
		cmp.AllowUnexported(setting{})); diff != "" {
		t.Error(diff)
	}
}
