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

	"github.com/agext/levenshtein"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/userapi"
)

// Exit codes of commands for people.
const (
	ExitFailed      = 1   // it was not done
	ExitChanges     = 2   // changes are waiting
	ExitInterrupted = 130 // the user interrupted the command; a Run may continue
)

// An ExitError ends the process with its code. One without an error has nothing to say: all was said.
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

// ErrChanges ends the process with exit code 2: changes are waiting, and the output says so already.
var ErrChanges = ExitError{Code: ExitChanges}

// Interrupted is the error of a command that the user interrupted. The message says what goes on without it.
func Interrupted(format string, args ...any) error {
	return ExitError{ExitInterrupted, fmt.Errorf(format, args...)}
}

func (e ExitError) Unwrap() error { return e.Err }

// Explained is an error that has a message for the user in place of err's own.
func Explained(err error, format string, args ...any) error {
	return Explanation{fmt.Sprintf(format, args...), err}
}

// Explanation is an error whose message says what to do; explain does not change it.
type Explanation struct {
	text string
	err  error
}

func (e Explanation) Error() string { return e.text }
func (e Explanation) Unwrap() error { return e.err }

// Explain says of an error of Kubernetes what to do about it. Any other one stays as it is.
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
		return Explanation{noKubeconfig, err}
	case clientcmd.IsContextNotFound(err), clientcmd.IsConfigurationInvalid(err):
		return Explanation{fmt.Sprintf("%v; see kubectl config get-contexts", err), err}
	case apimeta.IsNoMatchError(err):
		return Explanation{s.cluster() + " has no Cairn: it does not know its kinds. Install Cairn there, or choose another cluster with --context", err}
	case errors.As(err, &status):
		return s.explainStatus(err, status.Status())
	case errors.As(err, &lost):
		if s.unconfigured(lost) {
			return Explanation{noKubeconfig, err}
		}
		return Explanation{fmt.Sprintf("%s does not answer: %v; see that it runs, or choose another one with --context", s.cluster(), lost.Err), err}
	}
	return err
}

const noKubeconfig = "there is no cluster: set KUBECONFIG, or --kubeconfig, to the file that says where it is; `cairn dev` starts one on this machine"

// unconfigured says that a call went where the library goes when nothing says where.
func (s *Session) unconfigured(err *url.Error) bool {
	u, parsed := url.Parse(err.URL)
	if parsed != nil || u.Host != "localhost:8080" {
		return false
	}
	raw, loaded := s.loader().RawConfig()
	return loaded != nil || len(raw.Clusters) == 0
}

// cluster names the cluster for messages.
func (s *Session) cluster() string {
	raw, err := s.loader().RawConfig()
	name := raw.CurrentContext
	name = cmp.Or(s.Overrides.CurrentContext, name)
	if err != nil || name == "" {
		return "the cluster"
	}
	return "the cluster of context " + name
}

// explainStatus says what the API server's refusal means for a person.
func (s *Session) explainStatus(err error, status metav1.Status) error {
	text := action.RejectionMessage(status)
	switch {
	case text != "":
		return Explanation{text, err}
	case apierrors.IsUnauthorized(err):
		return Explanation{s.cluster() + " does not know you: its credentials in the kubeconfig are wrong or have expired; log in again", err}
	case apierrors.IsForbidden(err):
		return Explanation{fmt.Sprintf("you may not: %s; docs/access.md says which role lets you", status.Message), err}
	case apierrors.IsNotFound(err) && status.Details != nil && status.Details.Name == "":
		return Explanation{s.cluster() + " has no Cairn: it does not know its kinds. Install Cairn there, or choose another cluster with --context", err}
	}
	return err
}

// ExplainServer says of an error of Cairn's server what to do about it.
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
		return Explanation{"Cairn's server does not know you: the credentials in the kubeconfig are wrong or have expired; log in again", err}
	case errors.As(err, &said) && said.Code == http.StatusForbidden:
		return Explanation{fmt.Sprintf("you may not: %s; docs/access.md says which role lets you", said.Message), err}
	case errors.As(err, &said):
		return Explanation{said.Message, err}
	case errors.As(err, &signer):
		return Explanation{fmt.Sprintf("nobody who is trusted signs the certificate of Cairn's server (%v): say who does with --server-ca or CAIRN_SERVER_CA", signer), err}
	case errors.As(err, &lost):
		where := lost.URL
		if u, parsed := url.Parse(where); parsed == nil {
			where = u.Scheme + "://" + u.Host
		}
		return Explanation{fmt.Sprintf("Cairn's server %s does not answer: %v; say where it is with --server or CAIRN_SERVER", where, lost.Err), err}
	}
	return err
}

// IsTransient says that an error of a call may be gone in a while: nobody answers, or the one who does cannot now.
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

// NotFound says which names there are that may have been meant. kind is stack, run, or empty for either.
func (s *Session) NotFound(ctx context.Context, err error, ns, name, kind string) error {
	if !apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return s.Explain(err)
	}
	what := map[string]string{"stack": "Stack", "run": "Run", "": "Stack and no Run"}[kind]
	text := fmt.Sprintf("there is no %s %s in namespace %s", what, name, ns)
	names, listed := s.names(ctx, ns, kind)
	switch near := Similar(name, names); {
	case listed != nil:
	case len(near) > 0:
		text += ": did you mean " + strings.Join(near, ", ") + "?"
	case len(names) == 0 && kind != "run":
		text += ": it has no Stacks at all; -n NAMESPACE names another one"
	default:
		text += ": `cairn get` shows those that are there, -n NAMESPACE names another namespace"
	}
	return Explanation{text, err}
}

// names are those of the Stacks, the Runs or both in a namespace.
func (s *Session) names(ctx context.Context, ns, kind string) ([]string, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	var names []string
	for k, list := range map[string]client.ObjectList{"stack": &v1alpha1.StackList{}, "run": &v1alpha1.RunList{}} {
		if kind != "" && kind != k {
			continue
		}
		if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
			return nil, err
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			names = append(names, o.(client.Object).GetName())
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// Similar are the names that are like one that is not there, the most alike first; three at most.
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

// IgnoreUnreadable is for what may be missing, or may not be read by this person: it only adds to a screen.
func IgnoreUnreadable(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
