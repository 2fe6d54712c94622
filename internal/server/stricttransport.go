package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// strictTransport is for one year, and for this host only: what is on its subdomains is not Cairn's.
const strictTransport = "max-age=31536000"

// withStrictTransport lets browsers use only https for the host of the web UI. It sets no header for another host, an
// IP address or this machine, where other programs are found by http, nor for a certificate of the server's own CA: a
// user could then no longer accept it.
func withStrictTransport(webURL string, public Public, next http.Handler) http.Handler {
	host, ok := strictHost(webURL)
	if !ok {
		host, ok = strictHost(public.URL)
	}
	if own, _ := strictHost(public.URL); !ok || public.OwnCA && own == host {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure := r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
		if secure && strings.EqualFold(hostOf(r.Host), host) {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		next.ServeHTTP(w, r)
	})
}

// strictHost returns the host of an address, if browsers may use only https for it.
func strictHost(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return "", false
	}
	host := strings.ToLower(u.Hostname())
	_, err = netip.ParseAddr(host)
	return host, err != nil && strings.Contains(host, ".") && !strings.HasSuffix(host, ".localhost")
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
