// Package proxy is a proxy between one process and the API server. It gives each write and each event of a watch a name
// that is the same whenever the same action is repeated, and injects faults.
//
// The process gets a kubeconfig without credentials: the proxy connects to the API server with those of the process's
// ServiceAccount, so that the API server authenticates it as without a proxy.
package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"cairn.dev/cairn/dev/authority"
)

// A Proxy is safe for concurrent use.
type Proxy struct {
	// Actor is the name of the process in those of its writes and events.
	Actor string
	// Address is its listening address.
	Address string

	upstream  *url.URL
	transport http.RoundTripper
	server    *http.Server
	ended     sync.WaitGroup

	mu sync.Mutex
	// OnWrite and OnEvent inject faults into writes and events; nil injects none.
	onWrite func(*Call)
	onEvent func(Event) Handling
	writes  []Write
	counts  map[string]int
	events  []Event
	// last is the time of the last request or response of a write; under way are writes without a response.
	last     time.Time
	underWay int
	leases   int
}

// Start starts a proxy to the API server of config, with its credentials, and writes a kubeconfig for the process.
func Start(actor string, config *rest.Config, ca *authority.Authority, kubeconfig string) (*Proxy, error) {
	upstream, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	certificate, err := serving(ca)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block on this machine
	if err != nil {
		return nil, err
	}
	p := &Proxy{Actor: actor, upstream: upstream, transport: transport, counts: map[string]int{}, last: time.Now()}
	p.server = &http.Server{Handler: p, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate},
		MinVersion: tls.VersionTLS12}, ReadHeaderTimeout: time.Minute}
	p.ended.Go(func() { _ = p.server.ServeTLS(l, "", "") }) // ends with Close
	p.Address = "https://" + l.Addr().String()
	return p, write(kubeconfig, p.Address, ca.PEM)
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	_ = p.server.Close() // its error has no consequence
	p.ended.Wait()
}

func serving(ca *authority.Authority) (tls.Certificate, error) {
	template := authority.Client("kube-apiserver")
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = nil // any
	cert, key, err := ca.Sign(template)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func write(path, address string, ca []byte) error {
	const name = "proxy"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: address, CertificateAuthorityData: ca}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name}},
		CurrentContext: name,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(path), content, 0o600)
}

// Reset resets the records: the next write of each kind is the first again.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes, p.events, p.counts = nil, nil, map[string]int{}
}

// OnWrite sets the function for each write from now on. It has to respond, at least by Pass. nil is Pass.
func (p *Proxy) OnWrite(f func(*Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onWrite = f
}

// OnEvent sets the function for each event of a watch from now on, before the process receives it; nil passes all. It
// can wait, which delays this event and the following ones of the same watch.
func (p *Proxy) OnEvent(f func(Event) Handling) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onEvent = f
}

// Writes returns those since Reset in order.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Write(nil), p.writes...)
}

// Events returns those since Reset for the process.
func (p *Proxy) Events() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Event(nil), p.events...)
}

// Quiet returns how long nothing was written; 0 while a write is in progress.
func (p *Proxy) Quiet() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.underWay > 0 {
		return 0
	}
	return time.Since(p.last)
}

// Leases returns how often it wrote a Lease as the leader.
func (p *Proxy) Leases() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leases
}

var requests = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api")}

// ServeHTTP forwards a request, or passes a write or a watch to its function.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := requests.NewRequestInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if info.Resource == "leases" && info.Verb != "get" {
		p.mu.Lock()
		p.leases++
		p.mu.Unlock()
	}
	switch {
	case info.IsResourceRequest && info.Verb == "watch":
		p.watch(w, r, info)
	case isWrite(info):
		p.write(w, r, info)
	default:
		p.forward(w, r)
	}
}

// forward forwards a request unchanged, and its response.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	answer, err := p.transport.RoundTrip(p.onward(r, r.Body))
	if err != nil {
		panic(http.ErrAbortHandler) // as without a proxy: the connection is closed
	}
	defer answer.Body.Close()
	head(w, answer)
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// onward returns the request to the API server.
func (p *Proxy) onward(r *http.Request, body io.ReadCloser) *http.Request {
	on := r.Clone(r.Context())
	on.URL.Scheme, on.URL.Host, on.Host, on.RequestURI = p.upstream.Scheme, p.upstream.Host, p.upstream.Host, ""
	on.Body = body
	on.Header.Del("Connection")
	return on
}

func head(w http.ResponseWriter, answer *http.Response) {
	for name, values := range answer.Header {
		if !strings.EqualFold(name, "Connection") && !strings.EqualFold(name, "Transfer-Encoding") {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
}
