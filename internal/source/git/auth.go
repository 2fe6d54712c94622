package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"

	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/source/git/credentials"
)

// Auth has the credentials for a remote. The zero value has none.
type Auth = credentials.Auth

// ParseAuth reads the Secret of a Repository. What does not fit together or to the URL is rejected, with the key to
// correct.
func ParseAuth(url string, data map[string][]byte) (Auth, error) {
	remote, err := parseRemote(url)
	if err != nil {
		return Auth{}, err
	}
	secret, err := credentials.Parse(data)
	var a Auth
	switch {
	case err != nil:
	case remote.scheme == "ssh":
		a, err = secret.SSH()
	default:
		a, err = secret.HTTP()
	}
	if err != nil {
		return Auth{}, fail(ErrConfig, "%s", err)
	}
	if a.GitHubApp != nil {
		if _, err := tokens(a.GitHubApp, nil); err != nil {
			return Auth{}, err
		}
	}
	return a, nil
}

// Remote is a repository elsewhere, and who we are there.
type Remote struct {
	URL  string
	Auth Auth
}

// apps caches the token of the installation that was requested last: GitHub's tokens expire after an hour, and a
// new one is requested a minute before.
type apps struct {
	// turn has one while a token is requested. No caller waits for it longer than its ctx.
	turn chan struct{}

	mu    sync.Mutex
	app   *credentials.GitHubApp
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
	by, err := httpClient(a, to)
	if err != nil {
		return nil, err
	}
	transport, err := tokens(a.GitHubApp, by.Transport)
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

// tokens asks for an app's tokens by way of another transport, which may be nil when none will be asked for.
func tokens(g *credentials.GitHubApp, way http.RoundTripper) (*ghinstallation.Transport, error) {
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

// httpClient sends HTTP requests as git does: to the same addresses, with the same certificates, no credentials
// elsewhere. It follows redirects only of requests that have none.
func httpClient(a Auth, to *egress.Guard) (*http.Client, error) {
	pool, err := a.Pool()
	if err != nil {
		return nil, fail(ErrConfig, "%s", err)
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
		if first.Header.Get("Authorization") != "" || first.Method != http.MethodGet || len(before) > 5 ||
			next.URL.Scheme != first.URL.Scheme {
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
