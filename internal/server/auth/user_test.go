package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/internal/server/httpapi"
)

// clientOf is a client certificate of an authority, changed.
func clientOf(t *testing.T, a *testCA, change func(*x509.Certificate)) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "alice", Organization: []string{"ops", "devs"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// testCA is an authority that client certificates are of.
type testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newTestCA(t *testing.T) *testCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "CA " + serial.String()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, MaxPathLenZero: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &testCA{cert, key}
}

// reviewing is an API server that knows some tokens, or none at all when it is away.
func reviewing(tokens map[string]string, asked *int) client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			*asked++
			review := o.(*authenticationv1.TokenReview)
			if tokens == nil {
				return errors.New("no answer")
			}
			if len(review.Spec.Audiences) > 0 {
				return errors.New("a user's token is not for an audience of ours")
			}
			name, ok := tokens[review.Spec.Token]
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok, User: authenticationv1.UserInfo{
				Username: name, Groups: []string{"tokens"},
				Extra: map[string]authenticationv1.ExtraValue{"scopes": {"all"}},
			}}
			return nil
		},
	})
}

func code(err error) int {
	if err == nil {
		return 0
	}
	code, _ := httpapi.StatusOf(err)
	return code
}

func TestUserAuthentication(t *testing.T) {
	ours, others := newTestCA(t), newTestCA(t)
	good := clientOf(t, ours, func(*x509.Certificate) {})
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	loaded := func() (x509.VerifyOptions, bool) { return x509.VerifyOptions{Roots: pool}, true }
	missing := func() (x509.VerifyOptions, bool) { return x509.VerifyOptions{}, false }
	tokens := map[string]string{"bob's": "bob", "unknown": ""}
	tests := map[string]struct {
		authority   ClientCA
		certificate *x509.Certificate
		token       string
		away        bool
		want        string
		code        int
	}{
		"a certificate of the cluster": {authority: loaded, certificate: good, want: "alice"},
		"a certificate goes before a token": {authority: loaded, certificate: good, token: "bob's",
			want: "alice"},
		"one of another authority": {authority: loaded,
			certificate: clientOf(t, others, func(*x509.Certificate) {}), code: 401},
		"one that has expired": {authority: loaded, certificate: clientOf(t, ours, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		}), code: 401},
		"one that is for servers": {authority: loaded, certificate: clientOf(t, ours, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), code: 401},
		"one that is for nothing in particular": {authority: loaded,
			certificate: clientOf(t, ours, func(c *x509.Certificate) {
				c.ExtKeyUsage = nil
			}), want: "alice"},
		"one without a name": {authority: loaded, certificate: clientOf(t, ours, func(c *x509.Certificate) {
			c.Subject.CommonName = ""
		}), code: 401},
		"a certificate before the authority is known": {authority: missing, certificate: good, code: 503},
		"a certificate where none is taken":           {certificate: good, code: 401},
		"a token":                                     {authority: loaded, token: "bob's", want: "bob"},
		"a token beside a certificate that is not ours": {authority: loaded,
			certificate: clientOf(t, others, func(*x509.Certificate) {}), token: "bob's", want: "bob"},
		"a token before the authority is known": {authority: missing, certificate: good, token: "bob's", want: "bob"},
		"a token that is not known":             {authority: loaded, token: "x", code: 401},
		"an unknown token":                      {authority: loaded, token: "unknown", code: 401},
		"a token too long":                      {authority: loaded, token: strings.Repeat("x", MaxToken), code: 401},
		"a token while the API server is away":  {authority: loaded, token: "bob's", away: true, code: 503},
		"nothing":                               {authority: loaded, code: 401},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			asked, known := 0, tokens
			if test.away {
				known = nil
			}
			p := newUserAuthenticator(reviewing(known, &asked), test.authority, nil)
			for range 2 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				r.TLS = &tls.ConnectionState{}
				if test.certificate != nil {
					r.TLS.PeerCertificates = []*x509.Certificate{test.certificate}
				}
				if test.token != "" {
					r.Header.Set("Authorization", "Bearer "+test.token)
				}
				got, err := p.of(r)
				if code(err) != test.code || got.String() != test.want {
					t.Fatalf("got %q, %v", got, err)
				}
				if err != nil {
					continue
				}
				groups := map[string][]string{"alice": {"ops", "devs", user.AllAuthenticated},
					"bob": {"tokens", user.AllAuthenticated}}[test.want]
				if diff := cmp.Diff(groups, got.GetGroups()); diff != "" {
					t.Error(diff)
				}
			}
			if test.want == "bob" && asked != 1 {
				t.Errorf("a token that is known was reviewed %d times", asked)
			}
			if test.code == 401 && test.token != "" && len(test.token) < MaxToken && asked != 1 {
				t.Errorf("an unknown token was reviewed %d times", asked)
			}
			if test.away && asked != 2 {
				t.Errorf("that the API server is away was remembered: asked %d times", asked)
			}
		})
	}
}

// A browser shows a certificate by itself, and a password too; a program says nothing of sites.
func TestCrossSiteRequestWithACertificateIsRejected(t *testing.T) {
	a := newTestCA(t)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	p := newUserAuthenticator(nil, func() (x509.VerifyOptions, bool) {
		return x509.VerifyOptions{Roots: pool}, true
	}, nil)
	p.Sessions = &sessions{guard: http.NewCrossOriginProtection()}
	good := clientOf(t, a, func(*x509.Certificate) {})
	for shown, test := range map[string]struct {
		site string
		code int
	}{
		"Basic eDp5":    {"cross-site", 403},
		"Negotiate eDp": {"cross-site", 403},
		"Bearerx y":     {"cross-site", 403},
		"basic eDp5":    {"", 0}, // curl --user
		"bearer bob's":  {"cross-site", 0},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{good}}
		r.Header.Set("Authorization", shown)
		r.Header.Set("Sec-Fetch-Site", test.site)
		if got, err := p.Authenticate(r); code(err) != test.code || (err == nil) != (got.String() == "alice") {
			t.Errorf("%s from %q: %s, %v", shown, test.site, got, err)
		}
	}
}

func TestCertificatesOfAnIntermediate(t *testing.T) {
	root := newTestCA(t)
	middle := newTestCA(t)
	template := *middle.cert
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	// The root of newTestCA allows no intermediate certificate.
	rootTemplate := *root.cert
	rootTemplate.MaxPathLen, rootTemplate.MaxPathLenZero = 1, false
	der, err := x509.CreateCertificate(rand.Reader, &rootTemplate, &rootTemplate, root.key.Public(), root.key)
	if err != nil {
		t.Fatal(err)
	}
	if root.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if der, err = x509.CreateCertificate(rand.Reader, &template, root.cert, middle.key.Public(), root.key); err != nil {
		t.Fatal(err)
	}
	if middle.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	p := newUserAuthenticator(nil, func() (x509.VerifyOptions, bool) {
		return x509.VerifyOptions{Roots: pool}, true
	}, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{clientOf(t, middle, func(*x509.Certificate) {}),
		middle.cert}}
	if got, err := p.of(r); err != nil || got.GetName() != "alice" {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestImpersonatedUser(t *testing.T) {
	real := known(&user.DefaultInfo{Name: "helpdesk"})
	tests := map[string]struct {
		headers http.Header
		name    string
		groups  []string
		needs   []string
		code    int
	}{
		"no other user": {http.Header{"Accept": {"*/*"}}, "helpdesk", []string{user.AllAuthenticated}, nil, 0},
		"a user": {http.Header{"Impersonate-User": {"alice"}}, "alice", []string{user.AllAuthenticated},
			[]string{"users alice"}, 0},
		"a user of groups": {http.Header{"Impersonate-User": {"alice"}, "Impersonate-Group": {"a", "b"}}, "alice",
			[]string{"a", "b", user.AllAuthenticated}, []string{"users alice", "groups a", "groups b"}, 0},
		"a service account": {http.Header{"Impersonate-User": {"system:serviceaccount:web:ci"}},
			"system:serviceaccount:web:ci", []string{"system:serviceaccounts", "system:serviceaccounts:web",
				user.AllAuthenticated}, []string{"serviceaccounts web/ci"}, 0},
		"nobody": {http.Header{"Impersonate-User": {user.Anonymous}}, user.Anonymous,
			[]string{user.AllUnauthenticated}, []string{"users " + user.Anonymous}, 0},
		"a UID and extras": {http.Header{"Impersonate-User": {"alice"}, "Impersonate-Uid": {"u"},
			"Impersonate-Extra-Acme.com%2fscopes": {"x"}}, "alice", []string{user.AllAuthenticated},
			[]string{"users alice", "uids u", "userextras/acme.com/scopes x"}, 0},
		"a group alone":  {headers: http.Header{"Impersonate-Group": {"a"}}, code: 400},
		"an extra alone": {headers: http.Header{"Impersonate-Extra-Scopes": {"a"}}, code: 400},
		"two users":      {headers: http.Header{"Impersonate-User": {"alice", "bob"}}, code: 400},
		"no name":        {headers: http.Header{"Impersonate-User": {""}}, code: 400},
		"an unknown header": {headers: http.Header{"Impersonate-User": {"alice"}, "Impersonate-Role": {"a"}},
			code: 400},
		"far too much": {headers: http.Header{"Impersonate-User": {"alice"},
			"Impersonate-Group": make([]string, mostImpersonated)}, code: 400},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			as, needs, err := impersonated(real, test.headers)
			if code(err) != test.code {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				return
			}
			var got []string
			for _, n := range needs {
				resource := n.Resource
				if n.Subresource != "" {
					resource += "/" + n.Subresource
				}
				if n.Namespace != "" {
					n.Name = n.Namespace + "/" + n.Name
				}
				if n.Verb != "impersonate" {
					t.Errorf("verb %q", n.Verb)
				}
				got = append(got, resource+" "+n.Name)
			}
			groups := slices.Clone(as.GetGroups())
			if diff := cmp.Diff(test.needs, got) + cmp.Diff(test.groups, groups); diff != "" ||
				as.GetName() != test.name || (as.Real != nil) != (len(needs) > 0) {
				t.Errorf("as %s: %s", as, diff)
			}
		})
	}
}
