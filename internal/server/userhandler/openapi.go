package userhandler

import (
	_ "embed"
	"net/http"
)

// OpenAPI describes what people are answered, for programs. A test makes it from the routes and the types of internal/userapi:
// go test ./internal/server/userhandler -run OpenAPI -update
//
//go:embed openapi.json
var OpenAPI []byte

// showOpenAPI is for anybody: it says what can be asked, and nothing of what is here.
func showOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(OpenAPI)
}
