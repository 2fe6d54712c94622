package userhandler

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
)

// ask is a request of a user who has the right to it.
type ask struct {
	auth.User
	// Key names what it is about.
	types.NamespacedName
	// facts that the audit line has beside who and what.
	facts *[]any
}

// noted adds keys and values to the audit line.
func (a ask) noted(facts ...any) {
	if a.facts != nil {
		*a.facts = append(*a.facts, facts...)
	}
}

// handler handles a request of a user who has the right to it.
type handler func(http.ResponseWriter, *http.Request, ask) error

// router takes handlers for patterns, as http.ServeMux does.
type router interface {
	Handle(pattern string, handler http.Handler)
}

// addRoutes adds the user API, which internal/userapi describes.
func (s *API) addRoutes(mux router) {
	runs, states := object("runs")+"/", object("states")+"/"
	read := func(path string, need auth.Right, h handler) {
		mux.Handle("GET "+path, s.handleUser(httpapi.LongTimeout, need, h))
	}
	write := func(path string, within time.Duration, need auth.Right, h handler) {
		mux.Handle("POST "+path, s.answerAudited(within, need, h))
	}
	s.addSessions(mux)
	s.addLists(mux)
	s.addActions(mux)
	read(runs+"plan", auth.Right{Verb: "get", Resource: "runs", Subresource: "plan"}, s.showPlan)
	read(runs+"logs", mayReadLogs, s.showLogs)
	read(states+"versions/{version}", mayPull, s.audited(mayPull, s.pullState))
	read(states+"journal", mayPull, s.audited(mayPull, s.showJournal))
	write(states+"versions", httpapi.LongTimeout, mayPush, s.pushState)
	write(states+"rollback", httpapi.LongTimeout, auth.Right{Verb: "rollback", Resource: "states"}, s.rollbackState)
	write(states+"unlock", httpapi.ShortTimeout, mayUnlock, s.releaseState)
	write(states+"restore", httpapi.LongTimeout, auth.Right{Verb: "restore", Resource: "states"}, s.restoreState)
	write(states+"migrate", httpapi.ShortTimeout, mayPush, s.moveState)
	write(states+"recover", httpapi.LongTimeout, auth.Right{Verb: "recover", Resource: "states"}, s.recoverState)
	s.addUserBackend(mux, states+"backend")
}

// handleUser authenticates and authorizes a request before it reads anything else; then it runs the handler.
func (s *API) handleUser(within time.Duration, need auth.Right, h handler) http.Handler {
	return s.answerAnyone(within, func(w http.ResponseWriter, r *http.Request, p auth.User) error {
		a, err := s.ask(r, p, need)
		if err != nil {
			return err
		}
		return h(w, r, a)
	})
}

// answerAudited is handleUser with an audit line, also for who may not.
func (s *API) answerAudited(within time.Duration, need auth.Right, h handler) http.Handler {
	return s.answerAnyone(within, func(w http.ResponseWriter, r *http.Request, p auth.User) error {
		a, err := s.ask(r, p, need)
		return s.auditedUnless(err, need, h)(w, r, a)
	})
}

// ask returns what a user's request is about, after it was authorized.
func (s *API) ask(r *http.Request, p auth.User, need auth.Right) (ask, error) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	a := ask{User: p, NamespacedName: key}
	if len(validation.IsDNS1123Label(a.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(a.Name)) > 0 {
		return a, httpapi.Errorf(http.StatusBadRequest, "%.80q in namespace %.80q cannot be the name of anything",
			a.Name, a.Namespace)
	}
	if !s.Namespaces.Includes(a.Namespace) {
		return a, httpapi.Errorf(http.StatusForbidden, "this installation does not serve namespace %s", a.Namespace)
	}
	return a, s.Authorizer.Authorize(r.Context(), p, need.On(a.NamespacedName))
}

// handleUnauthenticated runs a handler without authentication.
func (s *API) handleUnauthenticated(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return s.handle(httpapi.ShortTimeout, func(w http.ResponseWriter, r *http.Request) (auth.User, error) {
		return auth.User{}, h(w, r)
	})
}

// protect sets what keeps a browser from doing with an answer of the API anything but pass it to its own page.
func protect(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// answerAnyone finds out who asks, and runs the handler, which finds out whether they may.
func (s *API) answerAnyone(
	within time.Duration, h func(http.ResponseWriter, *http.Request, auth.User) error,
) http.Handler {
	return s.answerKnown(within, s.Users.Authenticate, h)
}

func (s *API) answerKnown(
	within time.Duration, identify func(*http.Request) (auth.User, error),
	h func(http.ResponseWriter, *http.Request, auth.User) error,
) http.Handler {
	return s.handle(within, func(w http.ResponseWriter, r *http.Request) (auth.User, error) {
		p, err := identify(r)
		if err == nil {
			err = h(w, r, p)
		}
		return p, err
	})
}

// handle runs a handler, turns its error into an answer, and logs what became of the request: never its body, or its
// user's credentials.
func (s *API) handle(within time.Duration, h func(http.ResponseWriter, *http.Request) (auth.User, error)) http.Handler {
	protected := func(w http.ResponseWriter, r *http.Request) (auth.User, error) {
		protect(w.Header())
		return h(w, r)
	}
	return httpapi.NewHandler(within, protected, writeProblem, s.logRequest)
}

func (s *API) logRequest(r *http.Request, p auth.User, a httpapi.Result) {
	log := s.Log.With("method", r.Method, "path", r.URL.Path, "code", a.Code, "took", a.Took, "user", p.String())
	// It needs no credentials, and can be repeated without end.
	stranger := p.Info == nil && a.Code < http.StatusInternalServerError
	if a.Err != nil && !stranger && r.Context().Err() == nil && !errors.Is(a.Err, errStopping) {
		log.Warn("request refused", "error", a.Err)
	} else {
		log.Debug("request")
	}
}

// smallJSON reads the body of a user's request as JSON. It is too small to count.
func smallJSON(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := httpapi.ReadAll(w, r, mostSent)
	if err != nil {
		return err
	}
	return httpapi.DecodeJSON(data, v)
}

// shownVersion reads the version that the user saw as the current one; 0 when it is not set.
func shownVersion(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("current")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, httpapi.Errorf(http.StatusBadRequest, "current=%.40q is not the number of a version", text)
	}
	return n, nil
}

// flag reads a parameter that is true or false.
func flag(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, httpapi.Errorf(http.StatusBadRequest, "%s=%.40q is neither true nor false", name, text)
	}
	return on, nil
}

// sentJSON reads a small body. A form of another site cannot send one.
func (s *API) sentJSON(w http.ResponseWriter, r *http.Request, v any) error {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(strings.ToLower(kind)) != "application/json" {
		return httpapi.Errorf(http.StatusUnsupportedMediaType,
			"the body has to be JSON: set Content-Type to application/json")
	}
	return smallJSON(w, r, v)
}

// mostSent is how much a user may send that is no state.
const mostSent = 64 << 10
