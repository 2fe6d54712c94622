package userhandler

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/base/signinlink"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// Where browsers sign in.
const (
	signInPage = "/signin"
	oidcPath   = "/signin/oidc"
)

// failureLifetime is how long the sign-in page shows why a sign-in failed, in seconds.
const failureLifetime = 60

// addSessions adds how users sign in and out, for programs.
func (s *API) addSessions(mux router) {
	mux.Handle("GET /api/v1/signin", s.handleUnauthenticated(s.showSignIn))
	mux.Handle("POST /api/v1/session", s.handleUnauthenticated(s.beginSession))
	mux.Handle("DELETE /api/v1/session", s.handleUnauthenticated(s.endSession))
}

// addSignIn adds what browsers are sent to.
func (s *API) addSignIn(mux router) {
	if s.Users.Provider != nil {
		mux.Handle("GET "+oidcPath, s.redirect(auth.MethodOIDC, s.toProvider))
		mux.Handle("GET "+auth.CallbackPath, s.redirect(auth.MethodOIDC, s.fromProvider))
	}
	if s.Users.Links != "" {
		mux.Handle("GET "+signinlink.Path, s.redirect(auth.MethodLink, s.fromLink))
	}
}

// showSignIn responds with how users can sign in, and why the last sign-in of this browser failed.
func (s *API) showSignIn(w http.ResponseWriter, r *http.Request) error {
	methods := []userapi.SignInMethod{}
	if p := s.Users.Provider; p != nil {
		methods = append(methods, userapi.SignInMethod{Type: userapi.SignInOIDC, Name: p.Label(), URL: oidcPath})
	}
	methods = append(methods, userapi.SignInMethod{Type: userapi.SignInToken})
	return httpapi.WriteJSON(w, http.StatusOK, userapi.SignIn{Methods: methods, Failure: s.signInFailure(r)})
}

// beginSession signs a user in with a token.
func (s *API) beginSession(w http.ResponseWriter, r *http.Request) error {
	if err := s.Users.Sessions.CheckOrigin(r); err != nil {
		return err
	}
	var sent userapi.Session
	if err := s.sentJSON(w, r, &sent); err != nil {
		return err
	}
	if err := s.startSession(w, r, auth.MethodToken, auth.Session{Token: strings.TrimSpace(sent.Token)}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// startSession sets the session of the browser, if Kubernetes authenticates its user.
func (s *API) startSession(w http.ResponseWriter, r *http.Request, by string, in auth.Session) error {
	p, err := s.known(auth.WithSource(r), in)
	var cookie *http.Cookie
	if err == nil {
		cookie, err = s.Users.Sessions.Start(r, in)
	}
	s.noteSignIn(r, by, p, err)
	if err == nil {
		http.SetCookie(w, cookie)
		http.SetCookie(w, s.Users.Sessions.Clear(r, auth.SignInErrorCookie))
	}
	return err
}

func (s *API) known(ctx context.Context, in auth.Session) (auth.User, error) {
	if in.Token == "" && in.Provider == "" || len(in.Token) > auth.MaxToken {
		return auth.User{}, httpapi.Errorf(http.StatusUnauthorized, "send the token that you use with Kubernetes")
	}
	return s.Users.Sessions.User(ctx, in)
}

// endSession signs a user out.
func (s *API) endSession(w http.ResponseWriter, r *http.Request) error {
	if err := s.Users.Sessions.CheckOrigin(r); err != nil {
		return err
	}
	if p, ok, err := s.Users.Sessions.Of(r); ok && err == nil {
		s.Log.With(traced(r)...).Info("audit: signed out", "by", p.GetName(), "method", p.Method)
	}
	http.SetCookie(w, s.Users.Sessions.Clear(r, auth.SessionCookie))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// noteSignIn logs who signed in, or why the sign-in failed.
func (s *API) noteSignIn(r *http.Request, by string, p auth.User, err error) {
	log := s.Log.With(traced(r)...).With("by", p.String(), "method", by)
	if err != nil {
		s.Metrics.SignIn(by, "denied")
		log.Warn("audit: not signed in", "error", err)
		return
	}
	s.Metrics.SignIn(by, "success")
	log.Info("audit: signed in")
}

// signInFailed returns a cookie with why a sign-in failed. It is not in the address of the sign-in page, where any link
// could set it.
func (s *API) signInFailed(r *http.Request, why userapi.SignInFailure) *http.Cookie {
	c := s.Users.Sessions.Cookie(r, auth.SignInErrorCookie) //nolint:gosec // see there
	c.Value, c.MaxAge = string(why), failureLifetime
	return c
}

// signInFailure returns why the sign-in of a browser failed; empty if none did.
func (s *API) signInFailure(r *http.Request) userapi.SignInFailure {
	c, err := r.Cookie(s.Users.Sessions.Cookie(r, auth.SignInErrorCookie).Name)
	if err != nil || !slices.Contains(userapi.SignInFailures, userapi.SignInFailure(c.Value)) {
		return ""
	}
	return userapi.SignInFailure(c.Value)
}

// redirect sends a browser to the path that a handler returns, or to the page that shows its error.
func (s *API) redirect(by string, h func(http.ResponseWriter, *http.Request) (string, error)) http.Handler {
	return s.handle(httpapi.ShortTimeout, func(w http.ResponseWriter, r *http.Request) (auth.User, error) {
		if r.Method != http.MethodGet { // HEAD, of programs that preview links
			w.WriteHeader(http.StatusNoContent)
			return auth.User{}, nil
		}
		to, err := h(w, r)
		if err != nil {
			var no *httpapi.Error
			if !errors.As(err, &no) { // startSession has noted those
				s.noteSignIn(r, by, auth.User{}, err)
			}
			http.SetCookie(w, s.signInFailed(r, auth.WhySignInFailed(err)))
			to = signInPage
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
		return auth.User{}, nil
	})
}

// toProvider sends a browser to the identity provider.
func (s *API) toProvider(w http.ResponseWriter, r *http.Request) (string, error) {
	address, kept, err := s.Users.Provider.BeginSignIn(r.Context(), localPath(r.URL.Query().Get("to")))
	if err != nil {
		return "", err
	}
	c := s.Users.Sessions.Cookie(r, auth.SignInCookie) //nolint:gosec // see there
	c.Value, c.MaxAge = kept, int(auth.SignInTimeout.Seconds())
	c.SameSite = http.SameSiteLaxMode // it has to come along when the provider sends the browser back
	http.SetCookie(w, c)
	return address, nil
}

// fromProvider signs in who comes back from the identity provider.
func (s *API) fromProvider(w http.ResponseWriter, r *http.Request) (string, error) {
	c, err := r.Cookie(s.Users.Sessions.Cookie(r, auth.SignInCookie).Name)
	if err != nil {
		return "", auth.ErrSignInExpired
	}
	http.SetCookie(w, s.Users.Sessions.Clear(r, auth.SignInCookie))
	in, to, err := s.Users.Provider.FinishSignIn(r.Context(), c.Value, r.URL.Query())
	if err != nil {
		return "", err
	}
	return to, s.startSession(w, r, auth.MethodOIDC, in)
}

// fromLink signs in who has a link, once. No other site can open one: its user could be another one than who then acts.
func (s *API) fromLink(w http.ResponseWriter, r *http.Request) (string, error) {
	if !sameSite(r) {
		return "", auth.ErrSignInOtherSite
	}
	token, err := signinlink.Take(s.Users.Links, r.URL.Query().Get("code"), s.Now())
	if err != nil {
		return "", err
	}
	return localPath(r.URL.Query().Get("to")), s.startSession(w, r, auth.MethodLink, auth.Session{Token: token})
}

// sameSite reports whether a user or this site opened a page. Programs and old browsers do not report it.
func sameSite(r *http.Request) bool {
	return slices.Contains([]string{"", "none", "same-origin"}, r.Header.Get("Sec-Fetch-Site"))
}

// localPath is a path of this site; / for anything else, which may lead away from it.
func localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\t\r\n") {
		return "/"
	}
	return to
}
