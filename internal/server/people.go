package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"cairn.dev/cairn/api/v1alpha1"
)

// right is what a role has to allow for a request.
type right struct{ verb, resource, subresource string }

// of is that right to what a request is about.
func (r right) of(a ask) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: r.resource, Subresource: r.subresource, Namespace: a.Namespace, Name: a.Name,
	}
}

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

// auditedUnless is audited for who may not, too: err is why.
func (s *Server) auditedUnless(
	err error, need right, h func(http.ResponseWriter, *http.Request, ask) error,
) func(http.ResponseWriter, *http.Request, ask) error {
	return s.audited(need, func(w http.ResponseWriter, r *http.Request, a ask) error {
		if err != nil {
			return err
		}
		return h(w, r, a)
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

// may asks the API server whether a person is allowed something.
func (s *Server) may(ctx context.Context, p person, what authorizationv1.ResourceAttributes) error {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range p.GetExtra() {
		extra[key] = values
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: p.GetName(), Groups: p.GetGroups(), UID: p.GetUID(), Extra: extra, ResourceAttributes: &what,
	}
	status, err := s.reviewed(ctx, spec)
	if apierrors.IsForbidden(err) {
		return refusef(http.StatusNotImplemented, "this Cairn is installed without the permission to ask Kubernetes whether %s may %s %s %q: %s",
			p.GetName(), what.Verb, what.Resource, what.Name, "a Role in each of its namespaces allows no more")
	}
	if err != nil {
		return fmt.Errorf("ask what %s may do: %w", p.GetName(), err)
	}
	if !status.Allowed || status.Denied {
		return lacks(p, what)
	}
	return nil
}

// reviewed asks within the namespace that it is about, if there is one: that takes a permission there only.
func (s *Server) reviewed(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	if namespace := spec.ResourceAttributes.Namespace; namespace != "" {
		review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: spec}
		err := s.Client.Create(ctx, review)
		return review.Status, err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	err := s.Client.Create(ctx, review)
	return review.Status, err
}

// audited writes a line for what a person wants to do, or to read in clear, whatever becomes of it.
func (s *Server) audited(
	need right, h func(http.ResponseWriter, *http.Request, ask) error,
) func(http.ResponseWriter, *http.Request, ask) error {
	return func(w http.ResponseWriter, r *http.Request, a ask) error {
		var facts []any
		a.facts = &facts
		err := h(w, r, a)
		real := ""
		if a.Real != nil {
			real = a.Real.GetName()
		}
		log := s.Log.With(traced(r)...).With("by", a.GetName(), "impersonatedBy", real, "method", a.by, "verb", need.verb,
			"resource", need.resource, "namespace", a.Namespace, "name", a.Name).With(facts...)
		if err != nil {
			s.Metrics.acted(need, "failed")
			log.Warn("audit: not done", "error", err)
		} else {
			s.Metrics.acted(need, "success")
			log.Info("audit: done")
		}
		return err
	}
}

// tell records on a State what a person did to it.
func (s *Server) tell(ctx context.Context, a ask, reason, action, format string, args ...any) {
	if s.Events == nil {
		return
	}
	st := &v1alpha1.State{}
	if err := s.Live.Get(ctx, a.NamespacedName, st); err != nil {
		return // the audit line has it too
	}
	s.Events.Eventf(st, nil, corev1.EventTypeNormal, reason, action, "%s %s", a.person.String(), fmt.Sprintf(format, args...))
}
