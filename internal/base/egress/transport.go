package egress

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Transport returns a transport with the settings of another one, which connects to allowed addresses only, each
// within a time, or by the proxy of the environment. A client that follows redirects checks each of them by it.
func (g *Guard) Transport(like *http.Transport, within time.Duration) *Transport {
	g = g.orDefault()
	direct, proxied := like.Clone(), like.Clone()
	proxied.DialContext = (&net.Dialer{Timeout: within}).DialContext
	direct.Proxy, direct.DialContext = nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return g.Dial(ctx, network, address)
	}
	proxied.Proxy = func(r *http.Request) (*url.URL, error) { return g.proxy(r.URL) }
	return &Transport{direct, proxied, g}
}

// Transport has two ways: the address of a proxy is the administrator's, so it is not checked.
type Transport struct {
	Direct, Proxied *http.Transport
	guard           *Guard
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := t.guard.proxy(r.URL)
	if err == nil && proxy == nil {
		return t.Direct.RoundTrip(r)
	}
	if _, _, denied := t.guard.literal(r.URL.Hostname()); err == nil && denied == nil {
		return t.Proxied.RoundTrip(r)
	} else if err == nil {
		err = denied
	}
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, err
}

// CloseIdleConnections closes what http.Client.CloseIdleConnections closes.
func (t *Transport) CloseIdleConnections() {
	t.Direct.CloseIdleConnections()
	t.Proxied.CloseIdleConnections()
}
