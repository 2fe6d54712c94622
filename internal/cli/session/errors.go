package session

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

// Exit codes of commands.
const (
	ExitFailed      = 1   // the command failed
	ExitChanges     = 2   // there are changes
	ExitInterrupted = 130 // the user interrupted the command; a Run may continue
)

// An ExitError ends the process with its code. Without Err, no message is printed.
type ExitError struct {
	Code int
	Err  error
}

func (e ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// ErrChanges ends the process with exit code 2: there are changes, which were printed.
var ErrChanges = ExitError{Code: ExitChanges}

// Interrupted is the error of a command that the user interrupted. The message states what continues without it.
func Interrupted(format string, args ...any) error {
	return ExitError{ExitInterrupted, fmt.Errorf(format, args...)}
}

func (e ExitError) Unwrap() error { return e.Err }

// Explained returns an error that replaces the message of err with one for the user.
func Explained(err error, format string, args ...any) error {
	return Explanation{fmt.Sprintf(format, args...), err}
}

// Explanation is an error with a message for the user, which Explain does not change.
type Explanation struct {
	text string
	err  error
}

func (e Explanation) Error() string { return e.text }
func (e Explanation) Unwrap() error { return e.err }

// Explain adds to an error of Kubernetes what the user can do. It returns other errors unchanged.
func (s *Session) Explain(err error) error {
	var (
		done   Explanation
		exit   ExitError
		status apierrors.APIStatus
		lost   *url.Error
	)
	switch {
	case err == nil, errors.As(err, &done), errors.As(err, &exit), errors.Is(err, context.Canceled):
		return err
	case clientcmd.IsEmptyConfig(err):
		return noCluster(err)
	case clientcmd.IsContextNotFound(err), clientcmd.IsConfigurationInvalid(err):
		return Explained(err, "%v; see kubectl config get-contexts", err)
	case apimeta.IsNoMatchError(err):
		return Explained(err, noCairn, s.cluster())
	case errors.As(err, &status):
		return s.explainStatus(err, status.Status())
	case errors.As(err, &lost):
		if s.unconfigured(lost) {
			return noCluster(err)
		}
		return Explained(err, "%s does not answer: %v; check that it runs, or choose another one with --context",
			s.cluster(), lost.Err)
	}
	return err
}

const (
	noKubeconfig = "no cluster is configured: set KUBECONFIG or --kubeconfig to a kubeconfig file; `cairn " +
		"dev` starts a cluster on this machine"
	noCairn = "Cairn is not installed in %s: its CRDs are not found. Install it there, or choose another cluster " +
		"with --context"
	notAllowed = "you do not have permission: %s; " + version.Docs + "how-to/access.md lists the roles"
)

// ErrNoCluster is in the errors of requests for which no cluster is configured.
var ErrNoCluster = errors.New("no cluster is configured")

func noCluster(err error) error { return Explanation{noKubeconfig, errors.Join(ErrNoCluster, err)} }

// unconfigured returns whether a request went to the library's default address, as no cluster is configured.
func (s *Session) unconfigured(err *url.Error) bool {
	u, parsed := url.Parse(err.URL)
	if parsed != nil || u.Host != "localhost:8080" {
		return false
	}
	raw, loaded := s.loader().RawConfig()
	return loaded != nil || len(raw.Clusters) == 0
}

// cluster returns the name of the cluster for messages.
func (s *Session) cluster() string {
	raw, err := s.loader().RawConfig()
	name := cmp.Or(s.Overrides.CurrentContext, raw.CurrentContext)
	if err != nil || name == "" {
		return "the cluster"
	}
	return "the cluster of context " + name
}

// explainStatus explains an error that the API server returned.
func (s *Session) explainStatus(err error, status metav1.Status) error {
	text := action.RejectionMessage(status)
	switch {
	case text != "":
		return Explanation{text, err}
	case apierrors.IsUnauthorized(err):
		return Explained(err, "%s does not accept your credentials: those in the kubeconfig are wrong or have "+
			"expired; log in again", s.cluster())
	case apierrors.IsForbidden(err):
		return Explained(err, notAllowed, status.Message)
	case apierrors.IsNotFound(err) && status.Details != nil && status.Details.Name == "":
		return Explained(err, noCairn, s.cluster())
	}
	return err
}

// Denied adds to the error of a write that the user may not do the role that allows it. Other errors it returns
// unchanged.
func (s *Session) Denied(err error, resource, verb string) error {
	role := action.Role(resource, verb)
	if role == "" || !apierrors.IsForbidden(err) {
		return err
	}
	return Explained(err, "%v; ClusterRole %s allows it, for example in a RoleBinding of the namespace", err, role)
}

// ExplainServer adds to an error of Cairn's server what the user can do.
func (s *Session) ExplainServer(err error) error {
	var (
		said   *userapi.Error
		lost   *url.Error
		signer x509.UnknownAuthorityError
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &said) && said.Code == http.StatusUnauthorized:
		return s.explainUnauthorized(err)
	case errors.As(err, &said) && said.Code == http.StatusForbidden:
		return Explained(err, notAllowed, said.Message)
	case errors.As(err, &said):
		return Explanation{said.Message, err}
	case errors.As(err, &signer):
		return Explained(err, "the certificate of Cairn's server is from an unknown CA (%v): set its CA with "+
			"--server-ca or CAIRN_SERVER_CA", signer)
	case errors.As(err, &lost):
		where := lost.URL
		if u, parsed := url.Parse(where); parsed == nil {
			where = u.Scheme + "://" + u.Host
		}
		return Explained(err, "Cairn's server %s does not answer: %v; set its address with --server or CAIRN_SERVER",
			where, lost.Err)
	}
	return err
}

// explainUnauthorized explains that Cairn's server does not know the user. If the API server does, the credentials are
// not wrong: those of a proxy are for no other server.
func (s *Session) explainUnauthorized(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if user, failed := s.User(ctx); s.ServerAccount == "" && failed == nil {
		return Explained(err, "Cairn's server does not accept your credentials, and the API server of %s does, for "+
			"%s: a proxy in front of it authenticates you, such as Rancher, Teleport or kubectl proxy, or the server "+
			"is that of another cluster. Behind a proxy, name a ServiceAccount with the permissions: "+
			"--server-service-account NAMESPACE/NAME; "+
			version.Docs+"how-to/expose.md describes it", s.cluster(), user)
	}
	return Explained(err, "Cairn's server does not accept your credentials: those in the kubeconfig are wrong or have "+
		"expired; log in again")
}

// HasCode returns whether Cairn's server answered a request with an HTTP status code.
func HasCode(err error, code int) bool {
	var answer *userapi.Error
	return errors.As(err, &answer) && answer.Code == code
}

// IsTransient returns whether a request that failed may succeed later: the server did not answer, or is unavailable.
func IsTransient(err error) bool {
	var (
		said   *userapi.Error
		status apierrors.APIStatus
		lost   *url.Error
		net    net.Error
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &said):
		return said.Code >= 500 || said.Code == http.StatusTooManyRequests
	case errors.As(err, &status):
		code := status.Status().Code
		return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusGone
	}
	return errors.As(err, &lost) || errors.As(err, &net)
}

// NotFound returns the error of a name that does not exist, with similar names. kind is one of the names of a kind, or
// empty for Stacks and Runs.
func (s *Session) NotFound(ctx context.Context, err error, ns, name, kind string) error {
	if !apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return s.Explain(err)
	}
	what, several, list := "Stack and no Run", kinds.Stacks.Plural, "get"
	if k, ok := kinds.Named(kind); ok {
		what, several = k.Named().Kind, k.Named().Plural
		if k != kinds.Kind(kinds.Stacks) {
			list = "get " + k.Named().Resource()
		}
	}
	text := fmt.Sprintf("there is no %s %s in namespace %s", what, name, ns)
	names, listed := s.Names(ctx, ns, lists(kind)...)
	elsewhere := s.namespacesOf(ctx, name, lists(kind)...)
	switch near := Similar(name, names); {
	case len(elsewhere) > 0: // messages of objects name commands without a namespace
		text += ": namespace " + strings.Join(elsewhere, " and namespace ") + " has one; add -n " + elsewhere[0]
	case listed != nil:
	case len(near) > 0:
		text += ": did you mean " + strings.Join(near, ", ") + "?"
	case len(names) == 0:
		text += ": it has no " + several + "; select another namespace with -n NAMESPACE"
	default:
		text += fmt.Sprintf(": `%s %s` lists them; select another namespace with -n NAMESPACE", s.Command(), list)
	}
	return Explanation{text, err}
}

// mostNamespaces is how many namespaces a message names.
const mostNamespaces = 3

// namespacesOf returns namespaces that have an object of that name, of those in which the user can list all.
func (s *Session) namespacesOf(ctx context.Context, name string, lists ...client.ObjectList) (namespaces []string) {
	for _, list := range lists {
		if s.List(ctx, list, client.MatchingFields{metav1.ObjectNameField: name}) != nil {
			continue
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error { // fails only for what is no list
			namespaces = append(namespaces, o.(client.Object).GetNamespace())
			return nil
		})
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	return namespaces[:min(len(namespaces), mostNamespaces)]
}

// Similar returns at most three names that are similar to an unknown one, the most similar first.
func Similar(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, n := range names {
		d := levenshtein.Distance(name, n, nil)
		if strings.HasPrefix(n, name) {
			d = min(d, 1)
		}
		if d <= max(1, len(name)/3) {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	var best []string
	for _, c := range near[:min(3, len(near))] {
		best = append(best, c.name)
	}
	return best
}

// IgnoreUnreadable returns nil for an object that does not exist or that the user may not read, where it is optional.
func IgnoreUnreadable(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
