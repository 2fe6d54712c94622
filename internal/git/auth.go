package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/bradleyfalzon/ghinstallation/v2"

	"cairn.dev/cairn/internal/egress"
	"cairn.dev/cairn/internal/redact"
)

// Auth has the credentials for a remote. The zero value has none.
type Auth struct {
	// Username and Password for HTTP.
	Username, Password string
	// BearerToken for HTTP, instead of them.
	BearerToken string
	// Identity is the private key for SSH, Passphrase what it is encrypted with, "" if it is not.
	Identity   []byte
	Passphrase string
	// KnownHosts are the host keys that are taken for SSH; no other is.
	KnownHosts []byte
	// CA are certificates, PEM, that sign the remote's certificate. Empty: those of the machine.
	CA []byte
	// GitHubApp to be known as, by HTTPS.
	GitHubApp *GitHubApp
}

// GitHubApp is an installation of an app.
type GitHubApp struct { //nolint:revive // GitHub is a name, no stutter
	ID, InstallationID int64
	// PrivateKey, PEM.
	PrivateKey []byte
	// BaseURL of the API. Empty: https://api.github.com.
	BaseURL string
}

// Remote is a repository elsewhere, and who we are there.
type Remote struct {
	URL  string
	Auth Auth
}

// String names the kind of credentials, without secrets, so that none gets into a log by accident.
func (a Auth) String() string {
	switch {
	case a.GitHubApp != nil:
		return "GitHub App"
	case a.BearerToken != "":
		return "bearer token"
	case a.Password != "":
		return "password"
	case len(a.Identity) > 0:
		return "SSH key"
	}
	return "anonymous"
}

// GoString is String.
func (a Auth) GoString() string { return a.String() }

// String names the app, without its key.
func (g *GitHubApp) String() string { return "GitHub App" }

// GoString is String.
func (g *GitHubApp) GoString() string { return g.String() }

// secrets are what must not be in a message.
func (a Auth) secrets() *redact.Redactor {
	r := redact.New()
	r.Add(a.Password, a.BearerToken, a.Passphrase, string(a.Identity))
	if a.Password != "" {
		r.Add(basic(a.Username, a.Password))
	}
	if a.GitHubApp != nil {
		r.Add(string(a.GitHubApp.PrivateKey))
	}
	return r
}

func basic(username, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
}

// authorization is the value of the HTTP header with the credentials, "" for none.
func (a Auth) authorization() string {
	switch {
	case a.BearerToken != "":
		return "Bearer " + a.BearerToken
	case a.Username != "" || a.Password != "":
		return "Basic " + basic(a.Username, a.Password)
	}
	return ""
}

// check rejects what could add a header or a line to a file.
func (a Auth) check() error {
	for name, value := range map[string]string{"username": a.Username, "password": a.Password, "bearerToken": a.BearerToken} {
		if strings.ContainsFunc(value, unicode.IsControl) {
			return fail(ErrConfig, "the Secret's key %s has a line break or a control character in it", name)
		}
	}
	if strings.Contains(a.Username, ":") {
		return fail(ErrConfig, "the Secret's key username has a colon in it")
	}
	return nil
}

// pool are the certificates to trust: the machine's, and CA.
func (a Auth) pool() (*x509.CertPool, error) {
	if len(a.CA) == 0 {
		return nil, nil // which crypto/tls takes for the machine's
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(a.CA) {
		return nil, fail(ErrConfig, "the Secret's key ca.crt has no certificate in it: it must be PEM")
	}
	return pool, nil
}

// apps caches the token of the installation that was requested last: GitHub's tokens expire after an hour, and a
// new one is requested a minute before.
type apps struct {
	// turn has one while a token is requested. No caller waits for it longer than its ctx.
	turn chan struct{}

	mu    sync.Mutex
	app   *GitHubApp
	ca    []byte
	token *ghinstallation.Transport
}

// resolve converts an app's token to a password, which is how git sends it. Other credentials stay as they are.
func (s *apps) resolve(ctx context.Context, a Auth, to *egress.Guard) (Auth, error) {
	if a.GitHubApp == nil {
		return a, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Auth{}, stopped(ctx, "asking GitHub for a token")
	}
	transport, err := s.transport(a, to)
	if err != nil {
		return Auth{}, err
	}
	token, err := transport.Token(ctx)
	if err != nil {
		return Auth{}, explainApp(ctx, err)
	}
	return Auth{Username: "x-access-token", Password: token, CA: a.CA}, nil
}

func (s *apps) transport(a Auth, to *egress.Guard) (*ghinstallation.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != nil && reflect.DeepEqual(s.app, a.GitHubApp) && string(s.ca) == string(a.CA) {
		return s.token, nil
	}
	client, err := a.client(to)
	if err != nil {
		return nil, err
	}
	transport, err := a.GitHubApp.transport(client.Transport)
	if err != nil {
		return nil, err
	}
	s.app, s.ca, s.token = a.GitHubApp, a.CA, transport
	return transport, nil
}

// forget the token, which was not accepted: it may have been revoked before its time.
func (s *apps) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = nil
}

// transport asks for tokens by way of another, which may be nil when none will be asked for.
func (g *GitHubApp) transport(way http.RoundTripper) (*ghinstallation.Transport, error) {
	transport, err := ghinstallation.New(way, g.ID, g.InstallationID, g.PrivateKey)
	if err != nil {
		return nil, fail(ErrConfig, "the Secret's key githubAppPrivateKey is no private key that can be read")
	}
	transport.BaseURL = cmp.Or(g.BaseURL, transport.BaseURL)
	if base, err := parseRemote(transport.BaseURL + "/app"); err != nil || base.scheme == "ssh" {
		return nil, fail(ErrConfig, "the Secret's key githubAppBaseURL is no URL: https://api.github.com, or "+
			"https://<host>/api/v3")
	}
	return transport, nil
}

func explainApp(ctx context.Context, err error) error {
	var answer *ghinstallation.HTTPError
	denied, isDenied := errors.AsType[*egress.DeniedError](err)
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, "asking GitHub for a token")
	case isDenied:
		return fail(ErrAddress, "no token from GitHub's API at githubAppBaseURL: %s", denied)
	case !errors.As(err, &answer) || answer.Response == nil:
		return fail(ErrUnreachable, "no token from GitHub's API: it cannot be reached, or its answer cannot be read")
	}
	answer.Response.Body.Close()
	status := answer.Response.StatusCode
	if status >= 500 || status == http.StatusTooManyRequests {
		return fail(ErrUnreachable, "no token from GitHub's API: it answers %d; it may be down", status)
	}
	return fail(ErrAuthentication, "no token from GitHub's API: it answers %d; correct githubAppID, "+
		"githubAppInstallationID or githubAppPrivateKey", status)
}

// client sends HTTP requests as git does: to the same addresses, with the same certificates, no credentials elsewhere.
// It follows redirects only of requests that have none.
func (a Auth) client(to *egress.Guard) (*http.Client, error) {
	pool, err := a.pool()
	if err != nil {
		return nil, err
	}
	transport := to.Transport(&http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
	}, connectTime)
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		first := before[0]
		if first.Header.Get("Authorization") != "" || first.Method != http.MethodGet || len(before) > 5 || next.URL.Scheme != first.URL.Scheme {
			return http.ErrUseLastResponse
		}
		return nil
	}}, nil
}

// connectTime is how long a connection may take.
const connectTime = 20 * time.Second

// readAll reads a small answer.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fail(ErrTooLarge, "an answer of more than %d bytes", limit)
	}
	return data, err
}
