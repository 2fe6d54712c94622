package operator

import (
	"log/slog"
	"testing"
)

func TestHostOfACertificateDiffersFromThatOfRunners(t *testing.T) {
	for name, tt := range map[string]struct {
		folder, public  string
		there, rejected bool
	}{
		"no folder":           {"", "https://cairn.example.com", false, false},
		"a host of its own":   {"/etc/cairn", "https://cairn.example.com:443", true, false},
		"the host of runners": {"/etc/cairn", "https://cairn.cairn-system.svc", false, true},
		"an IP address, which TLS clients do not send": {"/etc/cairn", "https://192.0.2.1", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{CertDir: tt.folder, ServerURL: "https://cairn.cairn-system.svc:8443", PublicURL: tt.public}
			at, err := endpointsOf(o, slog.New(slog.DiscardHandler))
			if (at.certificate != nil) != tt.there || (err != nil) != tt.rejected {
				t.Errorf("%v, %v", at.certificate, err)
			}
		})
	}
}
