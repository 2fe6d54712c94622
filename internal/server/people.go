package server

import (
	"errors"
	"net/http"
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
func (s *Server) addPeople(mux router) {
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
	read(runs+"plan", right{"get", "runs", "plan"}, s.showPlan)
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
func (s *Server) answerPerson(
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
func (s *Server) answerAudited(
	within time.Duration, need right, h func(http.ResponseWriter, *http.Request, ask) error,
) http.Handler {
	return s.answerAnyone(within, func(w http.ResponseWriter, r *http.Request, p person) error {
		a, err := s.ask(r, p, need)
		return s.auditedUnless(err, need, h)(w, r, a)
	})
}

// answerAnyone finds out who asks, and runs the handler, which finds out whether they may.
func (s *Server) answerAnyone(within time.Duration, h func(http.ResponseWriter, *http.Request, person) error) http.Handler {
	return s.answerWhoever(within, func(w http.ResponseWriter, r *http.Request) (person, error) {
		p, err := s.identify(r)
		if err == nil {
			err = h(w, r, p)
		}
		return p, err
	})
}

// answerWhoever runs a handler, turns its error into an answer, and logs what became of the request: never its body, or what its
// person showed.
func (s *Server) answerWhoever(within time.Duration, h func(http.ResponseWriter, *http.Request) (person, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(began.Add(within))
		_ = control.SetWriteDeadline(began.Add(within))
		rec := &recorder{ResponseWriter: w}
		protect(w.Header())
		p, err := h(rec, r)
		if err != nil && rec.code == 0 {
			writeProblem(rec, err)
		}
		log := s.Log.With("method", r.Method, "path", r.URL.Path, "code", rec.code, "took", time.Since(began), "person", p.String())
		stranger := p.Info == nil && rec.code < http.StatusInternalServerError // whom anybody can be, as often as they like
		if err != nil && !stranger && r.Context().Err() == nil && !errors.Is(err, errStopping) {
			log.Warn("request refused", "error", err)
		} else {
			log.Debug("request")
		}
		if err != nil && rec.code < 300 {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
	})
}

// identify tells who sends a request, or for whom, if they may.
func (s *Server) identify(r *http.Request) (person, error) {
	if !showsToken(r) { // what a browser shows by itself, it shows for other sites too
		if err := s.persons.sessions.ownSite(r); err != nil {
			return person{}, err
		}
	}
	real, err := s.persons.of(r)
	if err != nil {
		return person{}, err
	}
	p, needs, err := impersonated(real, r.Header)
	if err != nil {
		return real, err
	}
	for _, n := range needs {
		if err := s.may(r.Context(), real, n); err != nil {
			return real, err
		}
	}
	return p, nil
}

// showsToken says that a request has a bearer token, which no site but ours has a browser send. A password it may: of a URL that has one.
func showsToken(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// ask tells what a person's request is about, and that they have the right to it.
func (s *Server) ask(r *http.Request, p person, need right) (ask, error) {
	a := ask{person: p, NamespacedName: types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}}
	if len(validation.IsDNS1123Label(a.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(a.Name)) > 0 {
		return a, refusef(http.StatusBadRequest, "%.80q in namespace %.80q cannot be the name of anything", a.Name, a.Namespace)
	}
	if !s.serves(a.Namespace) {
		return a, refusef(http.StatusForbidden, "this Cairn does not look at namespace %s", a.Namespace)
	}
	return a, s.may(r.Context(), p, need.of(a))
}

// answerNobody answers also who is not known.
func (s *Server) answerNobody(h func(http.ResponseWriter, *http.Request) error) http.Handler {
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
