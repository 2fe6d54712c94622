package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"cairn.dev/cairn/internal/userapi"
)

const (
	// SignInTimeout is how long a user may take to sign in at the identity provider.
	SignInTimeout = 10 * time.Minute
	// providerTime is how long the identity provider may take to answer.
	providerTime = 10 * time.Second
	// CallbackPath is where the identity provider redirects users to.
	CallbackPath = "/signin/oidc/callback"
)

// OIDC is an identity provider, and what it knows Cairn as.
type OIDC struct {
	// Issuer is its URL.
	Issuer string
	// ClientID is Cairn's, which ID tokens have to be for.
	ClientID string
	// SecretFile has the client's secret, and is read each time; empty for a client without one.
	SecretFile string
	// CAFile has the authorities of its certificate; empty for those of the system.
	CAFile string
	// Name that users see; the issuer's host when it is empty.
	Name string
	// Scopes that are asked for beside openid.
	Scopes []string
	Claims Claims
}

// name is what a session remembers of it.
func (o *OIDC) name() string { return o.Issuer + " " + o.ClientID }

// Label returns the provider's name for users.
func (o *OIDC) Label() string {
	if o.Name != "" {
		return o.Name
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" {
		return "OIDC"
	}
	return u.Host
}

// signingIn is what a browser keeps while its user is at the identity provider.
type signingIn struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	To       string `json:"to"`
}

// identityProvider signs users in by the authorization code flow with PKCE.
type identityProvider struct {
	OIDC
	sealer
	redirect string
	web      *http.Client

	asking singleflight.Group
	known  atomic.Pointer[oidc.Provider]
}

func newProvider(o OIDC, derive func(purpose string) ([]byte, error), redirect string,
	now func() time.Time) (*identityProvider, error) {
	if u, err := url.Parse(o.Issuer); err != nil || u.Scheme != "https" || u.Host == "" || o.ClientID == "" {
		return nil, fmt.Errorf("the identity provider %q with client %q: an issuer URL with https and a client ID "+
			"are needed (--oidc-issuer-url, --oidc-client-id)", o.Issuer, o.ClientID)
	}
	seal, err := newSealer(derive, purposeSignIn, now)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("authorities of the identity provider: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("authorities of the identity provider: there is no certificate in %s", o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &identityProvider{OIDC: o, sealer: seal, redirect: redirect,
		web: &http.Client{Transport: transport, Timeout: providerTime}}, nil
}

// discovered is the provider as it describes itself, which is asked once it answers.
func (p *identityProvider) discovered(ctx context.Context) (*oidc.Provider, error) {
	if known := p.known.Load(); known != nil {
		return known, nil
	}
	known, err, _ := p.asking.Do("", func() (any, error) {
		return oidc.NewProvider(context.WithoutCancel(ctx), p.Issuer)
	})
	if err != nil {
		return nil, failure(userapi.SignInProviderError, "the identity provider %s does not publish how to sign in: %w",
			p.Label(), err)
	}
	p.known.Store(known.(*oidc.Provider))
	return known.(*oidc.Provider), nil
}

func (p *identityProvider) client(known *oidc.Provider) (oauth2.Config, error) {
	c := oauth2.Config{
		ClientID: p.ClientID, Endpoint: known.Endpoint(), RedirectURL: p.redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}
	if p.SecretFile == "" {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
		return c, nil
	}
	secret, err := os.ReadFile(p.SecretFile)
	if err != nil {
		return c, fmt.Errorf("the secret of client %s: %w", p.ClientID, err)
	}
	c.ClientSecret = strings.TrimSpace(string(secret))
	return c, nil
}

// BeginSignIn returns the URL to redirect a browser to, and the content of the cookie that the browser keeps meanwhile.
func (p *identityProvider) BeginSignIn(ctx context.Context, to string) (address, kept string, err error) {
	ctx = oidc.ClientContext(ctx, p.web)
	known, err := p.discovered(ctx)
	if err != nil {
		return "", "", err
	}
	client, err := p.client(known)
	if err != nil {
		return "", "", err
	}
	in := signingIn{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to}
	kept, err = p.seal(in, p.now().Add(SignInTimeout))
	return client.AuthCodeURL(in.State, oidc.Nonce(in.Nonce), oauth2.S256ChallengeOption(in.Verifier)), kept, err
}

// FinishSignIn returns the session of a user who came back from the identity provider, and the path to redirect to.
func (p *identityProvider) FinishSignIn(ctx context.Context, kept string, query url.Values) (Session, string, error) {
	var in signingIn
	if err := p.open(kept, &in); err != nil {
		return Session{}, "", ErrSignInExpired
	}
	if subtle.ConstantTimeCompare([]byte(in.State), []byte(query.Get("state"))) != 1 {
		return Session{}, "", failure(userapi.SignInExpired, "this is the end of another sign-in")
	}
	if code := query.Get("error"); code != "" {
		return Session{}, "", failure(userapi.SignInProviderDenied,
			"the identity provider %s did not sign the user in: %.100q", p.Label(), code)
	}
	ctx = oidc.ClientContext(ctx, p.web)
	known, err := p.discovered(ctx)
	if err != nil {
		return Session{}, "", err
	}
	client, err := p.client(known)
	if err != nil {
		return Session{}, "", err
	}
	token, err := client.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(in.Verifier))
	var no *oauth2.RetrieveError
	switch {
	case errors.As(err, &no): // its body may have anything in it
		return Session{}, "", failure(userapi.SignInProviderError,
			"the identity provider %s rejects the sign-in: %.100q (%d)",
			p.Label(), no.ErrorCode, no.Response.StatusCode)
	case err != nil:
		return Session{}, "", failure(userapi.SignInProviderError, "the identity provider %s does not respond: %w",
			p.Label(), err)
	}
	text, _ := token.Extra("id_token").(string)
	id, err := known.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.now}).Verify(ctx, text)
	if err != nil {
		return Session{}, "", failure(userapi.SignInProviderError, "the ID token of %s is not valid: %w",
			p.Label(), err)
	}
	if subtle.ConstantTimeCompare([]byte(in.Nonce), []byte(id.Nonce)) != 1 {
		return Session{}, "", failure(userapi.SignInExpired, "the ID token of %s is of another sign-in", p.Label())
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return Session{}, "", failure(userapi.SignInProviderError, "the ID token of %s cannot be read: %w",
			p.Label(), err)
	}
	name, groups, err := p.Claims.identity(id.Issuer, claims)
	if err != nil {
		return Session{}, "", failure(userapi.SignInIdentityRejected, "%w", err)
	}
	return Session{Name: name, Groups: groups, Provider: p.name()}, in.To, nil
}

// The prefix of names that are Kubernetes' own, and of no user of an identity provider.
const ownNames = "system:"

// Claims select the claims of an ID token that are the name and the groups of a user, with the meaning of the
// kube-apiserver's flags of these names.
type Claims struct {
	// Username is the claim with the name; sub when it is empty.
	Username string
	// UsernamePrefix is put before it. Empty is the issuer and #, and nothing where the claim is email; "-" is nothing.
	UsernamePrefix string
	// Groups is the claim with the groups, a text or a list of them; empty for none.
	Groups string
	// GroupsPrefix is put before each.
	GroupsPrefix string
}

// identity returns the name and groups of the user with these claims.
func (c Claims) identity(issuer string, claims map[string]any) (name string, groups []string, err error) {
	claim := c.Username
	if claim == "" {
		claim = "sub"
	}
	name, _ = claims[claim].(string)
	if name == "" {
		return "", nil, fmt.Errorf("the identity provider does not name you: its token has no claim %q", claim)
	}
	if verified, there := claims["email_verified"]; claim == "email" && there && verified != true {
		return "", nil, fmt.Errorf("the identity provider has not verified the address %s: verify it there", name)
	}
	switch {
	case c.UsernamePrefix == "-", c.UsernamePrefix == "" && claim == "email":
	case c.UsernamePrefix == "":
		name = issuer + "#" + name
	default:
		name = c.UsernamePrefix + name
	}
	if groups, err = c.groups(claims); err != nil {
		return "", nil, err
	}
	for _, own := range append([]string{name}, groups...) {
		if strings.HasPrefix(own, ownNames) {
			return "", nil, fmt.Errorf("the identity provider calls you %.100q, and names that begin with %s are "+
				"Kubernetes' own: set a prefix (--oidc-username-prefix, --oidc-groups-prefix)", own, ownNames)
		}
	}
	return name, groups, nil
}

func (c Claims) groups(claims map[string]any) (groups []string, err error) {
	if c.Groups == "" {
		return nil, nil
	}
	switch said := claims[c.Groups].(type) {
	case nil:
	case string:
		groups = append(groups, c.GroupsPrefix+said)
	case []any:
		for _, one := range said {
			group, ok := one.(string)
			if !ok {
				return nil, fmt.Errorf("the identity provider's claim %q is no list of names", c.Groups)
			}
			groups = append(groups, c.GroupsPrefix+group)
		}
	default:
		return nil, fmt.Errorf("the identity provider's claim %q is no list of names", c.Groups)
	}
	return groups, nil
}
