package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"cairn.dev/cairn/internal/people"
)

// Where browsers sign in.
const (
	signInPage = "/signin"
	oidcPath   = "/signin/oidc"
)

// longestReason is how much of an error is in the address of the page that shows it.
const longestReason = 500

// addSessions adds how people sign in and out, for programs.
func (s *userAPI) addSessions(mux router) {
	mux.Handle("GET /api/v1/signin", s.answerNobody(s.showSignIn))
	mux.Handle("POST /api/v1/session", s.answerNobody(s.beginSession))
	mux.Handle("DELETE /api/v1/session", s.answerNobody(s.endSession))
}

// addSignIn adds what browsers are sent to.
func (s *userAPI) addSignIn(mux router) {
	if s.Users.provider != nil {
		mux.Handle("GET "+oidcPath, s.goOn(byOIDC, s.toProvider))
		mux.Handle("GET "+callbackPath, s.goOn(byOIDC, s.fromProvider))
	}
	if s.Users.links != "" {
		mux.Handle("GET "+linkPath, s.goOn(byLink, s.fromLink))
	}
}

// showSignIn says how people sign in.
func (s *userAPI) showSignIn(w http.ResponseWriter, _ *http.Request) error {
	methods := []people.SignInMethod{}
	if p := s.Users.provider; p != nil {
		methods = append(methods, people.SignInMethod{Type: people.SignInOIDC, Name: p.label(), URL: oidcPath})
	}
	return writeJSON(w, http.StatusOK, people.SignIn{Methods: append(methods, people.SignInMethod{Type: people.SignInToken})})
}

// beginSession signs somebody in with a token.
func (s *userAPI) beginSession(w http.ResponseWriter, r *http.Request) error {
	if err := s.Users.sessions.ownSite(r); err != nil {
		return err
	}
	var sent people.Session
	if err := s.sentJSON(w, r, &sent); err != nil {
		return err
	}
	if err := s.enter(w, r, byToken, session{Token: strings.TrimSpace(sent.Token)}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// enter gives the browser a session, if Kubernetes knows whose it is.
func (s *userAPI) enter(w http.ResponseWriter, r *http.Request, by string, in session) error {
	p, err := s.known(r.Context(), in)
	var cookie *http.Cookie
	if err == nil {
		cookie, err = s.Users.sessions.begin(r, in)
	}
	s.noteSignIn(r, by, p, err)
	if err == nil {
		http.SetCookie(w, cookie)
	}
	return err
}

func (s *userAPI) known(ctx context.Context, in session) (person, error) {
	if in.Token == "" && in.Provider == "" || len(in.Token) > longestToken {
		return person{}, refusef(http.StatusUnauthorized, "give the token that you use with Kubernetes")
	}
	return s.Users.sessions.person(ctx, in)
}

// endSession signs somebody out.
func (s *userAPI) endSession(w http.ResponseWriter, r *http.Request) error {
	if err := s.Users.sessions.ownSite(r); err != nil {
		return err
	}
	if p, ok, err := s.Users.sessions.of(r); ok && err == nil {
		s.Log.With(traced(r)...).Info("audit: signed out", "by", p.GetName(), "method", p.by)
	}
	http.SetCookie(w, s.Users.sessions.end(r, sessionCookie))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// noteSignIn writes who signed in, or why nobody did.
func (s *userAPI) noteSignIn(r *http.Request, by string, p person, err error) {
	log := s.Log.With(traced(r)...).With("by", p.String(), "method", by)
	if err != nil {
		s.Metrics.signedIn(by, "denied")
		log.Warn("audit: not signed in", "error", err)
		return
	}
	s.Metrics.signedIn(by, "success")
	log.Info("audit: signed in")
}

// goOn sends a browser to where a handler says, or to the page that shows its error.
func (s *userAPI) goOn(by string, h func(http.ResponseWriter, *http.Request) (string, error)) http.Handler {
	return s.answerWhoever(quick, func(w http.ResponseWriter, r *http.Request) (person, error) {
		if r.Method != http.MethodGet { // HEAD, of what looks at links before people do
			w.WriteHeader(http.StatusNoContent)
			return person{}, nil
		}
		to, err := h(w, r)
		if err != nil {
			var no *refusal
			if !errors.As(err, &no) { // enter has noted those
				s.noteSignIn(r, by, person{}, err)
			}
			_, text := StatusOf(err)
			if no == nil {
				text = err.Error()
			}
			to = signInPage + "?" + url.Values{"error": {line(text, longestReason)}}.Encode()
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
		return person{}, nil
	})
}

// toProvider sends a browser to the identity provider.
func (s *userAPI) toProvider(w http.ResponseWriter, r *http.Request) (string, error) {
	address, kept, err := s.Users.provider.begin(r.Context(), localPath(r.URL.Query().Get("to")))
	if err != nil {
		return "", err
	}
	c := s.Users.sessions.cookie(r, signInCookie) //nolint:gosec // see there
	c.Value, c.MaxAge = kept, int(signInTime.Seconds())
	c.SameSite = http.SameSiteLaxMode // it has to come along when the provider sends the browser back
	http.SetCookie(w, c)
	return address, nil
}

// fromProvider signs in who comes back from the identity provider.
func (s *userAPI) fromProvider(w http.ResponseWriter, r *http.Request) (string, error) {
	c, err := r.Cookie(s.Users.sessions.cookie(r, signInCookie).Name)
	if err != nil {
		return "", errors.New("the sign-in took too long, or was begun in another browser: try again")
	}
	http.SetCookie(w, s.Users.sessions.end(r, signInCookie))
	in, to, err := s.Users.provider.end(r.Context(), c.Value, r.URL.Query())
	if err != nil {
		return "", err
	}
	return to, s.enter(w, r, byOIDC, in)
}

// fromLink signs in who has a link, once.
func (s *userAPI) fromLink(w http.ResponseWriter, r *http.Request) (string, error) {
	token, err := takeLink(s.Users.links, r.URL.Query().Get("code"), s.Now())
	if err != nil {
		return "", err
	}
	return localPath(r.URL.Query().Get("to")), s.enter(w, r, byLink, session{Token: token})
}

// localPath is a path of this site; / for anything else, which may lead away from it.
func localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\t\r\n") {
		return "/"
	}
	return to
}
