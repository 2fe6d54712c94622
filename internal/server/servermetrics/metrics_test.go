package servermetrics

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"cairn.dev/cairn/internal/runnerapi"
)

// valuesOf returns the values of a registry: of counters and gauges what they are, of histograms how many there were.
func valuesOf(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "cairn_")
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			switch {
			case m.Counter != nil:
				all[name] = m.Counter.GetValue()
			case m.Gauge != nil:
				all[name] = m.Gauge.GetValue()
			case m.Histogram != nil:
				all[name] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return all
}

func TestRequestsAreCountedByRoute(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, mux := New(registry), http.NewServeMux()
	var during float64
	mux.HandleFunc("PUT /v1/objects/{name}", func(w http.ResponseWriter, r *http.Request) {
		during = valuesOf(t, registry)["server_requests_in_flight"]
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "taken")
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("POST /v1/half", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ha")
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("GET /v1/nothing", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(m.Measure(mux))
	defer server.Close()
	for _, ask := range []struct{ method, path, body string }{
		{"PUT", "/v1/objects/canary", "four"}, {"PUT", "/v1/objects/canary2", ""}, {"POST", "/v1/half", ""},
		{"GET", "/v1/nothing", ""}, {"GET", "/canary", ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), ask.method, server.URL+ask.path, strings.NewReader(ask.body))
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}
	server.Close() // waits for all
	want := map[string]float64{
		"server_requests_total 409 PUT /v1/objects/{name}": 2, "server_requests_total aborted POST /v1/half": 1,
		"server_requests_total 200 GET /v1/nothing": 1, "server_requests_total 404 none": 1,
		"server_request_duration_seconds PUT /v1/objects/{name}": 2, "server_request_duration_seconds POST /v1/half": 1,
		"server_request_duration_seconds GET /v1/nothing": 1, "server_request_duration_seconds none": 1,
		"server_requests_in_flight": 0, "server_bytes_total received": 4,
		"server_bytes_total sent": 2*5 + 2 + float64(len("404 page not found\n")),
		"log_bytes_total":         0, "runner_token_misuses_total": 0,
	}
	if diff := cmp.Diff(want, valuesOf(t, registry)); diff != "" {
		t.Error(diff)
	}
	if during != 1 {
		t.Errorf("%v in flight while one was", during)
	}
}

func TestPolicyResultsAndWebhooksAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := New(registry)
	m.PolicyChecked(time.Now(), runnerapi.PolicyResult{Checked: 1}, nil)
	m.PolicyChecked(time.Now(),
		runnerapi.PolicyResult{Checked: 1, Findings: []runnerapi.Finding{{Action: runnerapi.RequireApproval}}}, nil)
	m.PolicyChecked(time.Now(),
		runnerapi.PolicyResult{Checked: 1, Findings: []runnerapi.Finding{{Action: runnerapi.Deny}}}, nil)
	m.PolicyChecked(time.Now(), runnerapi.PolicyResult{}, errors.New("too much"))
	m.Webhook("GitHub", "accepted")
	m.Webhook("", "rejected")
	m.AddLogBytes(7)
	m.CountTokenMisuse()
	got := valuesOf(t, registry)
	maps.DeleteFunc(got, func(_ string, n float64) bool { return n == 0 })
	want := map[string]float64{
		"policy_check_duration_seconds allowed": 1, "policy_check_duration_seconds approval_required": 1,
		"policy_check_duration_seconds denied": 1, "policy_check_duration_seconds failed": 1,
		"webhooks_total GitHub accepted": 1, "webhooks_total unknown rejected": 1, "log_bytes_total": 7,
		"runner_token_misuses_total": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
