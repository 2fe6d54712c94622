// Package session has what all commands share: the connection to Kubernetes and to the server, output, questions, errors and completion.
package session

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
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

// A Session is what a person's command works with: Kubernetes and the server, both spoken to as that person.
type Session struct {
	genericiooptions.IOStreams
	// Kubeconfig says which kubeconfig files are loaded, and Overrides what flags replace in them.
	Kubeconfig *clientcmd.ClientConfigLoadingRules
	Overrides  clientcmd.ConfigOverrides
	// Color says that standard output shows color.
	Color bool
	// Screen says that standard output is a terminal.
	Screen bool
	// TTY says that somebody is there who can be asked: standard input and standard error are a terminal.
	TTY bool
	// Redraw says that a line on standard error can be drawn over, and colorErr that it shows color.
	Redraw, ColorErr bool
	// Program is how this is called: cairn, or kubectl cairn.
	Program string
	// Now is the clock.
	Now func() time.Time

	// URL and ca are where the server is, when flags or the environment say so.
	URL, CA string
	// Trail is what was told of Runs, so that nothing is told twice.
	Trail screen.Trail
	// Patience with an API server that does not answer; 0 is answersWithin.
	Patience time.Duration
	// bound ends requests with the command.
	bound transport.WrapperFunc
	// rest is Kubernetes as this person, once it was asked for.
	rest   *rest.Config
	Client client.WithWatch
}

// published is where the server says how people reach it.
var published = client.ObjectKey{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}

// New returns a session with these streams, none of which is a terminal. program is what the user calls the command.
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
	s.TTY, s.Redraw = stdin && stderr, stderr && !dumb
	s.URL, s.CA = os.Getenv("CAIRN_SERVER"), os.Getenv("CAIRN_SERVER_CA")
	return s
}

// IsTerminal returns whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// AddFlags adds the flags of the session to those of a command: kubectl's, without those of a cluster that no kubeconfig describes, as --server is
// Cairn's here.
func (s *Session) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Kubeconfig.ExplicitPath, "kubeconfig", s.Kubeconfig.ExplicitPath, "path of the kubeconfig file; default: KUBECONFIG, or ~/.kube/config")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags = clientcmd.ClusterOverrideFlags{}
	for _, flag := range []*clientcmd.FlagInfo{
		&names.AuthOverrideFlags.ClientCertificate, &names.AuthOverrideFlags.ClientKey, &names.AuthOverrideFlags.Username, &names.AuthOverrideFlags.Password,
	} {
		*flag = clientcmd.FlagInfo{}
	}
	clientcmd.BindOverrideFlags(&s.Overrides, f, names)
	f.StringVar(&s.URL, "server", s.URL, "address of Cairn's server, as in https://cairn.example.com; default: CAIRN_SERVER, or what ConfigMap cairn of kube-public says")
	f.StringVar(&s.CA, "server-ca", s.CA, "file with the authorities that sign the server's certificate; default: CAIRN_SERVER_CA, or what that ConfigMap says")
}

// loader loads the kubeconfig.
func (s *Session) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(s.Kubeconfig, &s.Overrides)
}

// Namespace is the one that the flags, the context or else Kubernetes' default name.
func (s *Session) Namespace() (string, error) {
	ns, _, err := s.loader().Namespace()
	return ns, s.Explain(err)
}

// Config is how Kubernetes is reached as this person.
func (s *Session) Config() (*rest.Config, error) {
	if s.rest != nil {
		return s.rest, nil
	}
	// What client libraries log is for those who run programs; here an error says it.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // client-go gives no other way to keep its errors off a person's terminal
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

// Kubernetes is Kubernetes as this person.
func (s *Session) Kubernetes() (client.WithWatch, error) {
	if s.Client != nil {
		return s.Client, nil
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, s.Explain(err)
	}
	s.Client = c
	return c, nil
}

// kinds are those that commands speak of.
var kinds = func() *runtime.Scheme {
	known := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(known))
	utilruntime.Must(v1alpha1.AddToScheme(known))
	return known
}()

// User is who the API server takes this person for.
func (s *Session) User(ctx context.Context) (string, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return "", err
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", s.Explain(fmt.Errorf("ask who you are: %w", err))
	}
	return review.Status.UserInfo.Username, nil
}

// Server is Cairn's server as this person.
func (s *Session) Server(ctx context.Context) (*userapi.Client, error) {
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	address, ca, err := s.Address(ctx)
	if err != nil {
		return nil, err
	}
	c := serverConfig(config, address, ca)
	kube, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	if f := forwarderTo(address, kube, config); f != nil {
		c.Dial = f.dial
	}
	transport, err := rest.TransportFor(c)
	if err != nil {
		return nil, fmt.Errorf("reach the server %s: %w", address, err)
	}
	return userapi.New(address, transport), nil
}

// serverConfig is how the server is reached with the credentials of Kubernetes: token, plugin or certificate, and --as.
func serverConfig(kube *rest.Config, address string, ca []byte) *rest.Config {
	c := rest.CopyConfig(kube)
	c.Host = address
	c.TLSClientConfig = rest.TLSClientConfig{
		CAData:   ca, // none: those of the system
		CertFile: kube.CertFile, CertData: kube.CertData, KeyFile: kube.KeyFile, KeyData: kube.KeyData,
	}
	c.WrapTransport = nil // a large state takes its time
	c.Proxy = nil         // the one of Kubernetes' API server; the environment's is used
	return c
}

// Address is where the server is, and who signs its certificate.
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
				return "", nil, fmt.Errorf("where Cairn's server is cannot be told: %w; say it with --server and --server-ca, or CAIRN_SERVER and CAIRN_SERVER_CA", err)
			}
			return "", nil, s.Explain(err)
		}
		if address = m.Data[userapi.PublicURL]; s.CA == "" {
			ca = []byte(m.Data[userapi.PublicCA])
		}
	}
	// What is sent there are credentials of Kubernetes.
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return "", nil, fmt.Errorf("the server's address %q is no https:// URL: say another one with --server or CAIRN_SERVER", address)
	}
	if len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return "", nil, errors.New("there is no certificate in what --server-ca or ConfigMap cairn of kube-public says")
	}
	return strings.TrimSuffix(address, "/"), ca, nil
}

// StackOrRun is the Stack that a name means and its Run under way or else its last one, or the Run that it means and its
// Stack. Of a Stack and a Run with the same name the Stack is meant; stack/NAME and run/NAME say which. A Stack that never
// had a Run comes without one, and a Run without a Stack whose Stack is gone, or may not be seen by this person.
func (s *Session) StackOrRun(ctx context.Context, arg string) (*v1alpha1.Stack, *v1alpha1.Run, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, nil, err
	}
	ns, err := s.Namespace()
	if err != nil {
		return nil, nil, err
	}
	kind, name := SplitKind(arg)
	var forbidden error
	if kind != "run" {
		stack := &v1alpha1.Stack{}
		err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, stack)
		switch {
		case err == nil:
			run, err := s.runOf(ctx, stack)
			return stack, run, err
		case IgnoreUnreadable(err) != nil || kind == "stack":
			return nil, nil, s.NotFound(ctx, err, ns, name, kind)
		case apierrors.IsForbidden(err): // a Run may be meant, and those are another right
			forbidden = err
		}
	}
	run := &v1alpha1.Run{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, run); err != nil {
		if forbidden != nil && IgnoreUnreadable(err) == nil {
			err = forbidden // as far as this person may know the Stack was meant
		}
		return nil, nil, s.NotFound(ctx, err, ns, name, kind)
	}
	stack := &v1alpha1.Stack{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: run.Spec.Stack.Name}, stack); {
	case err == nil:
		return stack, run, nil
	case IgnoreUnreadable(err) == nil:
		return nil, run, nil
	default:
		return nil, nil, s.Explain(err)
	}
}

// Stack is the Stack of that name.
func (s *Session) Stack(ctx context.Context, arg string) (*v1alpha1.Stack, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	kind, name := SplitKind(arg)
	if kind == "run" {
		return nil, fmt.Errorf("%s is a Run; this takes the name of a Stack", arg)
	}
	stack := &v1alpha1.Stack{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, stack); err != nil {
		return nil, s.NotFound(ctx, err, ns, name, "stack")
	}
	return stack, nil
}

// runOf is the Stack's Run under way, or else its last one; nil when there is none.
func (s *Session) runOf(ctx context.Context, stack *v1alpha1.Stack) (*v1alpha1.Run, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{stack.Status.CurrentRun, stack.Status.LastRun} {
		if name == "" {
			continue
		}
		run := &v1alpha1.Run{}
		err := c.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: name}, run)
		if err == nil {
			return run, nil
		}
		if !apierrors.IsNotFound(err) { // it is named before it is made
			return nil, s.Explain(err)
		}
	}
	return nil, nil
}

// SplitKind takes the kind off stack/net or run/net-7, as kubectl prints names, with or without the group.
func SplitKind(arg string) (kind, name string) {
	before, name, found := strings.Cut(arg, "/")
	if !found {
		return "", arg
	}
	switch before, _, _ = strings.Cut(strings.ToLower(before), "."); before {
	case "stack", "stacks":
		return "stack", name
	case "run", "runs":
		return "run", name
	}
	return "", arg
}

// ProgramName is how the command is called by its user: as a plugin of kubectl it is a command of that.
func ProgramName(argv0 string) string {
	if strings.TrimSuffix(filepath.Base(argv0), ".exe") == "kubectl-cairn" {
		return "kubectl cairn"
	}
	return "cairn"
}

// commandOwner of what commands write.
const commandOwner = client.FieldOwner("cairn-cli")

// Patch writes some fields of an object, and nothing else of it.
func (s *Session) Patch(ctx context.Context, o client.Object, fields client.Patch) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	return s.Explain(c.Patch(ctx, o, fields, commandOwner))
}
