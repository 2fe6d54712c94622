// Package auth authenticates pods and users, and authorizes users with the roles of Kubernetes.
package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/server/httpapi"
)

// User is the user of a request, as Kubernetes authenticates them. What they are allowed is checked for each request.
type User struct {
	user.Info
	// Real is the user that impersonates; nil without impersonation.
	Real user.Info
	// by is how they are known.
	Method string
	// token that they showed, if one: what they write is written with it.
	Token string
}

// String names the user, and whom they impersonate.
func (p User) String() string {
	switch {
	case p.Info == nil:
		return ""
	case p.Real == nil:
		return p.GetName()
	}
	return fmt.Sprintf("%s as %s", p.Real.GetName(), p.GetName())
}

// ClientCA returns what a client certificate is verified with; false as long as it is not known.
type ClientCA func() (x509.VerifyOptions, bool)

// UserAuthenticator authenticates users by what the API server accepts too: a client certificate of the cluster's CA,
// or a bearer token for the API server; and by sessions of browsers. The token of a runner is for another audience, and
// rejected.
type UserAuthenticator struct {
	authority ClientCA
	token     authenticator.Request
	// sessions are of those who are signed in with a browser; nil for none.
	Sessions *sessions
	// review of a token.
	review *tokenReview
	// provider that users sign in at, and folder of links that sign in once; nil and empty where there is none.
	Provider *identityProvider
	Links    string
	// authorizer decides who may impersonate whom.
	authorizer *Authorizer
}

func newUserAuthenticator(c client.Client, authority ClientCA, authorizer *Authorizer) *UserAuthenticator {
	review := &tokenReview{
		client: c, marker: newMarker(),
		known:    expirable.NewLRU[mark, *authenticator.Response](knownTokens, nil, knowFor),
		rejected: expirable.NewLRU[mark, struct{}](rejectedTokens, nil, knowFor),
		limit:    newFailureLimit(time.Now),
	}
	return &UserAuthenticator{authority: authority, token: bearertoken.New(review), review: review,
		authorizer: authorizer}
}

// of authenticates the sender of a request. A certificate that is not the cluster's is ignored where there is a token,
// for the one may be for what is on the way. Who signed in with a browser is known by that, and not by a certificate
// that it shows too.
func (p *UserAuthenticator) of(r *http.Request) (User, error) {
	r = r.WithContext(WithSource(r))
	shown := r.Header.Get("Authorization") // it is taken off the request
	var ended error
	if p.Sessions != nil && shown == "" {
		in, ok, err := p.Sessions.Of(r)
		var no *httpapi.Error
		if ok || err != nil && !errors.As(err, &no) {
			return in, err
		}
		ended = err
	}
	holder, certificate := p.holder(r)
	if holder != nil {
		who := known(holder)
		who.Method = MethodCertificate
		return who, nil
	}
	if len(shown) > MaxToken {
		return User{}, httpapi.Errorf(http.StatusUnauthorized, "the token is longer than any of Kubernetes")
	}
	answer, ok, err := p.token.AuthenticateRequest(r)
	var away *awayError
	switch {
	case ok:
		who := known(answer.User)
		who.Method, who.Token = MethodToken, strings.Fields(shown)[1]
		return who, nil
	case errors.As(err, &away):
		return User{}, err
	case err != nil:
		return User{}, httpapi.Errorf(http.StatusUnauthorized,
			"the token is not one that Kubernetes takes: it has expired, or is for something else")
	case ended != nil:
		return User{}, ended
	case certificate != nil:
		return User{}, certificate
	}
	return User{}, httpapi.Errorf(http.StatusUnauthorized,
		"who asks? Show the bearer token or the client certificate that you use with Kubernetes")
}

// Revalidate returns an error when the token of a user is no longer valid.
func (p *UserAuthenticator) Revalidate(ctx context.Context, who User) error {
	if who.Token == "" {
		return nil
	}
	_, ok, err := p.review.AuthenticateToken(ctx, who.Token)
	if err == nil && !ok {
		return httpapi.Errorf(http.StatusUnauthorized, "the token is good no longer")
	}
	return err
}

// holder is who a client certificate is of, in the API server's reading of it: the common name is the user, the
// organizations are the groups. TLS verified that the client has the key of the certificate.
func (p *UserAuthenticator) holder(r *http.Request) (user.Info, error) {
	if p.authority == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	options, ok := p.authority()
	if !ok {
		return nil, httpapi.Errorf(http.StatusServiceUnavailable,
			"client certificates cannot be checked right now: ConfigMap %s of "+
				"kube-system, which has the CA, was not read yet or has no %s", clientCAName, clientCAKey)
	}
	certificate := r.TLS.PeerCertificates[0]
	options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	options.Intermediates = x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := certificate.Verify(options); err != nil || certificate.Subject.CommonName == "" {
		return nil, httpapi.Errorf(http.StatusUnauthorized,
			"the client certificate is not one that Kubernetes takes: it has expired, is of "+
				"another authority, or is not for clients")
	}
	return &user.DefaultInfo{Name: certificate.Subject.CommonName, Groups: certificate.Subject.Organization}, nil
}

// known is a user with the group that everybody has who is known.
func known(u user.Info) User {
	groups := u.GetGroups()
	if !slices.Contains(groups, user.AllAuthenticated) {
		groups = append(slices.Clone(groups), user.AllAuthenticated)
	}
	return User{Info: &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: groups, Extra: u.GetExtra()}}
}

// tokenReview asks the API server whose a token is. It names no audience, so it has to be one for the API server.
type tokenReview struct {
	client client.Client
	marker marker
	known  *expirable.LRU[mark, *authenticator.Response]
	// rejected are tokens that are not valid.
	rejected *expirable.LRU[mark, struct{}]
	limit    *failureLimit
}

// awayError means that the API server did not answer.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// AuthenticateToken returns the user of a token.
func (t *tokenReview) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	sum := t.marker.of(token)
	if answer, ok := t.known.Get(sum); ok {
		return answer, true, nil
	}
	if _, ok := t.rejected.Get(sum); ok {
		return nil, false, nil
	}
	if !t.limit.begin(ctx) {
		return nil, false, &awayError{errTooManyFailures}
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	err := t.client.Create(ctx, review)
	if err != nil || review.Status.Authenticated {
		t.limit.valid(ctx)
	}
	if apierrors.IsForbidden(err) {
		return nil, false, &awayError{httpapi.Errorf(http.StatusNotImplemented,
			"this Cairn is installed without the permission to ask Kubernetes "+
				"whose a token is (create on tokenreviews): show a client certificate, or have its account bound to "+
				"that ClusterRole")}
	}
	if err != nil {
		return nil, false, &awayError{fmt.Errorf("review a token: %w", err)}
	}
	u := review.Status.User
	if !review.Status.Authenticated || u.Username == "" {
		t.rejected.Add(sum, struct{}{})
		return nil, false, nil
	}
	extra := map[string][]string{}
	for key, values := range u.Extra {
		extra[key] = values
	}
	answer := &authenticator.Response{User: &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups,
		Extra: extra}}
	t.known.Add(sum, answer)
	return answer, true, nil
}

// Authenticate returns the user who sends a request, or the one that they are allowed to impersonate.
func (p *UserAuthenticator) Authenticate(r *http.Request) (User, error) {
	if !showsToken(r) { // what a browser shows by itself, it shows for other sites too
		if err := p.Sessions.CheckOrigin(r); err != nil {
			return User{}, err
		}
	}
	real, err := p.of(r)
	if err != nil {
		return User{}, err
	}
	user, needs, err := impersonated(real, r.Header)
	if err != nil {
		return real, err
	}
	for _, n := range needs {
		if err := p.authorizer.Authorize(r.Context(), real, n); err != nil {
			return real, err
		}
	}
	return user, nil
}

// showsToken returns true if a request has a bearer token, which no other site can have a browser send. A password it
// can: of a URL that has one.
func showsToken(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// AuthenticateEngine is Authenticate for the engine of a user. The http backend of older engines sends a password and
// nothing else: it is the bearer token of the user, and the name beside it does not matter.
func (p *UserAuthenticator) AuthenticateEngine(r *http.Request) (User, error) {
	if _, token, ok := r.BasicAuth(); ok {
		// Unlike a bearer token, a browser sends a password by itself.
		if err := p.Sessions.CheckOrigin(r); err != nil {
			return User{}, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return p.Authenticate(r)
}

// UserOptions are the options of a UserAuthenticator.
type UserOptions struct {
	// Client reviews tokens.
	Client client.Client
	// ClientCA is what client certificates are checked with; nil takes none.
	ClientCA ClientCA
	// Authorizer decides who may impersonate whom.
	Authorizer *Authorizer
	// SignIn configures how users sign in with a browser, and DeriveKey returns the keys of 32 bytes that seal their
	// sessions.
	SignIn    SignIn
	DeriveKey func(purpose string) ([]byte, error)
	// Now is the clock.
	Now func() time.Time
}

// NewUserAuthenticator creates a UserAuthenticator, with its sessions and identity provider.
func NewUserAuthenticator(o UserOptions) (*UserAuthenticator, error) {
	p := newUserAuthenticator(o.Client, o.ClientCA, o.Authorizer)
	var err error
	if p.Sessions, err = newSessions(o.SignIn, o.DeriveKey, p.review, o.Now); err != nil {
		return nil, err
	}
	p.Links = o.SignIn.Links
	if o.SignIn.OIDC != nil {
		p.Provider, err = newProvider(*o.SignIn.OIDC, o.DeriveKey, p.Sessions.site.String()+CallbackPath, o.Now)
	}
	return p, err
}
