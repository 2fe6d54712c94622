package userhandler

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/listing"
)

// TestWebUIIsServedOnAllOtherPaths checks which paths return the web UI. A browser loads /signin whole when a sign-in
// went wrong.
func TestWebUIIsServedOnAllOtherPaths(t *testing.T) {
	mux := http.NewServeMux()
	New(Options{Catalog: listing.NewCatalog(), Users: &auth.UserAuthenticator{}}).AddRoutes(mux)
	for path, page := range map[string]bool{
		"/":                  true,
		"/signin?to=/stacks": true,
		"/stacks/shop/web":   true,
		"/signin/nowhere":    false,
		"/api/v1/nowhere":    false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		w := httptest.NewRecorder()
		_, pattern := mux.Handler(r)
		if got := pattern == "/" || pattern == "/signin"; got != page {
			t.Errorf("%s is answered by %q", path, pattern)
		}
		if !page {
			continue
		}
		mux.ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s was answered with %d %v", path, w.Code, w.Header())
		}
	}
}
