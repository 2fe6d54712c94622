package server

import (
	"net/http"
	"time"

	"cairn.dev/cairn/internal/state"
)

// answer runs a handler, turns its error into an answer, and logs what became of the request: never its body or its
// token.
func (s *runnerAPI) answer(within time.Duration, h func(http.ResponseWriter, *http.Request) (Caller, error)) http.Handler {
	return newHandler(within, h, writeError, s.logRequest)
}

// writeError answers a runner with an error, as text.
func writeError(w http.ResponseWriter, err error) {
	code, text := StatusOf(err)
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

// body reads a request's body of at most limit bytes into the memory that its namespace has a part of. The returned function gives the
// memory back.
func (s *runnerAPI) body(w http.ResponseWriter, r *http.Request, namespace string, limit int64) ([]byte, func(), error) {
	return readBody(w, r, s.memory, namespace, limit, 1)
}

// jsonBody reads the body of a runner's request as JSON.
func (s *runnerAPI) jsonBody(w http.ResponseWriter, r *http.Request, namespace string, limit int64, v any) error {
	data, free, err := readBody(w, r, s.memory, namespace, limit, jsonWeight)
	if err != nil {
		return err
	}
	defer free()
	return fromJSON(data, v)
}

// bodyMemory is how much of what runners send and read is in memory at a time; further ones wait. What is small does not count, but
// for its namespace.
const bodyMemory = 1 << 30

// bodyPart is how much of it one namespace has: the largest state, and what is small beside that. A pod runs code of anybody, which
// may send many bodies at once and none of them to its end.
const bodyPart = state.MaxSize + 64<<20

// jsonWeight is how much larger than its text JSON may be once it is read: a list of empty objects. Of what a runner sends, as
// far as it is an honest one, that makes some megabytes.
const jsonWeight = 64
