package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

var built = fstest.MapFS{
	".gitkeep":               {},
	"index.html":             {Data: []byte("<!doctype html><div id=root>")},
	"index.html.br":          {Data: []byte("packed index")},
	"icon.svg":               {Data: []byte("<svg/>")},
	"assets/main-abc123.js":  {Data: []byte("run()")},
	"assets/main-abc123.css": {Data: []byte("a{}")},
}

// ask sends a request to the page of a folder. Headers are name, value, name, value.
func ask(t *testing.T, dist fstest.MapFS, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler(dist).ServeHTTP(w, r)
	answer := w.Result()
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func TestFiles(t *testing.T) {
	const page, script, forever = "text/html; charset=utf-8", "text/javascript; charset=utf-8",
		"public, max-age=31536000, immutable"
	for _, c := range []struct {
		path        string
		code        int
		kind, cache string
		body        string
	}{
		{"/", 200, page, "no-cache", "<!doctype html><div id=root>"},
		{"/stacks", 200, page, "no-cache", "<!doctype html><div id=root>"},
		{"/stacks/shop/web.v2", 200, page, "no-cache", "<!doctype html><div id=root>"},
		{"/stacks/../../etc/passwd", 200, page, "no-cache", "<!doctype html><div id=root>"},
		{"/assets/main-abc123.js", 200, script, forever, "run()"},
		{"/assets/main-abc123.css", 200, "text/css; charset=utf-8", forever, "a{}"},
		{"/icon.svg", 200, "image/svg+xml", "no-cache", "<svg/>"},
		{"/assets/main-older.js", 404, "text/plain; charset=utf-8", "no-store", "the page has no such file\n"},
		{"/favicon.ico", 404, "text/plain; charset=utf-8", "no-store", "the page has no such file\n"},
		{"/.gitkeep", 404, "text/plain; charset=utf-8", "no-store", "the page has no such file\n"},
		{"/index.html.br", 404, "text/plain; charset=utf-8", "no-store", "the page has no such file\n"},
	} {
		t.Run(c.path, func(t *testing.T) {
			answer, body := ask(t, built, http.MethodGet, c.path)
			if answer.StatusCode != c.code || body != c.body {
				t.Errorf("answered %d %q, want %d %q", answer.StatusCode, body, c.code, c.body)
			}
			if got := answer.Header.Get("Content-Type"); got != c.kind {
				t.Errorf("Content-Type is %q, want %q", got, c.kind)
			}
			if got := answer.Header.Get("Cache-Control"); got != c.cache {
				t.Errorf("Cache-Control is %q, want %q", got, c.cache)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for _, path := range []string{"/", "/assets/main-abc123.js", "/assets/none.js"} {
		answer, _ := ask(t, built, http.MethodGet, path)
		policy := answer.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'self'", "object-src 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
			t.Errorf("%s: the policy %q is wide", path, policy)
		}
		if got := answer.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, got)
		}
		if got := answer.Header.Get("Referrer-Policy"); got != "same-origin" {
			t.Errorf("%s: Referrer-Policy is %q", path, got)
		}
		if answer.Header.Get("Permissions-Policy") == "" || answer.Header.Get("Cross-Origin-Opener-Policy") == "" {
			t.Errorf("%s: headers are missing of %v", path, answer.Header)
		}
	}
}

func TestFilesAreCompressed(t *testing.T) {
	for accept, want := range map[string]string{
		"gzip, deflate, br": "packed index",
		"br;q=0.5":          "packed index",
		"gzip":              "<!doctype html><div id=root>",
		"br;q=0, gzip":      "<!doctype html><div id=root>",
		"brotli":            "<!doctype html><div id=root>",
		"":                  "<!doctype html><div id=root>",
	} {
		answer, body := ask(t, built, http.MethodGet, "/", "Accept-Encoding", accept)
		if body != want {
			t.Errorf("%q: answered %q, want %q", accept, body, want)
		}
		if got := answer.Header.Get("Content-Encoding") == "br"; got != (want == "packed index") {
			t.Errorf("%q: Content-Encoding is %q", accept, answer.Header.Get("Content-Encoding"))
		}
		if answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: Vary is %q", accept, answer.Header.Get("Vary"))
		}
	}
	if answer, body := ask(t, built, http.MethodGet, "/icon.svg", "Accept-Encoding", "br"); body != "<svg/>" ||
		answer.Header.Get("Content-Encoding") != "" {
		t.Errorf("what is not compressed came as %q", body)
	}
}

func TestUnchangedFileIsNotSentAgain(t *testing.T) {
	first, _ := ask(t, built, http.MethodGet, "/")
	packed, _ := ask(t, built, http.MethodGet, "/", "Accept-Encoding", "br")
	if first.Header.Get("ETag") == packed.Header.Get("ETag") {
		t.Errorf("two forms have the one tag %s", first.Header.Get("ETag"))
	}
	if again, body := ask(t, built, http.MethodGet, "/stacks", "If-None-Match",
		first.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("what is known was answered with %d %q", again.StatusCode, body)
	}
	newer := fstest.MapFS{"index.html": {Data: []byte("another")}}
	if again, body := ask(t, newer, http.MethodGet, "/", "If-None-Match", first.Header.Get("ETag")); body != "another" {
		t.Errorf("what is new was answered with %d %q", again.StatusCode, body)
	}
}

func TestWritesAreRejected(t *testing.T) {
	if answer, _ := ask(t, built, http.MethodPost, "/stacks"); answer.StatusCode != http.StatusMethodNotAllowed ||
		answer.Header.Get("Allow") == "" {
		t.Errorf("a write was answered with %d", answer.StatusCode)
	}
	if answer, body := ask(t, built, http.MethodHead, "/"); answer.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD was answered with %d %q", answer.StatusCode, body)
	}
}

func TestMissingWebUIIsReported(t *testing.T) {
	empty := fstest.MapFS{".gitkeep": {}, "assets/left-over.js": {Data: []byte("old()")}}
	for _, path := range []string{"/", "/stacks/shop/web"} {
		answer, body := ask(t, empty, http.MethodGet, path)
		if !strings.Contains(body, "make web build") || !strings.Contains(body, "/api/v1") ||
			answer.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s answered %q, %s", path, body, answer.Header.Get("Cache-Control"))
		}
	}
	if answer, _ := ask(t, empty, http.MethodGet, "/assets/left-over.js"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("half a page was answered with %d", answer.StatusCode)
	}
}

// TestEmbeddedWebUIIsServed passes with and without a page in this program.
func TestEmbeddedWebUIIsServed(t *testing.T) {
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/stacks", nil))
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "<title>Cairn</title>") {
		t.Errorf("answered %d %q", w.Code, body)
	}
	// What the policy would not let run or show is not to be in it.
	for _, inline := range []string{"<style", "style=", "<script>", "javascript:", "http://", "https://"} {
		if strings.Contains(body, inline) {
			t.Errorf("the page has %s", inline)
		}
	}
}
