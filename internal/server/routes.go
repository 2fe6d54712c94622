package server

import (
	"net/http"
	"time"

	"cairn.dev/cairn/internal/forge"
	"cairn.dev/cairn/web"
)

// How long a request may take to arrive and to be answered.
const (
	quick = 30 * time.Second
	long  = 15 * time.Minute // files
)

// Handler has all that runners and people are answered.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	from := func(pod sender, pattern string, time time.Duration, has standing, h func(http.ResponseWriter, *http.Request, Caller) error) {
		mux.Handle(pattern, s.answer(time, func(w http.ResponseWriter, r *http.Request) (Caller, error) {
			c, err := s.caller(r, pod, has)
			if err != nil {
				return c, err
			}
			return c, h(w, r, c)
		}))
	}
	handle := func(pattern string, time time.Duration, has standing, h func(http.ResponseWriter, *http.Request, Caller) error) {
		from(s.tokens.pod, pattern, time, has, h)
	}
	mux.Handle("GET /v1/order", s.answer(maxWait+quick, s.order))
	handle("GET /v1/sources/{digest}", long, currentOrBuild, s.source)
	handle("GET /v1/state", long, orHolder(current), s.readState)
	handle("POST /v1/state", long, orHolder(current), s.writeState)
	handle("LOCK /v1/state", quick, current, s.lockState)
	handle("UNLOCK /v1/state", quick, orHolder(named), s.unlockState)
	handle("DELETE /v1/state", quick, orHolder(named), s.deleteState)
	handle("PUT /v1/backend", long, current, s.followBackend)
	from(s.tokens.podOrGone, "PUT /v1/rescue", long, orHolder(named), s.rescueState)
	handle("PUT /v1/plan", long, current, s.putPlan)
	handle("GET /v1/plan/{digest}", long, current, s.getPlan)
	handle("PUT /v1/plan/{digest}/{form}", long, current, s.putPlanForm)
	handle("GET /v1/plan/{digest}/{form}", long, current, s.getPlanForm)
	handle("POST /v1/policy/{digest}", long, current, s.checkPolicy)
	handle("GET /v1/interrupt", maxWait+quick, currentOrBuild, s.interrupt)
	handle("PUT /v1/inputs", quick, current, s.keepInputs)
	handle("GET /v1/inputs", quick, current, s.keptInputs)
	handle("GET /v1/outputs/{stack}/{output}", long, current, s.stackOutput)
	handle("POST /v1/outputs", quick, current, s.writeOutputs)
	if s.Engines != nil {
		e := engines{from: s.Engines, inputs: s.Inputs}
		handle("GET /v1/engines/{name}", long, current, e.find)
		handle("GET /v1/engines/{name}/{version}", long, current, e.program)
	}
	handle("GET /v1/providers/{hostname}/{namespace}/{type}/{file}", long, current, provider(s.Providers))
	from(s.tokens.podOrGone, "POST /v1/journal", quick, named, s.appendJournal)
	handle("GET /v1/journal", long, current, s.journal)
	handle("POST /v1/steps", quick, named, s.report)
	handle("POST /v1/logs", quick, named, s.appendLog)
	s.addSite(mux)
	return s.Metrics.measure(mux)
}

// Handler has all that forges are answered and, if there is such a thing here, what people are.
func (s *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	if s.People != nil {
		mux.Handle("/", s.People)
	}
	mux.Handle("/hooks/", forge.NewHandler(forge.HandlerOptions{Secrets: s.hookSecrets, Wake: s.fetchSoon, Told: s.Metrics.webhook, Log: s.Log}))
	return mux
}

// addSite adds all that browsers get: the API for people, how they sign in, and the page for all else.
func (s *Server) addSite(mux router) {
	s.addPeople(mux)
	s.addSignIn(mux)
	for _, path := range []string{"/api/", "/v1/", "/hooks/", "/signin/"} {
		mux.Handle(path, s.answerNobody(func(_ http.ResponseWriter, r *http.Request) error {
			return refusef(http.StatusNotFound, "there is no %.200s", r.URL.Path)
		}))
	}
	mux.Handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	page := web.Handler()
	mux.Handle("/", page)
	mux.Handle("/signin", page) // or it would be taken for /signin/
}

// PeopleHandler has all that people are answered, and nothing of runners.
func (s *Server) PeopleHandler() http.Handler {
	mux := http.NewServeMux()
	s.addSite(mux)
	return s.Metrics.measure(mux)
}
