package git

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"cairn.dev/cairn/internal/base/egress"
)

// route returns how git and ssh connect to the server. They resolve no name themselves: what was checked is what they
// connect to.
func (s *session) route(ctx context.Context) (egress.Route, error) {
	u := &url.URL{Scheme: s.at.scheme, Host: net.JoinHostPort(s.at.host, s.at.port)}
	route, err := s.m.o.Egress.Route(ctx, u)
	return route, s.unreachable(ctx, err)
}

// unreachable returns an error of this package for one of a connection that the session opens itself.
func (s *session) unreachable(ctx context.Context, err error) error {
	denied, isDenied := errors.AsType[*egress.DeniedError](err)
	switch {
	case err == nil:
		return nil
	case isDenied:
		return fail(ErrAddress, "fetch %s: %s", s.remote.URL, denied)
	case ctx.Err() != nil:
		return stopped(ctx, "fetch "+s.remote.URL)
	}
	reason := "the server cannot be reached"
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		reason = "the name of the server cannot be resolved: " + dns.Err
	}
	return fail(ErrUnreachable, "fetch %s: %s", s.remote.URL, reason)
}

// pin returns the settings by which git takes a route, and no other.
func (r remoteURL) pin(route egress.Route) []setting {
	if route.Proxy != nil {
		return []setting{{"http.proxy", route.Proxy.String()}}
	}
	var addresses []string
	for _, a := range route.Addrs {
		addresses = append(addresses, bracketed(a.String()))
	}
	direct := setting{"http.proxy", ""}
	if net.ParseIP(r.host) != nil { // curl resolves nothing
		return []setting{direct}
	}
	return []setting{direct, {"http.curloptResolve", r.host + ":" + r.port + ":" + strings.Join(addresses, ",")}}
}

// bracketed returns an address as URLs have it.
func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// address returns the one address that ssh connects to. Of several, it is one that answers.
func (s *session) address(ctx context.Context) (netip.Addr, error) {
	route, err := s.route(ctx)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(route.Addrs) == 1 {
		return route.Addrs[0], nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := s.m.o.Egress.Dial(ctx, "tcp", net.JoinHostPort(s.at.host, s.at.port))
	if err != nil {
		return netip.Addr{}, s.unreachable(ctx, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	to, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	return to.Addr().Unmap(), err
}

// hostKey is the name that known_hosts has for the server.
func (r remoteURL) hostKey() string {
	if r.port == portOf(r.scheme) {
		return r.host
	}
	return "[" + r.host + "]:" + r.port
}

// redirect is where a URL was fetched from: the URL itself, or what its server redirects to.
type redirect struct {
	url string
	to  remoteURL
}

// locate returns where to fetch a URL from.
func (m *Mirror) locate(url string) (remoteURL, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.redirect != nil && m.redirect.url == url {
		return m.redirect.to, nil
	}
	return parseRemote(url)
}

// mostRedirects of one URL.
const mostRedirects = 5

// follow finds where the server redirects to, and has the session connect there: the repository was renamed, or the
// URL is incomplete. It follows redirects within the server, and from http to https of its host; others could lead
// anywhere.
func (s *session) follow(ctx context.Context) error {
	client, err := httpClient(s.auth, s.m.o.Egress)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	from := s.at
	for range mostRedirects {
		next, err := s.next(ctx, client)
		if err != nil {
			return err
		}
		if next == s.at {
			break
		}
		s.at = next
	}
	if s.at == from {
		return fail(ErrRedirect, "fetch %s: %s", s.remote.URL, redirected)
	}
	return s.http(ctx)
}

// refsPath follows the path of a repository in the first request of git.
const refsPath = "/info/refs"

// next returns where the first request of git is redirected to; where it was sent, if it is not.
func (s *session) next(ctx context.Context, client *http.Client) (remoteURL, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.String()+refsPath+"?service=git-upload-pack", nil)
	if err != nil {
		return remoteURL{}, err
	}
	r.Header.Set("Git-Protocol", "version=2")
	if header := s.auth.Authorization(); header != "" {
		r.Header.Set("Authorization", header)
	}
	answer, err := client.Do(r)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok { // its text has the whole URL
			err = asked.Err
		}
		return remoteURL{}, s.unreachable(ctx, err)
	}
	answer.Body.Close()
	if answer.StatusCode/100 != 3 {
		return s.at, nil
	}
	elsewhere := fail(ErrRedirect, "fetch %s: %s", s.remote.URL, redirected)
	to, err := answer.Location()
	if err != nil {
		return remoteURL{}, elsewhere
	}
	path, ok := strings.CutSuffix(to.EscapedPath(), refsPath)
	next := serverOf(to)
	if next.path = path; !ok || next.check() != nil || to.User != nil || !s.at.leadsTo(next) {
		return remoteURL{}, elsewhere
	}
	return next, nil
}

// leadsTo reports whether a redirect to another URL is followed.
func (r remoteURL) leadsTo(next remoteURL) bool {
	secured := r.scheme == "http" && r.port == "80" && next.scheme == "https" && next.port == "443"
	return r.sameServer(next) || secured && r.host == next.host
}
