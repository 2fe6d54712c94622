// Package server is what runners ask, hand in and report over HTTP, in the language of internal/runnerapi.
// It does not trust a caller. A token identifies the pod that sends a request, the pod's Run decides what it may
// access, and all that a request names is derived from that Run or compared with it.
//
// It also serves users, in the language of internal/userapi; Kubernetes decides who they are and what they are allowed.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/endpoint"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/internal/server/runnerhandler"
	"cairn.dev/cairn/internal/server/userhandler"
)

// Options of a Server. All are required, except where they have a default.
type Options struct {
	// Options of the runner API, of which users have the same. The server sets Pods, Logs and Stopping.
	runnerhandler.Options
	// Address to listen on. Example: :8443.
	Address string
	// Hosts are the names and addresses that runners and users reach the server under. They are in its certificate.
	Hosts []string
	// Keys of the installation.
	Keys *pki.Keys
	// Tokens of runners; nil asks the API server for a review of each.
	Tokens auth.PodVerifier
	// GoneTokens verifies tokens whose pod was deleted, which a review rejects: they allow only to save a state and a
	// journal. nil takes none, as is right where Tokens does not mind whether the pod is gone.
	GoneTokens auth.PodVerifier
	// Cache has the Runs whose logs users follow; nil reads them from Live.
	Cache client.Reader
	// ClientCA is what client certificates of users are verified with; nil accepts none.
	ClientCA auth.ClientCA
	// Kubernetes is how users' own writes reach the API server: with their credentials, and for those whom an identity
	// provider named, by impersonation. Without it users can write only states.
	Kubernetes *rest.Config
	// SignIn configures how users sign in with a browser.
	SignIn auth.SignIn
	// Public is where users find the server; the zero value publishes nothing.
	Public Public
	// HostCertificate is shown to those who ask for its host; nil for the server's own.
	HostCertificate *pki.HostCertificate
	// Now is the clock; nil means the real one.
	Now func() time.Time
}

// Public is where users find the server.
type Public struct {
	// URL with https. Example: https://cairn.example.com.
	URL string
	// OwnCA is true when the certificate there is issued by the server's own CA.
	OwnCA bool
}

// Server is the HTTPS server of the runner API and of the user API.
type Server struct {
	Options
	runners *runnerhandler.API
	users   *userhandler.API
	stop    context.CancelFunc
}

// New creates a Server that does not listen yet.
func New(o Options) (*Server, error) {
	if o.Keys == nil || o.Client == nil || o.Live == nil || o.Catalog == nil || o.State == nil || o.Bucket == nil ||
		o.Runs == nil || o.Orders == nil || o.Reports == nil || o.Policies == nil || o.Inputs == nil ||
		o.Outputs == nil ||
		o.Log == nil {
		return nil, errors.New("server: an option is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cache == nil {
		o.Cache = o.Live
	}
	if o.Tokens == nil {
		o.Tokens = auth.TokenReview{Client: o.Client}
	}
	authorizer := auth.NewAuthorizer(o.Client)
	users, err := auth.NewUserAuthenticator(auth.UserOptions{
		Client: o.Client, ClientCA: o.ClientCA, Authorizer: authorizer, SignIn: o.SignIn, DeriveKey: o.Keys.DeriveKey,
		Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	stopping, stop := context.WithCancel(context.Background())
	o.Pods = auth.NewPodAuthenticator(o.Tokens, o.GoneTokens, o.Now)
	o.Logs, o.Stopping = artifact.NewLogs(o.Bucket), stopping
	return &Server{
		Options: o,
		runners: runnerhandler.New(o.Options),
		users: userhandler.New(userhandler.Options{
			Users: users, Authorizer: authorizer, Namespaces: o.Namespaces, Client: o.Client, Live: o.Live,
			Cache: o.Cache,
			State: o.State, Bucket: o.Bucket, Logs: o.Logs, Identities: o.Keys.Identities, Catalog: o.Catalog,
			Kubernetes: o.Kubernetes, Events: o.Events, Metrics: o.Metrics, Log: o.Log, Now: o.Now, Stopping: stopping,
		}),
		stop: stop,
	}, nil
}

// Handler serves runners and users.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.runners.AddRoutes(mux)
	s.users.AddRoutes(mux)
	return withStrictTransport(s.SignIn.URL, s.Public, s.Metrics.Measure(mux))
}

// WebHandler serves the user API, the web UI and webhooks, and nothing to runners.
func (s *Server) WebHandler(webhooks http.Handler) http.Handler {
	users, mux := http.NewServeMux(), http.NewServeMux()
	s.users.AddRoutes(users)
	mux.Handle("/", s.Metrics.Measure(users))
	mux.Handle("/hooks/", webhooks)
	return withStrictTransport(s.SignIn.URL, s.Public, mux)
}

// RunChanged wakes those who follow the log of a Run.
func (s *Server) RunChanged(run *v1alpha1.Run) { s.Logs.RunChanged(run) }

// NeedLeaderElection returns false: every process may serve.
func (s *Server) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx is done. Then open requests have up to 10 s to end.
func (s *Server) Start(ctx context.Context) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen for runners: %w", err)
	}
	return s.Serve(ctx, l)
}

// Serve is Start on a listener. It is called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         s.HostCertificate.Wrap(s.tlsConfig()),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug), // handshakes that fail, mostly
	}
	flushing, stopFlushing := context.WithCancel(context.WithoutCancel(ctx))
	flushed, published, served := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(flushed)
		s.runners.Flush(flushing)
	}()
	go func() { served <- web.ServeTLS(l, "", "") }()
	go func() {
		defer close(published)
		s.publisher().Run(flushing)
	}()

	defer s.stop()
	context.AfterFunc(ctx, s.stop)
	err := waitAndShutDown(ctx, web, served)
	stopFlushing()
	<-flushed
	<-published
	return err
}

// publisher publishes where users find the server.
func (s *Server) publisher() *endpoint.Publisher {
	p := &endpoint.Publisher{Client: s.Client, Live: s.Live, URL: s.Public.URL, Log: s.Log}
	if s.Public.OwnCA {
		p.CA = s.Keys.Bundle
	}
	return p
}

// tlsConfig asks for a client certificate and accepts any, or none: it is verified by the handlers of the user API.
// Runners send none, and their handlers read none.
func (s *Server) tlsConfig() *tls.Config {
	config := s.Keys.TLSConfig(s.Hosts)
	if s.ClientCA != nil {
		config.ClientAuth = tls.RequestClientCert
	}
	return config
}
