package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/weightedlru"
)

// What is taken from a registry at most, and how long it may take.
const (
	largestIndex   = 8 << 20
	largestArchive = 2 << 30
	longestIndex   = 30 * time.Second
	longestArchive = 15 * time.Minute
	mostRedirects  = 5
)

// registry speaks the protocol of registries of providers.
type registry struct {
	client *http.Client
	// largest archive that is taken, in bytes.
	largest int64
	fresh   time.Duration
	now     func() time.Time
	// services are where hosts have their registry.
	services *lru.Cache[string, service]
}

type service struct {
	url *url.URL
	at  time.Time
}

func newRegistry(o Options) registry {
	client := http.Client{Transport: download.Transport(o.Egress, 0)}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) > mostRedirects:
			return errors.New("too many redirects")
		case r.URL.Scheme != "https":
			return errors.New("a redirect to what is not https")
		}
		return nil
	}
	return registry{
		client: &client, largest: largestArchive, fresh: o.Fresh, now: o.Now,
		services: weightedlru.Sized[string, service](mostKnown),
	}
}

// versions lists the versions of a provider.
func (r registry) versions(ctx context.Context, p Provider) (listing, error) {
	data, _, err := r.ask(ctx, p, "versions")
	if err != nil {
		return listing{}, err
	}
	return parseVersions(data)
}

// download asks where the archive of a version for a platform is.
func (r registry) download(ctx context.Context, p Provider, version string, platform Platform) (location, error) {
	data, at, err := r.ask(ctx, p, version, "download", platform.OS, platform.Arch)
	if err != nil {
		return location{}, err
	}
	d, err := parseDownload(data, at, platform)
	if err != nil {
		return location{}, fmt.Errorf("%s %s: %w", p, version, err)
	}
	return d, nil
}

// ask asks a provider's registry about it.
func (r registry) ask(ctx context.Context, p Provider, path ...string) ([]byte, *url.URL, error) {
	base, err := r.discover(ctx, p.Hostname)
	if err != nil {
		return nil, nil, err
	}
	return r.get(ctx, base.JoinPath(append([]string{p.Namespace, p.Type}, path...)...))
}

// discover finds where a host has its registry.
func (r registry) discover(ctx context.Context, host string) (*url.URL, error) {
	if known, ok := r.services.Get(host); ok && r.now().Sub(known.at) < r.fresh {
		return known.url, nil
	}
	data, at, err := r.get(ctx, &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"})
	if err != nil {
		return nil, err
	}
	found, err := parseDiscovery(data, at)
	if err != nil {
		return nil, err
	}
	r.services.Add(host, service{found, r.now()})
	return found, nil
}

// get reads a small answer, and returns the URL that it came from in the end.
func (r registry) get(ctx context.Context, u *url.URL) ([]byte, *url.URL, error) {
	ctx, cancel := context.WithTimeout(ctx, longestIndex)
	defer cancel()
	answer, err := r.open(ctx, u)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, largestIndex+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", where(u), err)
	}
	if len(data) > largestIndex {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", where(u), largestIndex)
	}
	return data, answer.Request.URL, nil
}

// open begins to read what is at a URL: ErrNotFound when there is nothing. The answer's body has to be closed.
func (r registry) open(ctx context.Context, u *url.URL) (*http.Response, error) {
	ctx, through, over := download.Watch(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		over()
		return nil, err
	}
	answer, err := r.client.Do(request)
	if err != nil {
		over()
		// its text has the query too, which may contain a credential
		if asked, ok := errors.AsType[*url.Error](err); ok {
			err = asked.Err
		}
		return nil, fmt.Errorf("ask %s: %w", where(u), err)
	}
	answer.Body = through(answer.Body)
	switch answer.StatusCode {
	case http.StatusOK:
		return answer, nil
	case http.StatusNotFound, http.StatusGone:
		err = fmt.Errorf("%s was not found: %w", where(u), ErrNotFound)
	default:
		err = fmt.Errorf("%s answers %d %s", where(u), answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	answer.Body.Close()
	return nil, err
}

// where is a URL in the form that users may see.
func where(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
