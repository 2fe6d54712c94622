package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
)

// logServer is the part of a kubelet's API that `kubectl logs` and `kubectl exec` need.
type logServer struct {
	port     int32
	listener net.Listener
	server   *http.Server
}

// listen opens the kubelet's port. Only who holds a certificate of the cluster's authority, as the API server does, is
// answered: logs are not for every user of the machine.
func (k *Kubelet) listen(ctx context.Context) (*logServer, error) {
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey(k.o.NodeName, []net.IP{net.ParseIP(address)}, nil)
	if err != nil {
		return nil, err
	}
	own, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(k.o.Config.CAData) {
		return nil, errors.New("the access to the API server has no CA")
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	mux.HandleFunc("GET /exec/{namespace}/{pod}/{container}", k.serveExec)
	mux.HandleFunc("POST /exec/{namespace}/{pod}/{container}", k.serveExec)
	return &logServer{
		port: int32(l.Addr().(*net.TCPAddr).Port),
		listener: tls.NewListener(l, &tls.Config{
			Certificates: []tls.Certificate{own},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    clients,
			MinVersion:   tls.VersionTLS12,
		}),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second,
			ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(k.o.Log), slog.LevelDebug)},
	}, nil
}

// serve answers until ctx is done. Who follows a log then is cut off.
func (s *logServer) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.server.Close() })
	defer stop()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve logs: %w", err)
	}
	return nil
}

func (k *Kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	p, name := k.asked(w, r)
	if p == nil {
		return
	}
	want, err := parseLogQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	log, err := os.Open(p.dir.log(name))
	if err != nil {
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start", name, p.obj.Name),
			http.StatusBadRequest)
		return
	}
	defer func() { _ = log.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// Once the response has begun, an error cannot be reported.
	_ = want.copy(r.Context(), w, log, p.logEnded(name))
}

// asked is the pod, and its container, that a request is for. It answers one for what is not on this node.
func (k *Kubelet) asked(w http.ResponseWriter, r *http.Request) (*pod, string) {
	name, p := r.PathValue("container"), k.find(r.PathValue("namespace"), r.PathValue("pod"))
	named := func(c *corev1.Container) bool { return c.Name == name }
	if p == nil || !slices.ContainsFunc(containersOf(&p.obj.Spec), named) {
		why := fmt.Sprintf("container %q of pod %q is not on this node", name, r.PathValue("pod"))
		http.Error(w, why, http.StatusNotFound)
		return nil, ""
	}
	return p, name
}

// openLog notes, before the log is there, that a container will write to it until the channel is closed.
func (p *pod) openLog(container string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	over := make(chan struct{})
	p.writing[container] = over
	return over
}

// logEnded is closed when nothing writes to a log that is there any more.
func (p *pod) logEnded(container string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if over := p.writing[container]; over != nil {
		return over
	}
	over := make(chan struct{}) // an earlier kubelet's
	close(over)
	return over
}
