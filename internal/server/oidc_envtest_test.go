//go:build envtest

package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	rbacv1 "k8s.io/api/rbac/v1"

	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/userapi"
)

// An identity is an identity provider with one client, Cairn. Everybody who comes is signed in as its claims say.
type identity struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex
	// claims that an ID token gets beside those that it needs, or in their place.
	claims map[string]any
	// key that tokens are signed with.
	key *ecdsa.PrivateKey
	// codes that were given out, with what each is for.
	codes map[string]url.Values
	away  bool
}

const clientSecret = "a-secret-of-the-client"

func newIdentity(t *testing.T) *identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	i := &identity{t: t, key: key, claims: map[string]any{}, codes: map[string]url.Values{}}
	about := &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: oidc.ES256}},
		Algorithms: []string{oidc.ES256}}
	mux := http.NewServeMux()
	mux.Handle("/", about)
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.away {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	about.SetIssuer(i.URL)
	return i
}

// visit does what a browser does there: it sends the parameters that Cairn set, and returns with a code.
func (i *identity) visit(asked *url.URL) url.Values {
	i.t.Helper()
	query := asked.Query()
	if query.Get("client_id") != "cairn" ||
		query.Get("redirect_uri") != "https://cairn.example.com/signin/oidc/callback" ||
		query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" ||
		len(query.Get("nonce")) < 20 ||
		len(query.Get("state")) < 20 || query.Get("scope") != "openid groups" {
		i.t.Fatalf("Cairn asks with %v", query)
	}
	code := rand.Text()
	i.codes[code] = query
	return url.Values{"code": {code}, "state": {query.Get("state")}}
}

func (i *identity) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, why string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":%q,"error_description":"what must not be shown"}`, why)
	}
	asked, ok := i.codes[r.FormValue("code")]
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	switch {
	case id != "cairn" || secret != clientSecret:
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	case !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
		r.FormValue("redirect_uri") != asked.Get("redirect_uri"):
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	delete(i.codes, r.FormValue("code"))
	claims := map[string]any{
		"iss": i.URL, "aud": "cairn", "sub": "42", "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(),
		"nonce": asked.Get("nonce"),
		"name":  "alice", "groups": []string{"ops"},
	}
	for name, v := range i.claims {
		claims[name] = v
	}
	text, _ := json.Marshal(claims)
	_ = json.NewEncoder(w).Encode(map[string]string{
		"access_token": "x", "token_type": "Bearer", "id_token": oidctest.SignIDToken(i.key, "one", oidc.ES256,
			string(text)),
	})
}

// signsIn lets users sign in with the provider, as NAME with the groups of their claims.
func (i *identity) signsIn(o *server.Options) {
	dir := i.t.TempDir()
	ca, secret := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "secret")
	must(i.t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw}), 0o600))
	must(i.t, os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600))
	o.SignIn.URL = "https://cairn.example.com"
	o.SignIn.OIDC = &auth.OIDC{
		Issuer: i.URL, ClientID: "cairn", SecretFile: secret, CAFile: ca, Name: "Test", Scopes: []string{"groups"},
		Claims: auth.Claims{Username: "name", UsernamePrefix: "oidc:", Groups: "groups", GroupsPrefix: "oidc:"},
	}
}

// through goes to the provider and back, and gives where that leads.
func (b *browser) through(i *identity, to string) *url.URL {
	b.Helper()
	back := i.visit(b.goes("/signin/oidc?to=" + url.QueryEscape(to)))
	return b.goes("/signin/oidc/callback?" + back.Encode())
}

func TestSignInWithAnIdentityProvider(t *testing.T) {
	e := newEnv(t)
	i := newIdentity(t)
	p := e.serveSite(i.signsIn)
	b := p.browser()
	b.want(200, `{"type":"OIDC","name":"Test","url":"/signin/oidc"},{"type":"Token"}`, "GET", "/api/v1/signin", nil)
	if to := b.through(i, "/stacks?q=net"); to.RequestURI() != "/stacks?q=net" {
		t.Fatalf("it leads to %s", to)
	}
	b.want(200, `{"name":"oidc:alice","groups":["oidc:ops","system:authenticated"]}`, "GET", me, nil)
	if p.log.line("audit: signed in", "method=OIDC", "by=oidc:alice") == "" {
		t.Error("who signed in is not in the audit")
	}
	e.newRun(e.stack, "net-1")
	cancel := "/api/v1/namespaces/" + e.namespace + "/runs/net-1/cancel"
	b.want(403, "oidc:alice may not cancel runs", "POST", cancel, nil)
	// It is not the server who writes, and may: it is alice.
	e.allow("oidc:alice", may("cancel", "runs"))
	p.eventually(func() bool { return !strings.Contains(b.do("POST", cancel, nil).body, "may not cancel") })
	b.want(403, "oidc:alice\\\" cannot patch resource", "POST", cancel, nil)
	e.allow("oidc:alice", may("patch", "runs"))
	p.eventually(func() bool { return b.do("POST", cancel, nil).StatusCode == 200 })
	b.want(200, `"canceledBy":"oidc:alice"`, "POST", cancel, nil)
	b.sends = http.Header{"Impersonate-User": {"bob"}}
	b.want(403, "may not impersonate users", "POST", cancel, nil)
	e.allowEverywhere("oidc:alice", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"},
		Verbs: []string{"impersonate"}, ResourceNames: []string{"bob"}})
	e.allow("bob", mayAll)
	e.newRun(e.stack, "net-2")
	cancel = "/api/v1/namespaces/" + e.namespace + "/runs/net-2/cancel"
	p.eventually(func() bool { return b.do("POST", cancel, nil).StatusCode != 403 })
	b.want(501, "cannot impersonate here", "POST", cancel, nil)
}

func TestResponsesOfAnIdentityProviderAreVerified(t *testing.T) {
	e := newEnv(t)
	i := newIdentity(t)
	p := e.serveSite(i.signsIn)
	refused := func(t *testing.T, b *browser, to *url.URL, want userapi.SignInFailure) {
		t.Helper()
		if why := b.signInFailure(); to.RequestURI() != "/signin" || why != want || b.kept() != nil {
			t.Errorf("it leads to %s, with the failure %q; want %q", to, why, want)
		}
	}
	for name, test := range map[string]struct {
		claims map[string]any
		want   userapi.SignInFailure
	}{
		"for another audience": {map[string]any{"aud": "other"}, userapi.SignInProviderError},
		"of another issuer":    {map[string]any{"iss": "https://evil.example"}, userapi.SignInProviderError},
		"of another sign-in":   {map[string]any{"nonce": "another"}, userapi.SignInExpired},
		"of no sign-in":        {map[string]any{"nonce": ""}, userapi.SignInExpired},
		"that is over": {map[string]any{"exp": time.Now().Add(-time.Hour).Unix()},
			userapi.SignInProviderError},
		"without a name": {map[string]any{"name": ""}, userapi.SignInIdentityRejected},
		"with more than it keeps": {
			map[string]any{"groups": strings.Fields(strings.Repeat("a-group-with-a-name ", 300))},
			userapi.SignInTooLarge},
		"with groups that are odd": {map[string]any{"groups": 7}, userapi.SignInIdentityRejected},
	} {
		t.Run(name, func(t *testing.T) {
			i.claims = test.claims
			defer func() { i.claims = map[string]any{} }()
			b := p.browser()
			refused(t, b, b.through(i, "/"), test.want)
		})
	}
	t.Run("with a name of Kubernetes' own", func(t *testing.T) {
		bare := e.serveSite(i.signsIn, func(o *server.Options) { o.SignIn.OIDC.Claims.GroupsPrefix = "" })
		i.claims = map[string]any{"groups": []string{"system:masters"}}
		defer func() { i.claims = map[string]any{} }()
		b := bare.browser()
		refused(t, b, b.through(i, "/"), userapi.SignInIdentityRejected)
	})
	t.Run("signed with another key", func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		own := i.key
		i.key = key
		defer func() { i.key = own }()
		b := p.browser()
		refused(t, b, b.through(i, "/"), userapi.SignInProviderError)
	})
	t.Run("with the state of another", func(t *testing.T) {
		b := p.browser()
		back := i.visit(b.goes("/signin/oidc"))
		back.Set("state", "another")
		refused(t, b, b.goes("/signin/oidc/callback?"+back.Encode()), userapi.SignInExpired)
	})
	t.Run("in another browser", func(t *testing.T) {
		back := i.visit(p.browser().goes("/signin/oidc"))
		b := p.browser()
		refused(t, b, b.goes("/signin/oidc/callback?"+back.Encode()), userapi.SignInExpired)
		b.goes("/signin/oidc") // begins another one
		refused(t, b, b.goes("/signin/oidc/callback?"+back.Encode()), userapi.SignInExpired)
	})
	t.Run("twice", func(t *testing.T) {
		b := p.browser()
		back := i.visit(b.goes("/signin/oidc"))
		at, err := url.Parse(b.base)
		must(t, err)
		kept := b.http.Jar.Cookies(at)
		b.goes("/signin/oidc/callback?" + back.Encode())
		again := p.browser()
		again.http.Jar.SetCookies(at, kept) // as a thief who has stolen them
		again.sends = http.Header{"Cookie": {kept[0].Name + "=" + kept[0].Value}}
		refused(t, again, again.goes("/signin/oidc/callback?"+back.Encode()), userapi.SignInProviderError)
		if left := b.http.Jar.Cookies(at); len(left) != 1 || left[0].Name != "__Host-cairn" {
			t.Errorf("the cookies are %v", left)
		}
	})
	t.Run("with a code of another", func(t *testing.T) { // which a thief has put in: PKCE
		thief, b := p.browser(), p.browser()
		stolen := i.visit(thief.goes("/signin/oidc"))
		back := i.visit(b.goes("/signin/oidc"))
		back.Set("code", stolen.Get("code"))
		refused(t, b, b.goes("/signin/oidc/callback?"+back.Encode()), userapi.SignInProviderError)
	})
	t.Run("refused there", func(t *testing.T) {
		b := p.browser()
		back := i.visit(b.goes("/signin/oidc"))
		refused(t, b, b.goes("/signin/oidc/callback?error=access_denied&state="+back.Get("state")),
			userapi.SignInProviderDenied)
	})
	t.Run("while it is away", func(t *testing.T) {
		other := e.serveSite(i.signsIn)
		i.away = true
		b := other.browser()
		refused(t, b, b.goes("/signin/oidc"), userapi.SignInProviderError)
		i.away = false
		if to := b.through(i, "//evil.example"); to.RequestURI() != "/" ||
			to.Host != strings.TrimPrefix(b.base, "https://") {
			t.Errorf("it leads to %s", to)
		}
	})
	if p.log.line("audit: not signed in", "method=OIDC", "invalid_grant") == "" ||
		p.log.line("must not be shown") != "" || p.log.line(clientSecret) != "" {
		t.Error("the audit does not say who was refused, or too much")
	}
}
