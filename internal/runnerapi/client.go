package runnerapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Error is the server's response to a request that failed.
type Error struct {
	// Code is the HTTP status.
	Code int
	// Reason is for programs; empty for most errors.
	Reason string
	// Message is the body of the answer. For a lock that is held it is the holder's info.
	Message string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code))
	}
	return fmt.Sprintf("the server answered %d: %s", e.Code, e.Message)
}

// Code returns the HTTP status of an answer that is an error, or 0 when there was no answer.
func Code(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return 0
}

// ClientOptions configure how a runner reaches the server.
type ClientOptions struct {
	// URL of the server, https.
	URL string
	// CA is the PEM of the only authorities that the server's certificate may be from.
	CA []byte
	// TokenFile holds the token. It is read for each request: the kubelet renews it.
	TokenFile string
	// Session is the key that the server binds the pod to; a random one when empty. It has to stay in memory.
	Session string
	// Patience is how long a request is tried again while the server does not answer, or answers 429 or 5xx, or 401 to
	// a token that has expired. Zero tries once.
	Patience time.Duration
}

// Client speaks to the server for one attempt.
type Client struct {
	base     string
	http     *http.Client
	token    string
	session  string
	attempt  int32
	patience time.Duration
}

// NewClient creates a Client for no attempt yet.
func NewClient(o ClientOptions) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("the server's URL: %w", err)
	}
	if base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the server's URL %q is not https", o.URL)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("no certificate authority for the server")
	}
	return &Client{
		base: strings.TrimSuffix(base.String(), "/"), token: o.TokenFile, patience: o.Patience,
		session: cmp.Or(o.Session, rand.Text()),
		http: &http.Client{
			Transport: transport(authorities),
			// A token must not follow a redirect to somewhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// transport keeps one connection open for everything. It asks no proxy: those in the environment are the engine's.
func transport(authorities *x509.CertPool) *http.Transport {
	return &http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// For returns a Client for an attempt, with a patience of its own, over the same connection.
func (c *Client) For(attempt int32, patience time.Duration) *Client {
	other := *c
	other.attempt, other.patience = attempt, patience
	return &other
}

// Close closes the idle connection, for a process that continues without the Client.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Impatient returns the same Client with at most this patience.
func (c *Client) Impatient(patience time.Duration) *Client {
	return c.For(c.attempt, min(patience, c.patience))
}

// call is a request that may be sent many times.
type call struct {
	method, path string
	query        url.Values
	// body of size bytes, or all of data.
	body io.ReaderAt
	size int64
	data []byte
	// take reads the answer. It starts again when the request is sent again.
	take func(*reader) error
	// largest is how large an answer in JSON may be; largestAnswer when zero. One that mayBeEmpty need not be there.
	largest    int64
	mayBeEmpty bool
	// later reads an answer with code 202 in its place, if it is there.
	later func(*reader) error
}

// longestMessage is how much is read of an answer that is an error.
const longestMessage = 64 << 10

// do sends a request, again and again while the server is away, until patience or ctx is over.
func (c *Client) do(ctx context.Context, r call) error {
	until := time.Now().Add(c.patience)
	for try := 0; ; try++ {
		err := c.send(ctx, r)
		away, ok := errors.AsType[*awayError](err)
		if !ok {
			return err
		}
		wait := pause(try)
		if ctx.Err() != nil || time.Now().Add(wait).After(until) {
			return away.error
		}
		select {
		case <-ctx.Done():
			return away.error
		case <-time.After(wait):
		}
	}
}

// pause between two tries: it doubles from 100 ms up to 10 s, and a random half of it keeps runners apart.
func pause(try int) time.Duration {
	full := min(100*time.Millisecond<<min(try, 10), 10*time.Second)
	return full/2 + mathrand.N(full/2) //nolint:gosec // spreads load, guards nothing
}

// awayError is one that may pass.
type awayError struct{ error }

func (c *Client) send(ctx context.Context, r call) error {
	request, err := c.request(ctx, r)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return &awayError{err}
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, longestMessage))
		err := &Error{Code: answer.StatusCode, Reason: answer.Header.Get(ReasonHeader),
			Message: strings.TrimSpace(string(text))}
		if err.Code == http.StatusTooManyRequests || err.Code >= 500 ||
			err.Code == http.StatusUnauthorized && expired(request, time.Now()) {
			return &awayError{err}
		}
		return err
	}
	body := &reader{from: answer.Body, size: answer.ContentLength}
	switch {
	case answer.StatusCode == http.StatusAccepted && r.later != nil:
		err = r.later(body)
	case r.take != nil:
		err = r.take(body)
	}
	if body.err != nil {
		return &awayError{fmt.Errorf("%s %s: %w", r.method, r.path, body.err)}
	}
	return err
}

// reader remembers whether it was the reading that went wrong, which may pass, and not what was done with the bytes.
type reader struct {
	from io.Reader
	// size is the declared one of the answer; negative when it is not known.
	size int64
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	token, err := os.ReadFile(c.token)
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address, nil)
	if err != nil {
		return nil, err
	}
	if r.data != nil {
		r.body, r.size = bytes.NewReader(r.data), int64(len(r.data))
	}
	if r.body != nil && r.size > 0 {
		request.ContentLength = r.size
		request.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(r.body, 0, r.size)), nil
		}
		if request.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	request.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	request.Header.Set(SessionHeader, c.session)
	if c.attempt > 0 {
		request.Header.Set(AttemptHeader, strconv.FormatInt(int64(c.attempt), 10))
	}
	return request, nil
}

// expired returns whether the token of a request was expired by its own claim: the kubelet is late to renew it, as
// after its machine slept or while it is away, and a state must not be given up for that. A token that is none of
// Kubernetes has not expired.
func expired(request *http.Request, now time.Time) bool {
	parts := strings.Split(request.Header.Get("Authorization"), ".")
	if len(parts) != 3 {
		return false
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Unmarshal(data, &claims) == nil && claims.Expires > 0 &&
		now.Unix() >= int64(claims.Expires)
}
