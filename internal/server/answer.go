package server

import (
	"encoding/json"
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

// recorder remembers the status that was sent; 0 is none yet.
type recorder struct {
	http.ResponseWriter
	code int
}

func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func writeJSON(w http.ResponseWriter, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, err = w.Write(data)
	return err
}
