package runner

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
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cairn.dev/cairn/internal/store"
)

// mirror is the providers' way from the store to the engine's init: the store's mirror of providers, on the loopback.
type mirror struct {
	client *store.Client
	log    *slog.Logger
	// following gives what is told of a download.
	following func() func(store.Download) error
	server    *http.Server
	served    chan struct{}
	// dir has files that are on their way, and trust the certificate.
	dir, trust string
	// url is where the engine finds the mirror. The password in it keeps others on the same node out, should the pod be
	// on the host's network: the engine has no other place for one.
	url, password string
	// env leads the engine here.
	env []string

	mu sync.Mutex
	// refusal is why a request went wrong, and passing that it may be of no meaning: the engine asks on elsewhere.
	refusal string
	passing bool
}

// mirrorPatience is how long the engine is kept waiting for what is known of a provider while the store is away. An
// archive is waited for as long as for everything else.
const mirrorPatience = 90 * time.Second

// startMirror begins to serve. dir is its own.
func startMirror(ctx context.Context, dir string, client *store.Client, following func() func(store.Download) error, log *slog.Logger) (*mirror, error) {
	m := &mirror{client: client, log: log, following: following, served: make(chan struct{}), dir: dir, trust: filepath.Join(dir, "trust"), password: rand.Text()}
	certificate, err := loopbackCertificate()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(m.trust, 0o700); err != nil {
		return nil, err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(filepath.Join(m.trust, "mirror.pem"), public, 0o600); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
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
	return m, nil
}

// loopbackCertificate makes a certificate for the loopback that vouches for itself and for nothing else. Its key is
// written nowhere.
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

// close ends it and waits for the requests under way: who made them is gone, and so they end.
func (m *mirror) close() {
	_ = m.server.Shutdown(context.Background())
	<-m.served
}

// environment gives what leads the engine to a mirror, which may be nil.
func (m *mirror) environment() []string {
	if m == nil {
		return nil
	}
	return m.env
}

// ServeHTTP passes a request for a file of the mirror on to the store. The file is whole before the engine gets any of
// it, so that a store that goes away in between is waited for here: the engine would give up.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	if path.Ext(name) == ".json" {
		client, kind = client.Impatient(mirrorPatience), "application/json"
	}
	if err := client.Provider(r.Context(), name, file, m.following()); err != nil {
		m.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, name, time.Time{}, file)
}

// mirrored gives the name of the file that a path asks for, and says whether the password in it is right, and whether
// the name may be a mirror's: the runner's token goes with it, so it must lead to nothing else in the store.
func mirrored(path, password string) (name string, known, ok bool) {
	given, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	known = subtle.ConstantTimeCompare([]byte(given), []byte(password)) == 1
	return name, known, fs.ValidPath(name) && strings.Count(name, "/") == 3
}

// fail answers with an error and remembers it, because the engine tells only the number. What is not there may be found
// elsewhere, so of two errors the other one counts. The number is none that the engine would try again at: who was to be
// waited for was waited for.
func (m *mirror) fail(w http.ResponseWriter, err error) {
	code, text := http.StatusFailedDependency, err.Error()
	var refused *store.Error
	if errors.As(err, &refused) {
		text = refused.Message
		if refused.Code == http.StatusNotFound {
			code = refused.Code
		}
	}
	m.mu.Lock()
	if m.refusal == "" || m.passing {
		m.refusal, m.passing = text, code == http.StatusNotFound
	}
	m.mu.Unlock()
	http.Error(w, text, code)
}

// refused gives why a request went wrong, if one did, of a mirror that may be nil.
func (m *mirror) refused() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusal
}
