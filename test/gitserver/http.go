package gitserver

import (
	"bytes"
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
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi" //nolint:gosec // only in tests, and not with the Go of the advisory
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// HTTP serves repositories by git's own http-backend, and their LFS files. Its fields may not be changed; its methods
// may be called while it serves.
type HTTP struct {
	// URL of the server, without a slash at its end; a repository is at URL + Path.
	URL string
	// CA is the certificate to trust, PEM, nil for plain HTTP.
	CA []byte

	server *httptest.Server
	git    cgi.Handler

	mu       sync.Mutex
	accept   string // the Authorization header that is let in, "" for all
	status   int
	redirect string
	ask      func(Request) int
	hang     chan struct{}
	stall    chan struct{}
	requests []Request
	objects  map[string][]byte
	lfsURL   string
}

// Request that came.
type Request struct{ Method, Path, Query, Authorization string }

// ServeHTTP serves repositories on this machine, over TLS if wanted, until Close.
func ServeHTTP(repos *Repos, secure bool) (*HTTP, error) {
	return ServeHTTPAt(repos, secure, "127.0.0.1")
}

// ServeHTTPAt serves them to those who find this machine by an IP address.
func ServeHTTPAt(repos *Repos, secure bool, address string) (*HTTP, error) {
	find := exec.CommandContext(context.Background(), "git", "--exec-path")
	find.Env = environment()
	execPath, err := find.Output()
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	h := &HTTP{objects: map[string][]byte{}, git: cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Env:  append(environment(), "GIT_PROJECT_ROOT="+repos.Dir, "GIT_HTTP_EXPORT_ALL=1"),
		// What a test asks for that is not there is no news.
		Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
	}}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	if err := listenAt(h.server, address); err != nil {
		return nil, err
	}
	if secure {
		if err := certify(h.server, address); err != nil {
			return nil, err
		}
		h.server.StartTLS()
		h.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
	} else {
		h.server.Start()
	}
	h.URL, h.lfsURL = h.server.URL, h.server.URL
	return h, nil
}

// listenAt moves a server that has not started to another address of this machine.
func listenAt(server *httptest.Server, address string) error {
	if address == "127.0.0.1" {
		return nil
	}
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return err
	}
	_ = server.Listener.Close() // nobody has connected
	server.Listener = l
	return nil
}

// certify gives a server a certificate for an IP address; httptest's own is for 127.0.0.1 only.
func certify(server *httptest.Server, address string) error {
	if address == "127.0.0.1" {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return nil
}

// CutOff ends all connections, in the middle of what they answer.
func (h *HTTP) CutOff() { h.server.CloseClientConnections() }

// Close ends the server, and with it what it is answering.
func (h *HTTP) Close() error {
	h.Hang(false)
	h.StallLFS(false)
	h.server.CloseClientConnections()
	h.server.Close()
	return nil
}

// RequireBasic lets in only who has the username and password.
func (h *HTTP) RequireBasic(username, password string) {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(username, password)
	h.set(func() { h.accept = req.Header.Get("Authorization") })
}

// RequireBearer lets in only who has the token.
func (h *HTTP) RequireBearer(token string) { h.set(func() { h.accept = "Bearer " + token }) }

// Answer all requests with a status, 0 for what they ask.
func (h *HTTP) Answer(status int) { h.set(func() { h.status = status }) }

// AnswerBy asks a function for the status of each request, 0 for what the request asks. One call is made at a time; nil
// is no function.
func (h *HTTP) AnswerBy(ask func(Request) int) { h.set(func() { h.ask = ask }) }

// Redirect all requests to another server, "" for none.
func (h *HTTP) Redirect(url string) { h.set(func() { h.redirect = url }) }

// Hang lets requests wait until it is called with false.
func (h *HTTP) Hang(hang bool) { h.set(func() { h.hang = gate(h.hang, hang) }) }

// StallLFS lets the answers that have a file of LFS stop in the middle of it until it is called with false.
func (h *HTTP) StallLFS(stall bool) { h.set(func() { h.stall = gate(h.stall, stall) }) }

// gate opens one that there is, and gives a new one if it is to be shut.
func gate(before chan struct{}, shut bool) chan struct{} {
	if before != nil {
		close(before)
	}
	if !shut {
		return nil
	}
	return make(chan struct{})
}

// pass waits at a gate. It says whether the client did too.
func pass(r *http.Request, gate chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Requests that came since the server began, those it refused too.
func (h *HTTP) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

func (h *HTTP) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *HTTP) serve(w http.ResponseWriter, r *http.Request) {
	authorization := r.Header.Get("Authorization")
	h.mu.Lock()
	request := Request{r.Method, r.URL.Path, r.URL.RawQuery, authorization}
	h.requests = append(h.requests, request)
	accept, status, redirect, hang := h.accept, h.status, h.redirect, h.hang
	if h.ask != nil {
		status = h.ask(request)
	}
	h.mu.Unlock()
	if !pass(r, hang) {
		return
	}
	switch {
	case redirect != "":
		http.Redirect(w, r, redirect+r.URL.RequestURI(), http.StatusTemporaryRedirect) //nolint:gosec // where the test says
	case status != 0:
		http.Error(w, http.StatusText(status), status)
	case strings.HasPrefix(r.URL.Path, objectsPath) && r.URL.Query().Get("signature") == signature:
		h.serveObject(w, r)
	case accept != "" && subtle.ConstantTimeCompare([]byte(accept), []byte(authorization)) != 1:
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case strings.HasSuffix(r.URL.Path, "/info/lfs/objects/batch"):
		h.serveBatch(w, r)
	default:
		h.serveGit(w, r)
	}
}

// serveGit reads the body first: CGI has to know its length.
func (h *HTTP) serveGit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<30))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	h.git.ServeHTTP(w, r)
}
