package server

import (
	"net/http"
	"time"
)

// answer runs a handler, turns its error into an answer, and logs what became of the request: never its body or its
// token.
func (s *Server) answer(within time.Duration, h func(http.ResponseWriter, *http.Request) (Caller, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		control := http.NewResponseController(w)
		// Each request sets both, since a connection keeps them for the next one.
		_ = control.SetReadDeadline(began.Add(within))
		_ = control.SetWriteDeadline(began.Add(within))
		rec := &recorder{ResponseWriter: w}
		c, err := h(rec, r)
		if err != nil && rec.code == 0 {
			code, text := answerTo(err)
			http.Error(rec, text, code) //nolint:gocritic // what follows logs it
		}
		s.logRequest(r, rec.code, c, err, time.Since(began))
		if err != nil && rec.code < 300 {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
	})
}

func (s *Server) logRequest(r *http.Request, code int, c Caller, err error, took time.Duration) {
	log := s.Log.With("method", r.Method, "path", r.URL.Path, "code", code, "took", took,
		"namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName, "pod", c.Pod.Name, "attempt", c.Attempt)
	if err != nil && r.Context().Err() == nil {
		log.Warn("request refused", "error", err)
		return
	}
	log.Debug("request")
}
