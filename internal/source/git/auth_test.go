package git

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/source/git/credentials"
	"cairn.dev/cairn/test/gitserver"
)

func appKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func TestSecretKeysOfFluxAreRead(t *testing.T) {
	identity, _, err := gitserver.NewIdentity("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	hosts := "# a comment\nexample.org ssh-ed25519 " +
		"AAAAC3NzaC1lZDI1NTE5AAAAIGi0UdOYSVNWZdcZJUMPMGL3fGUsb0Ei4yRQWWn45Kqx\n"
	key := string(appKey(t))
	const https, ssh = "https://example.org/x", "git@example.org:x"
	type keys = map[string]string
	for _, c := range []struct {
		name, url string
		data      keys
		want      Auth
		says      string
	}{
		{"nothing for HTTPS is anonymous", https, nil, Auth{}, ""},
		{"username and password", https, keys{"username": "a", "password": "b\n"}, Auth{Username: "a", Password: "b"},
			""},
		{"a token", https, keys{"bearerToken": "b"}, Auth{BearerToken: "b"}, ""},
		{"a token for git and for the API", https, keys{"username": "a", "password": "t", "token": "t"},
			Auth{Username: "a", Password: "t"}, ""},
		{"an authority", https, keys{"ca.crt": ca}, Auth{CA: []byte(ca)}, ""},
		{"an authority by its older key", https, keys{"caFile": ca}, Auth{CA: []byte(ca)}, ""},
		{"an app", https, keys{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": key,
			"githubAppBaseURL": "https://ghe.example.org/api/v3"},
			Auth{GitHubApp: &credentials.GitHubApp{ID: 1, InstallationID: 2, PrivateKey: []byte(key),
				BaseURL: "https://ghe.example.org/api/v3"}}, ""},
		{"SSH", ssh, keys{"identity": string(identity), "known_hosts": hosts},
			Auth{Identity: identity, KnownHosts: []byte(hosts)}, ""},

		{"an unknown key", https, keys{"bearerToken": "b", "tokens": "x"}, Auth{},
			`a key "tokens", which Cairn does not know`},
		{"a password alone", https, keys{"password": "b"}, Auth{}, "no key username"},
		{"a username alone", https, keys{"username": "a"}, Auth{}, "no key password"},
		{"a token and a password", https, keys{"bearerToken": "b", "username": "a", "password": "b"}, Auth{},
			"a key username: it has no use beside bearerToken"},
		{"a password and an app", https, keys{"username": "a", "password": "b", "githubAppID": "1"}, Auth{},
			"a key githubAppID"},
		{"an app without its key", https, keys{"githubAppID": "1", "githubAppInstallationID": "2"}, Auth{},
			"no key githubAppPrivateKey"},
		{"an app with a name for a number", https, keys{"githubAppID": "x", "githubAppInstallationID": "2",
			"githubAppPrivateKey": key}, Auth{}, "githubAppID is no number"},
		{"an app with a key that is none", https, keys{"githubAppID": "1", "githubAppInstallationID": "2",
			"githubAppPrivateKey": canary}, Auth{}, "githubAppPrivateKey is no private key"},
		{"an app at no URL", https, keys{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": key,
			"githubAppBaseURL": "ssh://x"}, Auth{}, "githubAppBaseURL"},
		{"an identity for HTTPS", https, keys{"identity": string(identity)}, Auth{}, "a key identity"},
		{"a line break in a password", https, keys{"username": "a", "password": "b\nX-Header: c"}, Auth{},
			"password has a line break"},
		{"a colon in a username", https, keys{"username": "a:b", "password": "b"}, Auth{}, "colon"},
		{"an authority that is none", https, keys{"ca.crt": "x"}, Auth{}, "ca.crt has no certificate"},
		{"nothing for SSH", ssh, nil, Auth{}, "no key identity"},
		{"SSH without known hosts", ssh, keys{"identity": string(identity)}, Auth{}, "no key known_hosts"},
		{"SSH with known hosts that are none", ssh, keys{"identity": string(identity), "known_hosts": "example.org"},
			Auth{}, "known_hosts has no host key"},
		{"SSH with an identity that is none", ssh, keys{"identity": canary, "known_hosts": hosts}, Auth{},
			"identity is no private key"},
		{"SSH with a token", ssh, keys{"identity": string(identity), "known_hosts": hosts, "bearerToken": "x"}, Auth{},
			"a key bearerToken"},
		{"SSH with a username", ssh, keys{"identity": string(identity), "known_hosts": hosts, "username": "x"}, Auth{},
			"a key username"},
		{"a URL that is none", "ext::id", nil, Auth{}, "the URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := map[string][]byte{}
			for k, v := range c.data {
				data[k] = []byte(v)
			}
			got, err := ParseAuth(c.url, data)
			if c.says != "" {
				fails(t, err, ErrConfig, c.says)
				if strings.Contains(err.Error(), canary) {
					t.Errorf("the credential is in %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGitHubAppTokenIsCachedUntilShortlyBeforeItExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.http.RequireBasic("x-access-token", "ghs_1")
	var asked atomic.Int32
	lasts, status := time.Hour, http.StatusCreated
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/api/v3/app/installations/7/access_tokens" ||
			!strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			t.Errorf("asked for %s as %q", r.URL, r.Header.Get("Authorization"))
		}
		rw.WriteHeader(status)
		json.NewEncoder(rw).Encode(map[string]any{"token": "ghs_1", "expires_at": time.Now().Add(lasts)})
	}))
	defer api.Close()
	remote := f.remote()
	remote.Auth.GitHubApp = &credentials.GitHubApp{ID: 3, InstallationID: 7, PrivateKey: appKey(t),
		BaseURL: api.URL + "/api/v3"}
	fetch := func() error { return f.m.Fetch(t.Context(), remote, FetchOptions{}) }

	f.must(fetch())
	f.must(fetch())
	f.at("main", id)
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	f.http.RequireBasic("x-access-token", "ghs_2") // as if it were revoked
	fails(t, fetch(), ErrAuthentication, "correct them")
	f.http.RequireBasic("x-access-token", "ghs_1")
	lasts = 30 * time.Second
	f.must(fetch())
	f.must(fetch())
	if n := asked.Load(); n != 3 { // after the failure, and because the one after it ends soon
		t.Errorf("asked %d times", n)
	}
	status = http.StatusUnauthorized
	fails(t, fetch(), ErrAuthentication, "it answers 401")
	status = http.StatusBadGateway
	fails(t, fetch(), ErrUnreachable, "it answers 502")
	api.Close()
	fails(t, fetch(), ErrUnreachable, "GitHub's API")
}
