package operator

import (
	"log/slog"
	"net/url"
	"testing"

	"cairn.dev/cairn/internal/server"
)

func TestACertificateIsForAHostThatRunnersDoNotAskFor(t *testing.T) {
	store, err := url.Parse("https://cairn.cairn-system.svc:8443")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		folder, public string
		there, refused bool
	}{
		"no folder":                     {"", "https://cairn.example.com", false, false},
		"a host of its own":             {"/etc/cairn", "https://cairn.example.com:443", true, false},
		"the host of runners":           {"/etc/cairn", "https://cairn.cairn-system.svc", false, true},
		"an address, which nobody says": {"/etc/cairn", "https://192.0.2.1", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			certificate, err := certificateOf(Options{CertDir: tt.folder}, store, server.Public{URL: tt.public}, slog.New(slog.DiscardHandler))
			if (certificate != nil) != tt.there || (err != nil) != tt.refused {
				t.Errorf("%v, %v", certificate, err)
			}
		})
	}
}
