package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ask is a request of a person who has the right to it.
type ask struct {
	person
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

// router takes handlers for patterns, as http.ServeMux does.
type router interface {
	Handle(pattern string, handler http.Handler)
}

// addPeople adds what people are answered; internal/people says what that is.
func (s *userAPI) addPeople(mux router) {
	const runs, states = "/api/v1/namespaces/{namespace}/runs/{name}/", "/api/v1/namespaces/{namespace}/states/{name}/"
	read := func(path string, need right, h func(http.ResponseWriter, *http.Request, ask) error) {
		mux.Handle("GET "+path, s.answerPerson(long, need, h))
	}
	write := func(path string, within time.Duration, need right, h func(http.ResponseWriter, *http.Request, ask) error) {
		mux.Handle("POST "+path, s.answerAudited(within, need, h))
	}
	s.addSessions(mux)
	s.addLists(mux)
	s.addActions(mux)
	read(runs+"plan", right{verb: "get", resource: "runs", subresource: "plan"}, s.showPlan)
	read(runs+"logs", mayReadLogs, s.showLogs)
	read(states+"versions/{version}", mayPull, s.audited(mayPull, s.pullState))
	read(states+"journal", mayPull, s.audited(mayPull, s.showJournal))
	write(states+"versions", long, mayPush, s.pushState)
	write(states+"rollback", long, right{verb: "rollback", resource: "states"}, s.rollbackState)
	write(states+"unlock", quick, mayUnlock, s.releaseState)
	write(states+"restore", long, right{verb: "restore", resource: "states"}, s.restoreState)
	write(states+"migrate", quick, mayPush, s.moveState)
	write(states+"recover", long, right{verb: "recover", resource: "states"}, s.recoverState)
	s.addUserBackend(mux, states+"backend")
}

// answerPerson finds out who asks and whether they may, before anything else is looked at; then it runs the handler.
func (s *userAPI) answerPerson(
	within time.Duration, need right, h func(http.ResponseWriter, *http.Request, ask) error,
) http.Handler {
	return s.answerAnyone(within, func(w http.ResponseWriter, r *http.Request, p person) error {
		a, err := s.ask(r, p, need)
		if err != nil {
			return err
		}
		return h(w, r, a)
	})
}

// answerAudited is answerPerson with an audit line, also for who may not.
func (s *userAPI) answerAudited(
	within time.Duration, need right, h func(http.ResponseWriter, *http.Request, ask) error,
) http.Handler {
	return s.answerAnyone(within, func(w http.ResponseWriter, r *http.Request, p person) error {
		a, err := s.ask(r, p, need)
		return s.auditedUnless(err, need, h)(w, r, a)
	})
}

// ask tells what a person's request is about, and that they have the right to it.
func (s *userAPI) ask(r *http.Request, p person, need right) (ask, error) {
	a := ask{person: p, NamespacedName: types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}}
	if len(validation.IsDNS1123Label(a.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(a.Name)) > 0 {
		return a, refusef(http.StatusBadRequest, "%.80q in namespace %.80q cannot be the name of anything", a.Name, a.Namespace)
	}
	if !s.Namespaces.serves(a.Namespace) {
		return a, refusef(http.StatusForbidden, "this Cairn does not look at namespace %s", a.Namespace)
	}
	return a, s.Authorizer.may(r.Context(), p, need.of(a.NamespacedName))
}

// answerNobody answers also who is not known.
func (s *userAPI) answerNobody(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return s.answerWhoever(quick, func(w http.ResponseWriter, r *http.Request) (person, error) {
		return person{}, h(w, r)
	})
}

// protect sets what keeps a browser from doing with an answer of the API anything but give it to who asked.
func protect(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// answerAnyone finds out who asks, and runs the handler, which finds out whether they may.
func (s *userAPI) answerAnyone(within time.Duration, h func(http.ResponseWriter, *http.Request, person) error) http.Handler {
	return s.answerKnown(within, s.Users.identify, h)
}

func (s *userAPI) answerKnown(
	within time.Duration, identify func(*http.Request) (person, error), h func(http.ResponseWriter, *http.Request, person) error,
) http.Handler {
	return s.answerWhoever(within, func(w http.ResponseWriter, r *http.Request) (person, error) {
		p, err := identify(r)
		if err == nil {
			err = h(w, r, p)
		}
		return p, err
	})
}

// answerWhoever runs a handler, turns its error into an answer, and logs what became of the request: never its body, or what its
// person showed.
func (s *userAPI) answerWhoever(within time.Duration, h func(http.ResponseWriter, *http.Request) (person, error)) http.Handler {
	protected := func(w http.ResponseWriter, r *http.Request) (person, error) {
		protect(w.Header())
		return h(w, r)
	}
	return newHandler(within, protected, writeProblem, s.logRequest)
}

func (s *userAPI) logRequest(r *http.Request, p person, a answered) {
	log := s.Log.With("method", r.Method, "path", r.URL.Path, "code", a.code, "took", a.took, "person", p.String())
	stranger := p.Info == nil && a.code < http.StatusInternalServerError // whom anybody can be, as often as they like
	if a.err != nil && !stranger && r.Context().Err() == nil && !errors.Is(a.err, errStopping) {
		log.Warn("request refused", "error", a.err)
	} else {
		log.Debug("request")
	}
}

// smallJSON reads the body of a person's request as JSON. It is too small to count.
func smallJSON(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := readAll(w, r, mostSent)
	if err != nil {
		return err
	}
	return fromJSON(data, v)
}

// shownVersion reads which version the person was shown as the current one; 0 when they do not say.
func shownVersion(r *http.Request) (int64, error) {
	text := r.URL.Query().Get("current")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, refusef(http.StatusBadRequest, "current=%.40q is not the number of a version", text)
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
		return false, refusef(http.StatusBadRequest, "%s=%.40q is neither true nor false", name, text)
	}
	return on, nil
}

// sentJSON reads a small body. A form of another site cannot send one.
func (s *userAPI) sentJSON(w http.ResponseWriter, r *http.Request, v any) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(strings.ToLower(kind)) != "application/json" {
		return refusef(http.StatusUnsupportedMediaType, "the body has to be JSON: set Content-Type to application/json")
	}
	return smallJSON(w, r, v)
}

// mostSent is how much a person may send that is no state.
const mostSent = 64 << 10
