package pki

import (
	"context"
	"crypto/tls"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// certificateEvery is how often the files are read again as long as there is no certificate.
const certificateEvery = 10 * time.Second

// HostCertificate is one that clients trust, for the host of the server's public URL. It is written to a folder by
// another program, such as cert-manager, and read again when it changes. As long as there is none the server shows its
// own.
//
// Runners never see it: they ask for another host, and trust the server's own authorities only.
type HostCertificate struct {
	dir, host string
	log       *slog.Logger
	again     time.Duration
	watcher   atomic.Pointer[certwatcher.CertWatcher]
}

// NewHostCertificate is for those who ask for host; tls.crt and tls.key are in dir.
func NewHostCertificate(dir, host string, log *slog.Logger) *HostCertificate {
	return &HostCertificate{dir: dir, host: host, log: log.With("folder", dir, "host", host), again: certificateEvery}
}

// NeedLeaderElection returns false: every process serves.
func (h *HostCertificate) NeedLeaderElection() bool { return false }

// Start reads the certificate, and again when it changes, until ctx is done. One that cannot be read takes nothing from
// what is served: that is the last one that could be, or the server's own.
func (h *HostCertificate) Start(ctx context.Context) error {
	said := ""
	for {
		watcher, err := certwatcher.New(filepath.Join(h.dir, "tls.crt"), filepath.Join(h.dir, "tls.key"))
		if err == nil {
			said = ""
			watcher.RegisterCallback(h.taken)
			h.watcher.Store(watcher)
			err = watcher.Start(ctx)
		}
		if ctx.Err() != nil {
			return nil // it was asked to end
		}
		if err != nil && err.Error() != said {
			said = err.Error()
			h.log.Warn("no certificate for the public host, so the last one is shown, or the server's own",
				"error", err)
		}
		timer := time.NewTimer(h.again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// taken logs a certificate that is served from now on.
func (h *HostCertificate) taken(cert tls.Certificate) {
	if cert.Leaf == nil {
		return
	}
	if err := cert.Leaf.VerifyHostname(h.host); err != nil {
		h.log.Warn("the certificate for the public host is for another one", "error", err)
		return
	}
	h.log.Info("certificate for the public host", "notAfter", cert.Leaf.NotAfter)
}

// Wrap returns a configuration that serves this certificate for its host, once it was read; other hosts get the
// certificate of config.
func (h *HostCertificate) Wrap(config *tls.Config) *tls.Config {
	if h == nil {
		return config
	}
	own := config.GetCertificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if watcher := h.watcher.Load(); watcher != nil && strings.EqualFold(hello.ServerName, h.host) {
			return watcher.GetCertificate(hello)
		}
		return own(hello)
	}
	return config
}
