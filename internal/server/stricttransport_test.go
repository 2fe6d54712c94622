package server

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestStrictTransportSecurity is sent for the public host over https, and for no other one.
func TestStrictTransportSecurity(t *testing.T) {
	const public = "https://cairn.example.com"
	for name, test := range map[string]struct {
		web    string
		public Public
		host   string
		plain  bool
		proto  string
		want   bool
	}{
		"the public host": {public: Public{URL: public}, host: "cairn.example.com", want: true},
		"with a port": {public: Public{URL: public + ":8443"}, host: "Cairn.example.com:8443",
			want: true},
		"behind an Ingress": {public: Public{URL: public}, host: "cairn.example.com", plain: true,
			proto: "https", want: true},
		"http": {public: Public{URL: public}, host: "cairn.example.com", plain: true},
		"http behind an Ingress": {public: Public{URL: public}, host: "cairn.example.com", plain: true,
			proto: "http"},
		"another host":              {public: Public{URL: public}, host: "cairn.cairn.svc"},
		"an address of the Service": {public: Public{URL: public}, host: "10.0.0.1:8443"},
		"the host of the web UI": {web: "https://web.example.com",
			public: Public{URL: public, OwnCA: true}, host: "web.example.com", want: true},
		"a certificate of the server's own CA": {public: Public{URL: public, OwnCA: true}, host: "cairn.example.com"},
		"an IP address":                        {public: Public{URL: "https://192.0.2.1"}, host: "192.0.2.1"},
		"an IPv6 address": {public: Public{URL: "https://[2001:db8::1]:8443"},
			host: "[2001:db8::1]:8443"},
		"this machine":            {public: Public{URL: "https://localhost:8443"}, host: "localhost:8443"},
		"this machine, by a name": {public: Public{URL: "https://cairn.localhost"}, host: "cairn.localhost"},
		"cairn dev":               {web: "http://127.0.0.1:8080", host: "127.0.0.1:8080", plain: true},
		"no address":              {host: "cairn.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Host, r.TLS = test.host, &tls.ConnectionState{}
			if test.plain {
				r.TLS = nil
			}
			if test.proto != "" {
				r.Header.Set("X-Forwarded-Proto", test.proto)
			}
			w := httptest.NewRecorder()
			withStrictTransport(test.web, test.public, http.NotFoundHandler()).ServeHTTP(w, r)
			if got := w.Header().Get("Strict-Transport-Security") != ""; got != test.want {
				t.Errorf("sent: %v", w.Header())
			}
		})
	}
}
