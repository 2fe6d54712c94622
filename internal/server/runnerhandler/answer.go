package runnerhandler

import (
	"errors"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state"
)

// answer runs a handler, turns its error into an answer, and logs what became of the request: never its body or its
// token.
func (s *API) answer(within time.Duration, h func(http.ResponseWriter, *http.Request) (Caller, error)) http.Handler {
	return httpapi.NewHandler(within, h, writeError, s.logRequest)
}

// writeError answers a runner with an error, as text.
func writeError(w http.ResponseWriter, err error) {
	code, text := httpapi.StatusOf(err)
	if said, ok := errors.AsType[*runnerapi.Error](err); ok && said.Reason != "" {
		w.Header().Set(runnerapi.ReasonHeader, said.Reason)
	}
	http.Error(w, text, code)
}

func (s *API) logRequest(r *http.Request, c Caller, a httpapi.Result) {
	log := s.Log.With("method", r.Method, "path", r.URL.Path, "code", a.Code, "took", a.Took,
		"namespace", c.Pod.Namespace, "stack", c.Stack, "run", c.RunName, "pod", c.Pod.Name, "attempt", c.Attempt)
	if a.Err != nil && r.Context().Err() == nil {
		log.Warn("request refused", "error", a.Err)
		return
	}
	log.Debug("request")
}

// body reads a request's body of at most limit bytes into the memory that its namespace has a part of. The returned
// function releases the memory back.
func (s *API) body(w http.ResponseWriter, r *http.Request, namespace string, limit int64) ([]byte, func(), error) {
	return httpapi.ReadBody(w, r, s.memory.Semaphore, namespace, limit, 1, 0)
}

// jsonBody reads the body of a runner's request as JSON.
func (s *API) jsonBody(w http.ResponseWriter, r *http.Request, namespace string, limit int64, v any) error {
	data, free, err := httpapi.ReadBody(w, r, s.memory.Semaphore, namespace, limit, jsonWeight, 0)
	if err != nil {
		return err
	}
	defer free()
	return httpapi.DecodeJSON(data, v)
}

// bodyMemory is how much of what runners send and read is in memory at a time; further ones wait. What is small does
// not count, but for its namespace.
const bodyMemory = 1 << 30

// bodyPart is how much of it one namespace has: the largest state, and what is small beside that. A pod runs untrusted
// code, which may send many bodies at once and none of them to its end.
const bodyPart = state.MaxSize + 64<<20

// jsonWeight is how much larger than its text JSON may be once it is read: a list of empty objects. Of what a runner
// sends, as far as it is an honest one, which is some megabytes.
const jsonWeight = 64
