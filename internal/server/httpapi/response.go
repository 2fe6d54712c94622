package httpapi

import (
	"encoding/json"
	"net/http"
	"time"
)

// Recorder records the status that was sent; 0 before.
type Recorder struct {
	http.ResponseWriter
	Code int
}

// WriteHeader records the status code.
func (r *Recorder) WriteHeader(code int) {
	r.Code = code
	r.ResponseWriter.WriteHeader(code)
}

// Write records status 200 unless there is one.
func (r *Recorder) Write(p []byte) (int, error) {
	if r.Code == 0 {
		r.Code = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteJSON sends a value as JSON.
func WriteJSON(w http.ResponseWriter, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, err = w.Write(data)
	return err
}

// Result is the outcome of a request.
type Result struct {
	// code that was sent; 0 for none.
	Code int
	Took time.Duration
	Err  error
}

// NewHandler creates a handler with a time limit for requests of authenticated callers. failed sends the error of h
// while no status was sent; done logs the outcome.
func NewHandler[C any](
	within time.Duration, h func(http.ResponseWriter, *http.Request) (C, error),
	failed func(http.ResponseWriter, error),
	done func(*http.Request, C, Result),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		control := http.NewResponseController(w)
		// Each request sets both, since a connection keeps them for the next one.
		_ = control.SetReadDeadline(began.Add(within))
		_ = control.SetWriteDeadline(began.Add(within))
		rec := &Recorder{ResponseWriter: w}
		caller, err := h(rec, r)
		if err != nil && rec.Code == 0 {
			failed(rec, err)
		}
		done(r, caller, Result{rec.Code, time.Since(began), err})
		if err != nil && rec.Code < 300 {
			panic(http.ErrAbortHandler) // half an answer must not pass for a whole one
		}
	})
}

// How long a request may take to arrive and to be answered.
const (
	ShortTimeout = 30 * time.Second
	LongTimeout  = 15 * time.Minute // files
)
