package server

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
)

// person is who a request is from, as Kubernetes knows them. What they may do is asked for each request.
type person struct {
	user.Info
	// Real is who asks as somebody else; nil when nobody does.
	Real user.Info
	// by is how they are known.
	by string
	// token that they showed, if one: what they write is written with it.
	token string
}

// String names the person, and for whom they ask.
func (p person) String() string {
	switch {
	case p.Info == nil:
		return ""
	case p.Real == nil:
		return p.GetName()
	}
	return fmt.Sprintf("%s as %s", p.Real.GetName(), p.GetName())
}

// ClientCA gives what a client certificate is checked with; false as long as it is not known.
type ClientCA func() (x509.VerifyOptions, bool)

// persons finds out who sends a request, by what the API server takes too: a client certificate of the cluster's
// authority, or a bearer token, which has to be for the API server. A runner's is for the store, and nobody's here.
type persons struct {
	authority ClientCA
	token     authenticator.Request
	// sessions are of those who are signed in with a browser; nil for none.
	sessions *sessions
	// review of a token.
	review *tokenReview
	// provider that users sign in at, and folder of links that sign in once; nil and empty where there is none.
	provider *identityProvider
	links    string
	// authorizer says who may impersonate whom.
	authorizer *authorizer
}

func newPersons(c client.Client, authority ClientCA, authorizer *authorizer) *persons {
	review := &tokenReview{
		client: c, marker: newMarker(),
		known:   expirable.NewLRU[mark, *authenticator.Response](knownTokens, nil, knowFor),
		refused: expirable.NewLRU[mark, struct{}](refusedTokens, nil, knowFor),
	}
	return &persons{authority: authority, token: bearertoken.New(review), review: review, authorizer: authorizer}
}

// of tells who sends a request. A certificate that is not the cluster's is no hindrance where there is a token, for the
// one may be for what is on the way. Who signed in with a browser is known by that, and not by a certificate that it shows too.
func (p *persons) of(r *http.Request) (person, error) {
	shown := r.Header.Get("Authorization") // it is taken off the request
	var ended error
	if p.sessions != nil && shown == "" {
		in, ok, err := p.sessions.of(r)
		var no *refusal
		if ok || err != nil && !errors.As(err, &no) {
			return in, err
		}
		ended = err
	}
	holder, certificate := p.holder(r)
	if holder != nil {
		who := known(holder)
		who.by = byCertificate
		return who, nil
	}
	if len(shown) > longestToken {
		return person{}, refusef(http.StatusUnauthorized, "the token is longer than any of Kubernetes")
	}
	answer, ok, err := p.token.AuthenticateRequest(r)
	var away *awayError
	switch {
	case ok:
		who := known(answer.User)
		who.by, who.token = byToken, strings.Fields(shown)[1]
		return who, nil
	case errors.As(err, &away):
		return person{}, err
	case err != nil:
		return person{}, refusef(http.StatusUnauthorized, "the token is not one that Kubernetes takes: it has expired, or is for something else")
	case ended != nil:
		return person{}, ended
	case certificate != nil:
		return person{}, certificate
	}
	return person{}, refusef(http.StatusUnauthorized, "who asks? Show the bearer token or the client certificate that you use with Kubernetes")
}

// stillKnown refuses a person whose token is good no longer.
func (p *persons) stillKnown(ctx context.Context, who person) error {
	if who.token == "" {
		return nil
	}
	_, ok, err := p.review.AuthenticateToken(ctx, who.token)
	if err == nil && !ok {
		return refusef(http.StatusUnauthorized, "the token is good no longer")
	}
	return err
}

// holder is who a client certificate is of, in the API server's reading of it: the common name is the user, the
// organizations are the groups. That the client has the key of the certificate TLS made sure of.
func (p *persons) holder(r *http.Request) (user.Info, error) {
	if p.authority == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	options, ok := p.authority()
	if !ok {
		return nil, refusef(http.StatusServiceUnavailable, "client certificates cannot be checked right now: ConfigMap %s of "+
			"kube-system, which says what with, was not read yet or has no %s", clientCAName, clientCAKey)
	}
	certificate := r.TLS.PeerCertificates[0]
	options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	options.Intermediates = x509.NewCertPool()
	for _, c := range r.TLS.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := certificate.Verify(options); err != nil || certificate.Subject.CommonName == "" {
		return nil, refusef(http.StatusUnauthorized, "the client certificate is not one that Kubernetes takes: it has expired, is of "+
			"another authority, or is not for clients")
	}
	return &user.DefaultInfo{Name: certificate.Subject.CommonName, Groups: certificate.Subject.Organization}, nil
}

// known is a user with the group that everybody has who is known.
func known(u user.Info) person {
	groups := u.GetGroups()
	if !slices.Contains(groups, user.AllAuthenticated) {
		groups = append(slices.Clone(groups), user.AllAuthenticated)
	}
	return person{Info: &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: groups, Extra: u.GetExtra()}}
}

// tokenReview asks the API server whose a token is. It names no audience, so it has to be one for the API server.
type tokenReview struct {
	client client.Client
	marker marker
	known  *expirable.LRU[mark, *authenticator.Response]
	// refused are tokens that are nobody's.
	refused *expirable.LRU[mark, struct{}]
}

// awayError says that the API server did not tell.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// AuthenticateToken tells whose a token is.
func (t *tokenReview) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	sum := t.marker.of(token)
	if answer, ok := t.known.Get(sum); ok {
		return answer, true, nil
	}
	if _, ok := t.refused.Get(sum); ok {
		return nil, false, nil
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	err := t.client.Create(ctx, review)
	if apierrors.IsForbidden(err) {
		return nil, false, &awayError{refusef(http.StatusNotImplemented, "this Cairn is installed without the permission to ask Kubernetes "+
			"whose a token is (create on tokenreviews): show a client certificate, or have its account bound to that ClusterRole")}
	}
	if err != nil {
		return nil, false, &awayError{fmt.Errorf("review a token: %w", err)}
	}
	u := review.Status.User
	if !review.Status.Authenticated || u.Username == "" {
		t.refused.Add(sum, struct{}{})
		return nil, false, nil
	}
	extra := map[string][]string{}
	for key, values := range u.Extra {
		extra[key] = values
	}
	answer := &authenticator.Response{User: &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra}}
	t.known.Add(sum, answer)
	return answer, true, nil
}

// identify tells who sends a request, or for whom, if they may.
func (p *persons) identify(r *http.Request) (person, error) {
	if !showsToken(r) { // what a browser shows by itself, it shows for other sites too
		if err := p.sessions.ownSite(r); err != nil {
			return person{}, err
		}
	}
	real, err := p.of(r)
	if err != nil {
		return person{}, err
	}
	user, needs, err := impersonated(real, r.Header)
	if err != nil {
		return real, err
	}
	for _, n := range needs {
		if err := p.authorizer.may(r.Context(), real, n); err != nil {
			return real, err
		}
	}
	return user, nil
}

// showsToken says that a request has a bearer token, which no site but ours has a browser send. A password it may: of a URL that has one.
func showsToken(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// identifyEngine is identify for the engine of a user. An http backend shows a password and knows no other way in older engines:
// it is the bearer token of the user, and the name beside it does not matter.
func (p *persons) identifyEngine(r *http.Request) (person, error) {
	if _, token, ok := r.BasicAuth(); ok {
		// Unlike a bearer token, a browser sends a password by itself.
		if err := p.sessions.ownSite(r); err != nil {
			return person{}, err
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return p.identify(r)
}

// UsersOptions say how users are known.
type UsersOptions struct {
	// Client reviews tokens.
	Client client.Client
	// ClientCA is what client certificates are checked with; nil takes none.
	ClientCA ClientCA
	// Authorizer says who may impersonate whom.
	Authorizer *authorizer
	// SignIn says how users sign in with a browser, and DeriveKey gives the keys of 32 bytes that seal their sessions.
	SignIn    SignIn
	DeriveKey func(purpose string) ([]byte, error)
	// Now is the clock.
	Now func() time.Time
}

func newUsers(o UsersOptions) (*persons, error) {
	p := newPersons(o.Client, o.ClientCA, o.Authorizer)
	var err error
	if p.sessions, err = newSessions(o.SignIn, o.DeriveKey, p.review, o.Now); err != nil {
		return nil, err
	}
	p.links = o.SignIn.Links
	if o.SignIn.OIDC != nil {
		p.provider, err = newProvider(*o.SignIn.OIDC, o.DeriveKey, p.sessions.site.String()+callbackPath, o.Now)
	}
	return p, err
}
