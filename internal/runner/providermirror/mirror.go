// Package providermirror lets the engine's init take providers from the server.
package providermirror

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

// Mirror serves the server's mirror of providers to the engine's init, on the loopback.
//
// The engine wants a mirror to be at an https URL. The runner serves it, with a certificate that lives as long as the
// init, and passes the requests on: the engine sees neither the server nor the token.
type Mirror struct {
	client     *runnerapi.Client
	onDownload func() func(runnerapi.Download) error
	server     *http.Server
	served     chan struct{}
	// dir has files that are on their way, and trust the certificate.
	dir, trust string
	// url is where the engine finds the mirror; empty if the server has none. The password in it keeps others on the
	// same node out, should the pod be on the host's network: the engine has no other place for one.
	url, password string
	// config is the engine's CLI configuration; folders and images are what it has besides the mirror.
	config  string
	folders []string
	images  *Images
	// env are the variables that lead the engine here.
	env []string

	mu sync.Mutex
	// rejection is why a request failed, and notFound that it was for a file that the mirror does not have, which the
	// engine may find elsewhere.
	rejection string
	notFound  bool
}

// Options of a mirror.
type Options struct {
	// Client sends requests for files of the server's mirror. If it is nil, there is no such mirror.
	Client *runnerapi.Client
	// Images are the providers that come from images.
	Images *Images
	// OnDownload is called for each file, and its result for each answer about the download of that file.
	OnDownload func() func(runnerapi.Download) error
	Log        *slog.Logger
	// Secrets hides the password of the mirror.
	Secrets *redact.Redactor
	// TempDir is the folder that the mirror's own is created in.
	TempDir string
	// Environ is the engine's environment, and Module the folder that it is started in.
	Environ []string
	Module  string
}

// jsonPatience is how long the engine is kept waiting for what is known of a provider while the server is away. An
// archive is waited for as long as for everything else.
const jsonPatience = 90 * time.Second

// Start begins to serve, and configures the engine for it.
func Start(ctx context.Context, o Options) (*Mirror, error) {
	dir, err := os.MkdirTemp(o.TempDir, "providers-")
	if err != nil {
		return nil, err
	}
	m := &Mirror{
		client: o.Client, onDownload: o.OnDownload, served: make(chan struct{}),
		dir: dir, trust: filepath.Join(dir, "trust"), password: rand.Text(),
		config: filepath.Join(dir, "cli.tfrc"), folders: impliedFolders(o.Environ, o.Module), images: o.Images,
	}
	m.env = []string{"TF_CLI_CONFIG_FILE=" + m.config}
	if o.Client != nil {
		o.Secrets.Add(m.password)
		if err := m.serve(ctx, o.Log); err != nil {
			return nil, errors.Join(fmt.Errorf("mirror of providers: %w", err), os.RemoveAll(dir))
		}
		m.env = append(m.env, environment(o.Environ, m.trust)...)
	}
	if err := m.configure(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Mirror) configure() error {
	return os.WriteFile(m.config, []byte(cliConfig(m.url, m.folders, m.images)), 0o600)
}

// CheckImages checks the providers of images against the lock file after an init that failed, and configures the
// engine to take those elsewhere that the lock file rejects. It returns all that are not taken from images, or none if
// another init would be the same. m may be nil.
func (m *Mirror) CheckImages() (unfit []string, err error) {
	if m == nil || m.images.Empty() {
		return nil, nil
	}
	before := len(m.images.unfit)
	if err := m.images.check(); err != nil || len(m.images.unfit) == before {
		return nil, err
	}
	return m.images.Unfit(), m.configure()
}

// serve begins to serve.
func (m *Mirror) serve(ctx context.Context, log *slog.Logger) error {
	certificate, err := loopbackCertificate()
	if err != nil {
		return err
	}
	if err := os.Mkdir(m.trust, 0o700); err != nil {
		return err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(filepath.Join(m.trust, "mirror.pem"), public, 0o600); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.url = "https://" + listener.Addr().String() + "/" + m.password + "/"
	m.server = &http.Server{
		Handler:           m,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(m.served)
		if err := m.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the mirror of providers ended", "error", err)
		}
	}()
	return nil
}

// loopbackCertificate creates a self-signed certificate for the loopback, and for nothing else. Its key is written
// nowhere.
func loopbackCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(7 * 24 * time.Hour), // longer than any attempt
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, err
}

// Close stops the mirror, waits for the requests under way and removes its files. The engine that sent them is gone,
// so that they end.
func (m *Mirror) Close() {
	if m.server != nil {
		_ = m.server.Shutdown(context.Background())
		<-m.served
	}
	_ = os.RemoveAll(m.dir)
}

// Environment returns the variables that lead the engine to a mirror, which may be nil.
func (m *Mirror) Environment() []string {
	if m == nil {
		return nil
	}
	return m.env
}

// ServeHTTP passes a request for a file of the mirror on to the server. The file is whole before the engine gets
// any of it, so that the mirror waits for a server that goes away in between: the engine would fail.
func (m *Mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, known, ok := mirrored(r.URL.Path, m.password)
	if !known {
		http.Error(w, "not for you", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodGet || !ok {
		http.Error(w, "not a file of a mirror of providers", http.StatusNotFound)
		return
	}
	file, err := os.CreateTemp(m.dir, "file-")
	if err != nil {
		m.fail(w, err)
		return
	}
	defer os.Remove(file.Name()) //nolint:errcheck // its folder is removed too
	defer file.Close()           //nolint:errcheck // it is no longer needed
	client, kind := m.client, "application/zip"
	if filepath.Ext(name) == ".json" {
		client, kind = client.Impatient(jsonPatience), "application/json"
	}
	if err := client.Provider(r.Context(), name, file, m.onDownload()); err != nil {
		m.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, name, time.Time{}, file)
}

// mirrored returns the name of the file that the path of a URL asks for, whether the password in it is right, and
// whether the name may be a mirror's: the runner's token goes with it, so it must lead to nothing else on the server.
func mirrored(url, password string) (name string, known, ok bool) {
	given, name, _ := strings.Cut(strings.TrimPrefix(url, "/"), "/")
	known = subtle.ConstantTimeCompare([]byte(given), []byte(password)) == 1
	return name, known, fs.ValidPath(name) && strings.Count(name, "/") == 3
}

// fail answers with an error and remembers it, because the engine prints only the status. A file that is not found
// may be found elsewhere, so that of two errors the other one counts. The status is none that the engine would retry:
// the mirror has retried.
func (m *Mirror) fail(w http.ResponseWriter, err error) {
	code, text := http.StatusFailedDependency, err.Error()
	if rejected, ok := errors.AsType[*runnerapi.Error](err); ok {
		text = rejected.Message
		if rejected.Code == http.StatusNotFound {
			code = rejected.Code
		}
	}
	m.mu.Lock()
	if m.rejection == "" || m.notFound {
		m.rejection, m.notFound = text, code == http.StatusNotFound
	}
	m.mu.Unlock()
	http.Error(w, text, code)
}

// Rejection returns why a request failed, if one did, of a mirror that may be nil.
func (m *Mirror) Rejection() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rejection
}
