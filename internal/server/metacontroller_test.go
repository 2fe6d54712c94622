package server_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/servermetrics"
)

// Metacontroller's hooks have an address of their own: nothing else is there, and they are nowhere else.
func TestHooksOfMetacontrollerAreApart(t *testing.T) {
	registry := prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	hooks := server.NewMetacontroller(server.MetacontrollerOptions{Log: log, Metrics: servermetrics.New(registry)}).Handler()
	web := server.NewWeb(server.WebOptions{Log: log}).Handler()
	body, err := os.ReadFile("../metacontroller/testdata/recorded/composite/create.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		path    string
		code    int
	}{
		{"hooks", hooks, "/sync", http.StatusOK},
		{"hooks", hooks, "/api/v1/me", http.StatusNotFound},
		{"hooks", hooks, "/v1/order", http.StatusNotFound},
		{"web", web, "/sync", http.StatusNotFound},
		{"web", web, "/finalize", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, strings.NewReader(string(body))))
		if w.Code != c.code {
			t.Errorf("%s, %s: %d", c.name, c.path, w.Code)
		}
	}
	const want = `
# HELP cairn_metacontroller_hooks_total Hooks that metacontroller called. hook is composite or decorator; result is answered, rejected or busy.
# TYPE cairn_metacontroller_hooks_total counter
cairn_metacontroller_hooks_total{hook="composite",result="answered"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cairn_metacontroller_hooks_total"); err != nil {
		t.Error(err)
	}
}
