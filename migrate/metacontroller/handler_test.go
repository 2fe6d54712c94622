package metacontroller

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func call(t testing.TB, h http.Handler, method, path string, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, body))
	return w
}

func TestHandlerAnswers(t *testing.T) {
	h := NewHandler(HandlerOptions{Log: slog.New(slog.DiscardHandler)})
	for hook, paths := range map[string][]string{
		"composite": {"/sync", "/finalize"}, "decorator": {"/metacontroller/configmaps/sync",
			"/metacontroller/configmaps/finalize"},
	} {
		for _, path := range paths {
			w := call(t, h, http.MethodPost, path,
				bytes.NewReader(recorded(t, hook)["testdata/recorded/"+hook+"/create"]))
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" ||
				!json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	for _, c := range []struct {
		path, body string
		code       int
		message    string
	}{
		{"/sync", "", 400, "not what metacontroller sends"},
		{"/sync", `{"parent": []}`, 400, "not what metacontroller sends"},
		{"/sync", `{"body": {"parent": {}}}`, 422, "it has to be a Terraform"},
		{"/sync?apply=now", `{}`, 422, "Manual, Automatic or Never"},
		{"/sync", `{"x": "` + strings.Repeat("x", largest) + `"}`, 413, "too large"},
		{"/metacontroller/configmaps/sync", `{}`, 422, "it has to be a ConfigMap"},
	} {
		w := call(t, h, http.MethodPost, c.path, strings.NewReader(c.body))
		var p struct {
			Status int
			Detail string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != c.code || p.Status != c.code ||
			!strings.Contains(p.Detail, c.message) ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.40s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
	if w := call(t, h, http.MethodGet, "/sync", nil); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
	for of, want := range map[[2]string]float64{
		{"composite", "answered"}: 2, {"decorator", "answered"}: 2,
		{"composite", "rejected"}: 5, {"decorator", "rejected"}: 1,
	} {
		if got := testutil.ToFloat64(h.hooks.WithLabelValues(of[0], of[1])); got != want {
			t.Errorf("%v: %v", of, got)
		}
	}
}

func TestBodiesAreNotLogged(t *testing.T) {
	var lines bytes.Buffer
	h := NewHandler(HandlerOptions{
		Log: slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r := request(t, "create")
	set(r.Parent, Object{"TF_VAR_password": "canary-1"}, "spec", "variables")
	good, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	set(r.Parent, Object{"canary-2": Object{"canary-3": "canary-4"}}, "spec", "variables")
	wrong, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Parent["kind"] = "canary-5"
	other, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range [][]byte{good, wrong, other, []byte(`{"canary-6`), []byte(`{"parent": "canary-7"}`)} {
		call(t, h, http.MethodPost, "/sync", bytes.NewReader(body))
	}
	if n := strings.Count(lines.String(), "\n"); n != 5 || strings.Contains(lines.String(), "canary") {
		t.Errorf("%d lines:\n%s", n, &lines)
	}
}

func TestTooManyRequestsAreRejectedWithRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(HandlerOptions{Log: slog.New(slog.DiscardHandler)})
		for range atOnce {
			h.slots <- struct{}{}
		}
		w := call(t, h, http.MethodPost, "/sync", strings.NewReader(`{}`))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
}
