package release

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"cairn.dev/cairn/internal/download"
)

// web is a source over HTTP.
type web struct {
	client *http.Client
	// indexes are addresses of a list of versions; the first that is there counts.
	indexes []string
	// release is the address of a release's folder, with {version} in it.
	release string
	// keyFile is the address of the maker's public key.
	keyFile string
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

func (w web) address(version, file string) string {
	return strings.ReplaceAll(w.release, "{version}", version) + "/" + url.PathEscape(file)
}

func (w web) at(version, file string) string { return w.shown(w.address(version, file)) }

func (w web) keyAt() string { return w.shown(w.keyFile) }

// shown is an address without its password.
func (w web) shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return w.name
	}
	return u.Redacted()
}

func (w web) key(ctx context.Context) (body, error) { return w.get(ctx, w.keyFile) }

func (w web) open(ctx context.Context, version, file string) (body, error) {
	return w.get(ctx, w.address(version, file))
}

func (w web) get(ctx context.Context, address string) (body, error) {
	ctx, through, over := download.Watch(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		over()
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	answer, err := w.client.Do(request) //nolint:bodyclose // the caller closes it
	if err != nil {
		over()
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, withoutQuery(err))
	}
	from := through(answer.Body)
	if answer.StatusCode == http.StatusOK {
		return body{tagged{from, ErrUnreachable}, from, answer.ContentLength}, nil
	}
	from.Close()
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone {
		return body{}, fmt.Errorf("%s: %w", request.URL.Redacted(), errMissing)
	}
	return body{}, fmt.Errorf("%w: %s answered %s", ErrUnreachable, request.URL.Redacted(), answer.Status)
}

// withoutQuery leaves the query out of the address that an error names: the query of a redirect may contain a credential.
func withoutQuery(err error) error {
	var asked *url.Error
	if !errors.As(err, &asked) {
		return err
	}
	u, bad := url.Parse(asked.URL)
	if bad != nil {
		return asked.Err
	}
	u.RawQuery, u.User = "", nil
	return fmt.Errorf("%s: %w", u, asked.Err)
}

// careful gives a client that follows a redirect only as safely as it began: the way from https leads to https.
func careful(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{Transport: download.Transport(0)}
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
