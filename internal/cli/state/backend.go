package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/userapi"
)

// backendUser is the user name that an engine sends with the token. The engine requires one, and the server ignores it.
const backendUser = "cairn"

func backendCommand(s *session.Session) *cobra.Command {
	var token, config bool
	cmd := onState(s, &cobra.Command{
		Use:   "backend STACK",
		Short: "Print how OpenTofu or Terraform on your machine uses a Stack's state",
		Long: `Prints a configuration of the backend "http", with which OpenTofu or Terraform on your machine reads, locks
and writes the state of a Stack as you. The configuration has no secret. The engine gets your token from the
environment variable TF_HTTP_PASSWORD; --token prints it.

Needs the verb pull on the State to read, push to lock and write, and unlock to remove the lock of another user.`,
		Example: s.Examples(`
			cairn state backend net > backend_override.tf
			export TF_HTTP_PASSWORD="$(cairn state backend net --token)"
			tofu init && tofu apply
			cairn state backend net --backend-config > net.tfbackend`),
		ValidArgsFunction: s.Complete(session.CompleteStacks),
	}, func(ctx context.Context, key client.ObjectKey, _ []string) error {
		if token {
			return printToken(ctx, s)
		}
		return printBackend(ctx, s, key, config)
	})
	cmd.Flags().BoolVar(&token, "token", false,
		"print only the bearer token of your kubeconfig, for TF_HTTP_PASSWORD")
	cmd.Flags().BoolVar(&config, "backend-config", false,
		"print only the arguments, for a file of init -backend-config=FILE, if the code has a backend \"http\" {}")
	cmd.MarkFlagsMutuallyExclusive("token", "backend-config")
	return cmd
}

func printBackend(ctx context.Context, s *session.Session, key client.ObjectKey, config bool) error {
	if err := checkStored(ctx, s, key); err != nil {
		return err
	}
	address, ca, err := s.Address(ctx)
	if err != nil {
		return err
	}
	if hint := session.PortForwardHint(address); hint != "" {
		s.Note("%s", hint)
	}
	backend := userapi.StateBackend(address, key.Namespace, key.Name)
	_, err = io.WriteString(s.Out, backendFile(s, key, backend, string(ca), config))
	return err
}

// checkStored returns an error if Cairn does not store the state of a Stack.
func checkStored(ctx context.Context, s *session.Session, key client.ObjectKey) error {
	stack := &v1alpha1.Stack{}
	switch err := s.Get(ctx, key, stack); {
	case apierrors.IsForbidden(err): // permissions for the state do not include the Stack
		return nil
	case err != nil:
		return s.NotFound(ctx, err, key.Namespace, key.Name, "stack")
	case stack.Spec.Backend != nil:
		return fmt.Errorf("the state of Stack %s is in the backend %s of spec.backend, not in Cairn: "+
			"use that backend on your machine too", key.Name, stack.Spec.Backend.Name())
	}
	return nil
}

// backendFile returns the configuration of the backend: a block, or only its arguments.
func backendFile(s *session.Session, key client.ObjectKey, address, ca string, config bool) string {
	use := "Save this file beside the code as backend_override.tf, and do not commit it."
	if config {
		use = "Save this file as " + key.Name + ".tfbackend, for init -backend-config=" + key.Name + ".tfbackend."
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# The state of Stack %s in namespace %s, for OpenTofu or Terraform on your machine. "+
		"There is no secret in this file.\n# %s\n", key.Name, key.Namespace, use)
	fmt.Fprintf(&text, "# Set your token before you run the engine:\n"+
		"#   export TF_HTTP_PASSWORD=\"$(%s state backend %s -n %s --token)\"\n", s.Program, key.Name, key.Namespace)
	indent := ""
	if !config {
		text.WriteString("terraform {\n  backend \"http\" {\n")
		indent = "    "
	}
	for _, argument := range [][2]string{
		{"address       ", address}, {"lock_address  ", address}, {"unlock_address", address},
		{"lock_method   ", "LOCK"}, {"unlock_method ", "UNLOCK"}, {"username      ", backendUser},
	} {
		fmt.Fprintf(&text, "%s%s = %s\n", indent, argument[0], engine.Quote(argument[1]))
	}
	if ca != "" {
		fmt.Fprintf(&text, "%sclient_ca_certificate_pem = <<EOT\n%s\nEOT\n", indent, strings.TrimSpace(ca))
	}
	if !config {
		text.WriteString("  }\n}\n")
	}
	return text.String()
}

// printToken prints the bearer token for Cairn's server.
func printToken(ctx context.Context, s *session.Session) error {
	config, err := s.Credentials(ctx)
	if err != nil {
		return err
	}
	token, err := bearerToken(config)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, token)
	return err
}

// bearerToken returns the token of a kubeconfig, of its token file, or of its credential plugin.
func bearerToken(config *rest.Config) (string, error) {
	if config.Impersonate.UserName != "" {
		return "", errors.New("an engine cannot impersonate a user (--as): use a token of that user, " +
			"for a ServiceAccount one of kubectl create token")
	}
	recorder := &tokenRecorder{}
	transport, err := rest.HTTPWrappersForConfig(config, recorder)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequest(http.MethodGet, "https://kubernetes.invalid/", nil) //nolint:noctx // it is not sent
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	token, ok := strings.CutPrefix(recorder.authorization, "Bearer ")
	if !ok || token == "" {
		return "", errors.New("your kubeconfig has no bearer token: create one with kubectl create token " +
			"SERVICEACCOUNT, or set your client certificate in TF_HTTP_CLIENT_CERTIFICATE_PEM and " +
			"TF_HTTP_CLIENT_PRIVATE_KEY_PEM")
	}
	return token, nil
}

// tokenRecorder records the header Authorization of a request, and does not send the request.
type tokenRecorder struct{ authorization string }

func (c *tokenRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	c.authorization = r.Header.Get("Authorization")
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
}
