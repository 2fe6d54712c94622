package pulls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
	// scheme and token are the credentials. Example: token.
	scheme, token string
	now           func() time.Time
}

// call sends a request and decodes the response into a value, unless that is nil. It returns the header of the response.
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
	request.Header.Set("Authorization", r.scheme+" "+r.token)
	response, err := r.web.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
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
		return nil, r.failure(response, data)
	case into == nil:
		return response.Header, nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, &Error{Kind: Invalid, Status: response.StatusCode, Message: notTheForm}
	}
	return response.Header, nil
}

// failure returns the error of a response.
func (r *rest) failure(response *http.Response, data []byte) *Error {
	e := &Error{Kind: Invalid, Status: response.StatusCode, Message: r.message(data), RetryAfter: r.retryAfter(response.Header)}
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && e.RetryAfter > 0:
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

// retryAfter returns how long to wait: Retry-After in seconds or, if nothing remains of the rate, the time of its reset.
func (r *rest) retryAfter(h http.Header) time.Duration {
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if reset, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil && h.Get("X-Ratelimit-Remaining") == "0" {
		return min(max(time.Unix(reset, 0).Sub(r.now()), time.Second), maxRetryAfter)
	}
	return 0
}

// message returns the message of a response of an error, at most 300 bytes in one line. A proxy may repeat the request in it.
func (r *rest) message(data []byte) string {
	var e struct{ Message string }
	text := string(data)
	if json.Unmarshal(data, &e) == nil && e.Message != "" {
		text = e.Message
	}
	text = strings.Join(strings.Fields(text), " ")
	if r.token != "" {
		text = strings.ReplaceAll(text, r.token, "***")
	}
	for len(text) > 300 {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
