package release

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/test/releases"
)

// The mirror accepts the connection and sends nothing.
func TestUnresponsiveMirrorIsReportedWithinTheTimeout(t *testing.T) {
	over := make(chan struct{})
	m := releases.New(t, tofu("1.8.0", "one"))
	m.Hold = func(*http.Request) { <-over }
	t.Cleanup(func() { close(over) })
	r := newFixture(t, m, func(o *Options) {
		o.Client = &http.Client{Transport: download.Transport(egresstest.Loopback(), 50*time.Millisecond)}
	})
	began := time.Now()
	_, found := r.Find(t.Context(), OpenTofu, "")
	_, got := r.get("1.8.0")
	for what, err := range map[string]error{"the list": found, "the program": got} {
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), m.URL) ||
			!strings.Contains(err.Error(), "--engine-mirror=OpenTofu=URL") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if own, ok := careful(nil, nil).Transport.(*egress.Transport); !ok ||
		own.Direct.ResponseHeaderTimeout != download.Answer || own.Proxied.TLSHandshakeTimeout != download.Answer {
		t.Errorf("by default it is another: %+v", own)
	}
}

// The query may contain a credential.
func TestErrorOmitsTheQueryOfARedirect(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	redirects := http.RedirectHandler("http://127.0.0.1:1/file?signature=canary", http.StatusFound)
	server := httptest.NewServer(redirects)
	t.Cleanup(server.Close)
	r := newFixture(t, m, func(o *Options) { o.Mirrors[OpenTofu] = server.URL })
	if _, err := r.get("1.8.0"); !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "canary") ||
		!strings.Contains(err.Error(), "http://127.0.0.1:1/file") {
		t.Errorf("%v", err)
	}
}
