package userhandler

import (
	_ "embed"
	"net/http"
)

// OpenAPI describes the user API, for programs. A test generates it from the routes and the types of internal/userapi:
// go test ./internal/server/userhandler -run OpenAPI -update
//
//go:embed openapi.json
var OpenAPI []byte

// showOpenAPI needs no authentication: it describes the API, and has no data.
func showOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(OpenAPI)
}
