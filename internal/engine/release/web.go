package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// web is a source over HTTP.
type web struct {
	client *http.Client
	// indexes are addresses of a list of versions; the first that is there counts.
	indexes []string
	// release is the address of a release's folder, with {version} in it.
	release string
	name    string
}

func (w web) String() string { return w.name }

func (w web) versions(ctx context.Context) ([]string, error) {
	for _, address := range w.indexes {
		body, err := w.get(ctx, address)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data, err := readSmall(body, largestIndex)
		if err != nil {
			return nil, err
		}
		return parseIndex(data)
	}
	return nil, fmt.Errorf("%s has no list of versions", w.name)
}

func (w web) open(ctx context.Context, version, file string) (io.ReadCloser, error) {
	return w.get(ctx, strings.ReplaceAll(w.release, "{version}", version)+"/"+url.PathEscape(file))
}

func (w web) get(ctx context.Context, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if answer.StatusCode == http.StatusOK {
		return body{tagged{answer.Body, ErrUnreachable}, answer.Body}, nil
	}
	answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone {
		return nil, fmt.Errorf("%s: %w", request.URL.Redacted(), errMissing)
	}
	return nil, fmt.Errorf("%w: %s answered %s", ErrUnreachable, request.URL.Redacted(), answer.Status)
}

// body reads what came, with errors that say that they may pass.
type body struct {
	io.Reader
	io.Closer
}

// careful gives a client that follows a redirect only as safely as it began: the way from https leads to https.
func careful(c *http.Client) *http.Client {
	if c == nil {
		transport, _ := http.DefaultTransport.(*http.Transport)
		transport = cmp.Or(transport, &http.Transport{}).Clone()
		transport.ResponseHeaderTimeout = time.Minute
		c = &http.Client{Transport: transport}
	}
	other := *c
	other.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if len(before) >= 10 {
			return errors.New("more than ten redirects")
		}
		if before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return fmt.Errorf("a redirect away from https, to %s", next.URL.Redacted())
		}
		return nil
	}
	return &other
}
