package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// SignIn configures how users sign in with a browser.
type SignIn struct {
	// URL is where browsers find the page; empty for that of Public. Only that of this machine may do without https.
	URL string
	// Lifetime is how long a user stays signed in; 0 means 12 h.
	Lifetime time.Duration
	// OIDC is an identity provider; nil for none.
	OIDC *OIDC
	// Links is the folder of links that sign in once; empty for none.
	Links string
}

// longestSession is how long a user stays signed in by default.
const longestSession = 12 * time.Hour

// Ways in which a user was authenticated, as audit lines name them.
const (
	MethodCertificate = "Certificate"
	MethodToken       = "Token"
	MethodOIDC        = "OIDC"
	MethodLink        = "Link"
)

// Session is the content of the cookie of a user who is signed in with a browser: a token, which is reviewed each time,
// or the user that the identity provider named.
type Session struct {
	Token  string   `json:"token,omitempty"`
	Name   string   `json:"name,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Provider is the one that named them.
	Provider string `json:"provider,omitempty"`
}

// sessions authenticate users by the cookie that they received when they signed in.
type sessions struct {
	sealer
	// site is where the page is.
	site *url.URL
	// lifetime of a session.
	lifetime time.Duration
	// provider that users may have been named by; empty for none.
	provider string
	// guard rejects requests that another site has a browser send.
	guard *http.CrossOriginProtection
	token authenticator.Token
}

func newSessions(o SignIn, derive func(purpose string) ([]byte, error), token authenticator.Token,
	now func() time.Time) (*sessions, error) {
	site, err := siteOf(o)
	if err != nil {
		return nil, err
	}
	seal, err := newSealer(derive, purposeSession, now)
	if err != nil {
		return nil, err
	}
	s := &sessions{sealer: seal, site: site, lifetime: o.Lifetime, guard: http.NewCrossOriginProtection(), token: token}
	if s.lifetime <= 0 {
		s.lifetime = longestSession
	}
	if o.OIDC != nil {
		s.provider = o.OIDC.name()
	}
	if site.Host != "" {
		err = s.guard.AddTrustedOrigin(site.Scheme + "://" + site.Host)
	}
	return s, err
}

// siteOf is where browsers find the page.
func siteOf(o SignIn) (*url.URL, error) {
	site, err := url.Parse(strings.TrimSuffix(o.URL, "/"))
	if err != nil {
		return nil, fmt.Errorf("the page's URL: %w", err)
	}
	here := slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, site.Hostname())
	switch {
	case o.URL == "" && o.OIDC == nil:
		return site, nil
	case site.Host == "" || site.RawQuery != "" || site.User != nil ||
		site.Scheme != "https" && (site.Scheme != "http" || !here):
		return nil, fmt.Errorf("the page's URL %q: it has to be https and a host, as in https://cairn.example.com",
			o.URL)
	}
	return site, nil
}

// secure is true when a browser reaches the server over TLS: the server's own, or that of a proxy in front of it.
func (s *sessions) secure(r *http.Request) bool { return r.TLS != nil || s.site.Scheme != "http" }

// Cookie returns an empty cookie of a name. Over TLS no other host or path can set it. Without TLS, on this machine,
// the port is part of its name.
func (s *sessions) Cookie(r *http.Request, name string) *http.Cookie {
	//nolint:gosec // it has all of them; but for TLS, where there is none
	c := &http.Cookie{Name: "__Host-" + name, Path: "/", HttpOnly: true, Secure: true,
		SameSite: http.SameSiteStrictMode}
	if !s.secure(r) {
		c.Name, c.Secure = name+"-"+s.site.Port(), false
	}
	return c
}

// CheckOrigin rejects a write that the page of another site had the browser send.
func (s *sessions) CheckOrigin(r *http.Request) error {
	if err := s.guard.Check(r); err != nil {
		return httpapi.Errorf(http.StatusForbidden, "the page of another site had your browser send this, and "+
			"nothing was done")
	}
	return nil
}

// Names of cookies.
const (
	SessionCookie     = "cairn"
	SignInCookie      = "cairn-signin"
	SignInErrorCookie = "cairn-signin-error"
)

// Start returns the cookie of a new session.
func (s *sessions) Start(r *http.Request, in Session) (*http.Cookie, error) {
	until := s.now().Add(s.lifetime)
	if ends := tokenEnds(in.Token); !ends.IsZero() && ends.Before(until) {
		until = ends
	}
	c := s.Cookie(r, SessionCookie) //nolint:gosec // see there
	text, err := s.seal(in, until)
	if err != nil {
		return nil, err
	}
	switch {
	case len(text) > mostCookie && in.Token != "":
		return nil, failure(userapi.SignInTooLarge, "%w",
			httpapi.Errorf(http.StatusBadRequest, "the token has %d characters, which is more "+
				"than a browser stores: sign in with one of a ServiceAccount (kubectl create token NAME)",
				len(in.Token)))
	case len(text) > mostCookie:
		return nil, failure(userapi.SignInTooLarge, "%w",
			httpapi.Errorf(http.StatusBadRequest, "you are in %d groups, which are more than a "+
				"browser stores: configure the identity provider to send Cairn fewer", len(in.Groups)))
	}
	c.Value, c.MaxAge = text, int(until.Sub(s.now())/time.Second)
	return c, nil
}

// Clear returns a cookie that deletes the one of a name.
func (s *sessions) Clear(r *http.Request, name string) *http.Cookie {
	c := s.Cookie(r, name) //nolint:gosec // see there
	c.MaxAge = -1
	return c
}

// Of returns the user of the session of a request; false when there is none.
func (s *sessions) Of(r *http.Request) (User, bool, error) {
	c, err := r.Cookie(s.Cookie(r, SessionCookie).Name)
	if err != nil {
		return User{}, false, nil
	}
	var in Session
	if err := s.open(c.Value, &in); err != nil || in.Provider != "" && in.Provider != s.provider {
		return User{}, false, httpapi.Errorf(http.StatusUnauthorized, "your session is over: sign in again")
	}
	p, err := s.User(r.Context(), in)
	return p, err == nil, err
}

// User returns the user of a session.
func (s *sessions) User(ctx context.Context, in Session) (User, error) {
	if in.Token == "" {
		p := known(&user.DefaultInfo{Name: in.Name, Groups: in.Groups})
		p.Method = MethodOIDC
		return p, nil
	}
	answer, ok, err := s.token.AuthenticateToken(ctx, in.Token)
	var away *awayError
	switch {
	case errors.As(err, &away):
		return User{}, err
	case err != nil || !ok:
		return User{}, httpapi.Errorf(http.StatusUnauthorized,
			"the token is not one that Kubernetes takes: it has expired, or is for something else")
	}
	p := known(answer.User)
	p.Method, p.Token = MethodToken, in.Token
	return p, nil
}

// tokenEnds is when a token expires by its own claim; zero when it has none. Kubernetes decides whether it is valid.
func tokenEnds(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var says struct {
		Expires float64 `json:"exp"`
	}
	if json.Unmarshal(data, &says) != nil || says.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(says.Expires), 0)
}
