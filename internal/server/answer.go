package server

import (
	"net/http"
	"time"
)

// answer runs a handler, turns its error into an answer, and logs what became of the request: never its body or its
// token.
func (s *runnerAPI) answer(within time.Duration, h func(http.ResponseWriter, *http.Request) (Caller, error)) http.Handler {
	return newHandler(within, h, writeError, s.logRequest)
}

// writeError answers a runner with an error, as text.
func writeError(w http.ResponseWriter, err error) {
	code, text := answerTo(err)
	http.Error(w, text, code)
}

func (s *runnerAPI) logRequest(r *http.Request, c Caller, a answered) {
	log := s.Log.With("method", r.Method, "path", r.URL.Path, "code", a.code, "took", a.took,
		"namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName, "pod", c.Pod.Name, "attempt", c.Attempt)
	if a.err != nil && r.Context().Err() == nil {
		log.Warn("request refused", "error", a.err)
		return
	}
	log.Debug("request")
}
