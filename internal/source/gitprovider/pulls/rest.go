package pulls

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"cairn.dev/cairn/internal/base/shorten"
)

// maxResponse is the maximum size of a response in bytes.
const maxResponse = 16 << 20

// notTheForm is the message for a response that cannot be decoded.
const notTheForm = "the response is no JSON of the expected form"

// errTooLarge: a response is larger than maxResponse.
var errTooLarge = errors.New("the response is too large")

// rest sends requests to an API of JSON over HTTP.
type rest struct {
	// base is the URL of the API, without a slash at its end.
	base string
	web  *http.Client
	// scheme and token are the credentials. Without token, a request keeps those that it has.
	scheme string
	token  func(context.Context) (string, error)
	now    func() time.Time
	// message returns the message of an error in a form of this Git provider; nil if it only has the usual form, and
	// empty for another one.
	message func(data []byte) string
}

// fixed returns a token that does not expire.
func fixed(token string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return token, nil }
}

// call sends a request and decodes the response into a value, unless that is nil. It returns the header of the
// response.
func (r *rest) call(ctx context.Context, method, path string, query url.Values, body, into any) (http.Header, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	address := r.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := r.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if into == nil {
		return response.Header, nil
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return nil, errForm(response.StatusCode)
	}
	return response.Header, nil
}

// errForm is the error for a response that cannot be decoded.
func errForm(status int) *Error { return &Error{Kind: Invalid, Status: status, Message: notTheForm} }

// RoundTrip sends a request with the credentials by way of web. It returns the error of a response that is no success,
// and another response with its body in memory: so an SDK that sends its requests by it neither reads without a limit,
// retries, nor waits.
func (r *rest) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	request = request.Clone(ctx)
	if r.token != nil {
		token, err := r.token(ctx)
		if err != nil {
			return nil, failed(ctx, err)
		}
		request.Header.Set("Authorization", r.scheme+" "+token)
	}
	web := *r.web
	web.CheckRedirect = sameServer
	response, err := web.Do(request) //nolint:gosec // web rejects the addresses that tenants may not name
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if redirected, ok := errors.AsType[*Error](err); ok {
			return nil, redirected
		}
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) { // which has the URL
			err = wrapped.Err
		}
		return nil, &Error{Kind: Unavailable, Message: err.Error()}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, &Error{Kind: Unavailable, Message: err.Error()}
	case len(data) > maxResponse:
		return nil, &Error{Kind: Invalid, Status: response.StatusCode, Message: errTooLarge.Error()}
	case response.StatusCode/100 != 2:
		_, secret, _ := strings.Cut(request.Header.Get("Authorization"), " ")
		return nil, r.failure(response, data, secret)
	}
	response.Body = io.NopCloser(bytes.NewReader(data))
	return response, nil
}

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// sameServer rejects a redirect to another server, which would get the token: net/http sends it to each port of the
// host, and to its subdomains.
func sameServer(next *http.Request, before []*http.Request) error {
	switch from := before[0].URL; {
	case next.URL.Scheme != from.Scheme || next.URL.Host != from.Host:
		return &Error{Kind: Invalid, Message: "the Git provider redirects to " + next.URL.Scheme + "://" +
			next.URL.Host +
			", which does not get the token of " + from.Scheme + "://" + from.Host +
			": set spec.url of the Repository to the URL of that server"}
	case len(before) > maxRedirects:
		return &Error{Kind: Invalid, Message: "the Git provider redirects without end"}
	}
	return nil
}

// failed returns the error of a call of an SDK that sends its requests by RoundTrip: what is no error of that is one of
// decoding.
func failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return errForm(http.StatusOK)
}

// failure returns the error of a response.
func (r *rest) failure(response *http.Response, data []byte, secret string) *Error {
	e := &Error{Kind: Invalid, Status: response.StatusCode, Message: r.describe(data, secret),
		RetryAfter: r.retryAfter(response.Header)}
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && (e.RetryAfter > 0 ||
		strings.Contains(e.Message, "secondary rate limit")):
		e.Kind = RateLimited
	case code == http.StatusUnauthorized:
		e.Kind = Unauthorized
	case code == http.StatusForbidden:
		e.Kind = Forbidden
	case code == http.StatusNotFound, code == http.StatusGone:
		e.Kind = NotFound
	case code == http.StatusMethodNotAllowed:
		e.Kind = NotAllowed
	case code == http.StatusConflict:
		e.Kind = Conflict
	case code >= 500:
		e.Kind = Unavailable
	}
	return e
}

// maxRetryAfter bounds what a Git provider can ask for.
const maxRetryAfter = 2 * time.Hour

// retryAfter returns how long to wait: Retry-After in seconds or, if nothing remains of the rate, the time of its
// reset.
func (r *rest) retryAfter(h http.Header) time.Duration {
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if reset, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil &&
		h.Get("X-Ratelimit-Remaining") == "0" {
		return min(max(time.Unix(reset, 0).Sub(r.now()), time.Second), maxRetryAfter)
	}
	return 0
}

// describe returns the message of a response of an error.
func (r *rest) describe(data []byte, secret string) string {
	var e struct{ Message string }
	_ = json.Unmarshal(data, &e) // a proxy sends another form
	text := e.Message
	if text == "" && r.message != nil {
		text = r.message(data)
	}
	return oneLine(cmp.Or(text, string(data)), secret)
}

// oneLine returns a message in one line of at most 300 bytes, without a secret: a proxy may repeat the request in it.
func oneLine(text, secret string) string {
	text = strings.Join(strings.Fields(text), " ")
	if secret != "" {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return shorten.Bytes(text, 300)
}
