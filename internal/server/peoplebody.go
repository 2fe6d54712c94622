package server

import (
	"net/http"
	"strconv"
	"strings"
)

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
