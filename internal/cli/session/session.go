// Package session has what all commands share: the connection to Kubernetes and to the server, output, questions,
// errors and completion.
package session

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/userapi"
)

// A Session is the context of a command: its streams, and clients of Kubernetes and of the server with the user's
// credentials.
type Session struct {
	genericiooptions.IOStreams
	// Kubeconfig lists the kubeconfig files to load, and Overrides has the flags that override them.
	Kubeconfig *clientcmd.ClientConfigLoadingRules
	Overrides  clientcmd.ConfigOverrides
	// Color is true if standard output shows color.
	Color bool
	// Screen is true if standard output is a terminal, and Width is the number of its columns; 0 if it is unknown.
	Screen bool
	Width  int
	// TTY is true if the command can ask the user: standard input and standard error are a terminal.
	TTY bool
	// Redraw is true if a line on standard error can be overwritten, and ColorErr if standard error shows color.
	Redraw, ColorErr bool
	// Program is the name of the command: cairn, or kubectl cairn.
	Program string
	// Now is the clock.
	Now func() time.Time

	// URL of the server and the file with its CA, from flags or the environment; empty for the published ones.
	URL, CA string
	// ServerAccount is a ServiceAccount, NAME or NAMESPACE/NAME, whose tokens the server gets instead of the
	// credentials for Kubernetes; empty for those.
	ServerAccount string
	// Trail remembers the printed progress of Runs, so that no line is printed twice.
	Trail screen.Trail
	// Timeout until the API server starts to answer a request; 0 for defaultTimeout.
	Timeout time.Duration
	// bound cancels requests when the command ends.
	bound transport.WrapperFunc
	// rest and Client are nil until Config and Kubernetes create them.
	rest   *rest.Config
	Client client.WithWatch
}

// published is the ConfigMap with the server's address for users.
var published = client.ObjectKey{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}

// New returns a session with these streams, none of which is a terminal. program is the name with which the user calls
// the command.
func New(streams genericiooptions.IOStreams, program string) *Session {
	return &Session{
		IOStreams: streams, Program: program, Now: time.Now,
		Kubeconfig: clientcmd.NewDefaultClientConfigLoadingRules(),
		Overrides:  clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults},
	}
}

// FromProcess returns the session of this process, with its standard streams and environment.
func FromProcess() *Session {
	s := New(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, ProgramName(os.Args[0]))
	stdin, stdout, stderr := IsTerminal(os.Stdin), IsTerminal(os.Stdout), IsTerminal(os.Stderr)
	dumb := os.Getenv("TERM") == "dumb"
	colors := !dumb && os.Getenv("NO_COLOR") == ""
	s.Color, s.Screen, s.ColorErr = stdout && colors, stdout, stderr && colors
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width = width
	}
	s.TTY, s.Redraw = stdin && stderr, stderr && !dumb
	s.URL, s.CA = os.Getenv("CAIRN_SERVER"), os.Getenv("CAIRN_SERVER_CA")
	s.ServerAccount = os.Getenv("CAIRN_SERVER_SERVICE_ACCOUNT")
	return s
}

// IsTerminal returns whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// AddFlags adds the flags of the session to those of a command. They are kubectl's, except those for a cluster without
// a kubeconfig: --server is Cairn's server.
func (s *Session) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Kubeconfig.ExplicitPath, "kubeconfig", s.Kubeconfig.ExplicitPath,
		"path of the kubeconfig file; default: KUBECONFIG, or ~/.kube/config")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags = clientcmd.ClusterOverrideFlags{}
	for _, flag := range []*clientcmd.FlagInfo{
		&names.AuthOverrideFlags.ClientCertificate, &names.AuthOverrideFlags.ClientKey,
		&names.AuthOverrideFlags.Username,
		&names.AuthOverrideFlags.Password,
	} {
		*flag = clientcmd.FlagInfo{}
	}
	clientcmd.BindOverrideFlags(&s.Overrides, f, names)
	for name, usage := range kubectlFlags {
		f.Lookup(name).Usage = usage
	}
	f.StringVar(&s.URL, "server", s.URL,
		"address of Cairn's server, for example https://cairn.example.com; default: CAIRN_SERVER, or that of "+
			"ConfigMap cairn of kube-public")
	f.StringVar(&s.CA, "server-ca", s.CA,
		"file with the CA certificates for the server; default: CAIRN_SERVER_CA, or those of that ConfigMap")
	f.StringVar(&s.ServerAccount, "server-service-account", s.ServerAccount,
		"ServiceAccount, NAME or NAMESPACE/NAME, whose tokens are sent to the server in place of your "+
			"credentials, behind a proxy that authenticates users; default: CAIRN_SERVER_SERVICE_ACCOUNT")
}

// kubectlFlags are the descriptions of kubectl's flags.
var kubectlFlags = map[string]string{
	"as":              "user to impersonate",
	"as-group":        "group to impersonate; can be repeated",
	"as-uid":          "UID to impersonate",
	"cluster":         "cluster of the kubeconfig; default: that of the context",
	"context":         "context of the kubeconfig; default: the current one",
	"namespace":       "namespace; default: that of the context, or default",
	"request-timeout": "longest time of a request to the API server, for example 30s; 0 for no limit",
	"token":           "bearer token for the API server; default: the credentials of the kubeconfig",
	"user":            "user of the kubeconfig; default: that of the context",
}

// loader loads the kubeconfig.
func (s *Session) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(s.Kubeconfig, &s.Overrides)
}

// Namespace returns the namespace of the flags, of the context, or "default".
func (s *Session) Namespace() (string, error) {
	ns, _, err := s.loader().Namespace()
	return ns, s.Explain(err)
}

// namespaceFlag returns the namespace of the flag -n; empty if the user did not set it.
func (s *Session) namespaceFlag() string {
	ns, isSet, err := s.loader().Namespace()
	if err != nil || !isSet {
		return ""
	}
	return ns
}

// Command is the program with the flag -n of the user, for commands that messages suggest.
func (s *Session) Command() string { return s.Style().Command() }

// Config returns the configuration of a Kubernetes client with the user's credentials.
func (s *Session) Config() (*rest.Config, error) {
	if s.rest != nil {
		return s.rest, nil
	}
	// Commands report errors themselves: the logs of client libraries are not for their users.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // client-go has no other way to disable their output
	c, err := s.loader().ClientConfig()
	if err != nil {
		return nil, s.Explain(err)
	}
	c.QPS, c.Burst = 50, 100
	c.WarningHandler = rest.NewWarningWriter(s.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	if s.bound != nil {
		c.Wrap(s.bound)
	}
	s.rest = c
	return c, nil
}

// Kubernetes returns a client of Kubernetes with the user's credentials.
func (s *Session) Kubernetes() (client.WithWatch, error) {
	if s.Client != nil {
		return s.Client, nil
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: apiTypes})
	if err != nil {
		return nil, s.Explain(err)
	}
	s.Client = c
	return c, nil
}

// apiTypes are the types that commands read and write.
var apiTypes = func() *runtime.Scheme {
	known := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(known))
	utilruntime.Must(v1alpha1.AddToScheme(known))
	return known
}()

// User returns the user's name as the API server authenticates it.
func (s *Session) User(ctx context.Context) (string, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return "", err
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", s.Explain(fmt.Errorf("read your user name: %w", err))
	}
	return review.Status.UserInfo.Username, nil
}

// Server returns a client of Cairn's server with the user's credentials.
func (s *Session) Server(ctx context.Context) (*userapi.Client, error) {
	address, to, err := s.ServerTransport(ctx)
	if err != nil {
		return nil, err
	}
	return userapi.New(address, to), nil
}

// ServerTransport returns the address of Cairn's server, and a transport that trusts its certificate, connects through
// Kubernetes where the server has no address outside of the cluster, and sends the user's credentials.
func (s *Session) ServerTransport(ctx context.Context) (address string, to http.RoundTripper, err error) {
	config, err := s.Config()
	if err != nil {
		return "", nil, err
	}
	address, ca, err := s.Address(ctx)
	if err != nil {
		return "", nil, err
	}
	credentials, err := s.Credentials(ctx)
	if err != nil {
		return "", nil, err
	}
	c := serverConfig(credentials, address, ca)
	kube, err := s.Kubernetes()
	if err != nil {
		return "", nil, err
	}
	if f := forwarderTo(address, kube, config); f != nil {
		c.Dial = f.dial
	}
	if to, err = rest.TransportFor(c); err != nil {
		return "", nil, fmt.Errorf("connect to the server %s: %w", address, err)
	}
	return address, to, nil
}

// Call sends a request to Cairn's server, and explains its error.
func Call[T any](ctx context.Context, s *Session, send func(*userapi.Client) (T, error)) (answer T, err error) {
	server, err := s.Server(ctx)
	if err != nil {
		return answer, err
	}
	answer, err = send(server)
	return answer, s.ExplainServer(err)
}

// serverConfig returns the configuration of a client of Cairn's server with the credentials for Kubernetes: a token, a
// plugin or a certificate, and --as.
func serverConfig(kube *rest.Config, address string, ca []byte) *rest.Config {
	c := rest.CopyConfig(kube)
	c.Host = address
	c.TLSClientConfig = rest.TLSClientConfig{
		CAData:   ca, // nil for the CAs of the system
		CertFile: kube.CertFile, CertData: kube.CertData, KeyFile: kube.KeyFile, KeyData: kube.KeyData,
	}
	c.Proxy = nil // that of the API server; the one of the environment is used
	return c
}

// Address returns the server's address and the CA certificates for it, nil for those of the system.
func (s *Session) Address(ctx context.Context) (address string, ca []byte, err error) {
	address = s.URL
	if s.CA != "" {
		if ca, err = os.ReadFile(s.CA); err != nil {
			return "", nil, fmt.Errorf("read --server-ca: %w", err)
		}
	}
	if address == "" {
		c, err := s.Kubernetes()
		if err != nil {
			return "", nil, err
		}
		var m corev1.ConfigMap
		if err := c.Get(ctx, published, &m); err != nil {
			if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
				return "", nil,
					fmt.Errorf("the address of Cairn's server is unknown: %w; set it with --server and --server-ca, "+
						"or CAIRN_SERVER and CAIRN_SERVER_CA", err)
			}
			return "", nil, s.Explain(err)
		}
		if address = m.Data[userapi.PublicURL]; s.CA == "" {
			ca = []byte(m.Data[userapi.PublicCA])
		}
	}
	// Credentials for Kubernetes are sent there.
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return "", nil, fmt.Errorf("the address %q of Cairn's server is no https:// URL: set another one with "+
			"--server or CAIRN_SERVER", address)
	}
	if len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return "", nil, errors.New("there is no certificate in --server-ca or ConfigMap cairn of kube-public")
	}
	return strings.TrimSuffix(address, "/"), ca, nil
}

// ProgramName returns the name of the command for its user: "kubectl cairn" for a plugin of kubectl.
func ProgramName(argv0 string) string {
	if strings.TrimSuffix(filepath.Base(argv0), ".exe") == "kubectl-cairn" {
		return "kubectl cairn"
	}
	return "cairn"
}
