package userhandler

import (
	"encoding/json"
	"errors"
	"net/http"

	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// writeProblem responds to a user with an error in the format of RFC 9457.
func writeProblem(w http.ResponseWriter, err error) {
	code, text := httpapi.StatusOf(err)
	problem := userapi.Problem{Type: "about:blank", Detail: text}
	var bad *kinds.BadQuery
	var no action.Impossible
	switch {
	case errors.As(err, &bad):
		code, problem.Detail, problem.Parameter = http.StatusBadRequest, bad.Error(), bad.Parameter
	case errors.As(err, &no):
		code, problem.Detail = http.StatusConflict, no.Error()
	}
	problem.Status, problem.Title = code, http.StatusText(code)
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	data, _ := json.Marshal(problem) // strings and a number always can be
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
