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
)

// apps remembers the token of the installation that was asked for last: GitHub gives one for an hour, and it is asked
// for again a minute before it ends.
type apps struct {
	// turn has one while a token is asked for. Nobody waits for it longer than the own ctx says.
	turn chan struct{}

	mu    sync.Mutex
	app   *GitHubApp
	ca    []byte
	token *ghinstallation.Transport
}

func newApps() *apps { return &apps{turn: make(chan struct{}, 1)} }

// resolve makes an app's token a password, which is how git sends it. Other credentials stay as they are.
func (s *apps) resolve(ctx context.Context, a Auth) (Auth, error) {
	if a.GitHubApp == nil {
		return a, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Auth{}, stopped(ctx, "asking GitHub for a token")
	}
	transport, err := s.transport(a)
	if err != nil {
		return Auth{}, err
	}
	token, err := transport.Token(ctx)
	if err != nil {
		return Auth{}, explainApp(ctx, err)
	}
	return Auth{Username: "x-access-token", Password: token, CA: a.CA}, nil
}

func (s *apps) transport(a Auth) (*ghinstallation.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != nil && reflect.DeepEqual(s.app, a.GitHubApp) && string(s.ca) == string(a.CA) {
		return s.token, nil
	}
	client, err := a.client()
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
		return nil, fail(ErrConfig, "the Secret's key githubAppBaseURL is no URL: https://api.github.com, or https://<host>/api/v3")
	}
	return transport, nil
}

func explainApp(ctx context.Context, err error) error {
	var answer *ghinstallation.HTTPError
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, "asking GitHub for a token")
	case !errors.As(err, &answer) || answer.Response == nil:
		return fail(ErrUnreachable, "GitHub's API gives no token: it cannot be reached, or its answer cannot be read")
	}
	answer.Response.Body.Close()
	status := answer.Response.StatusCode
	if status >= 500 || status == http.StatusTooManyRequests {
		return fail(ErrUnreachable, "GitHub's API gives no token: it answers %d; it may be down", status)
	}
	return fail(ErrAuthentication, "GitHub's API gives no token: it answers %d; correct githubAppID, githubAppInstallationID or githubAppPrivateKey", status)
}

// client makes HTTP requests as git does: the same certificates, no credentials elsewhere. It follows redirects only of
// requests that have none.
func (a Auth) client() (*http.Client, error) {
	pool, err := a.pool()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
	}
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		first := before[0]
		if first.Header.Get("Authorization") != "" || first.Method != http.MethodGet || len(before) > 5 || next.URL.Scheme != first.URL.Scheme {
			return http.ErrUseLastResponse
		}
		return nil
	}}, nil
}

// readAll reads a small answer.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fail(ErrTooLarge, "an answer of more than %d bytes", limit)
	}
	return data, err
}
