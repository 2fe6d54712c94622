package metacontroller_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"cairn.dev/cairn/migrate/metacontroller"
)

// TestOnlyHooksAreServedAndCounted checks that the handler serves nothing but the hooks.
func TestOnlyHooksAreServedAndCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	hooks := metacontroller.NewHandler(metacontroller.HandlerOptions{Log: log, Metrics: registry})
	body, err := os.ReadFile("testdata/recorded/composite/create.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		code int
	}{
		{"/sync", http.StatusOK},
		{"/api/v1/me", http.StatusNotFound},
		{"/v1/order", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		hooks.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path,
			strings.NewReader(string(body))))
		if w.Code != c.code {
			t.Errorf("%s: %d", c.path, w.Code)
		}
	}
	const want = `
# HELP cairn_metacontroller_hooks_total Hooks that metacontroller called. hook is composite or decorator; result is answered, rejected or busy.
# TYPE cairn_metacontroller_hooks_total counter
cairn_metacontroller_hooks_total{hook="composite",result="answered"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"cairn_metacontroller_hooks_total"); err != nil {
		t.Error(err)
	}
}
