package session

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

func TestSimilar(t *testing.T) {
	names := []string{"database", "net", "net-1", "net-2", "network", "vpc"}
	for name, want := range map[string][]string{
		"nett":     {"net"},
		"databas":  {"database"},
		"netw":     {"net", "network"},
		"ne":       {"net", "net-1", "net-2"},
		"frontend": nil,
	} {
		if diff := cmp.Diff(want, Similar(name, names)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSplitKind(t *testing.T) {
	for arg, want := range map[string][2]string{
		"net": {"", "net"}, "stack/net": {"stack", "net"}, "Run/net-7": {"run", "net-7"},
		"runs.cairn.dev/net-7": {"run", "net-7"}, "pod/x": {"", "pod/x"},
	} {
		kind, name := SplitKind(arg)
		if diff := cmp.Diff(want, [2]string{kind, name}); diff != "" {
			t.Errorf("%s: %s", arg, diff)
		}
	}
}

func TestExplain(t *testing.T) {
	s, _, _ := quietSession()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	response := func(code int, message string) error { return &userapi.Error{Code: code, Message: message} }
	gone := func() error {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		_, err := http.Get(server.URL)
		return err
	}()
	for name, tt := range map[string]struct{ err, want string }{
		"the message of an admission policy is printed alone": {s.Explain(
			&apierrors.StatusError{ErrStatus: metav1.Status{
				Reason: metav1.StatusReasonForbidden, Code: 403,
				Message: "runs.cairn.dev \"net-1\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' " +
					"denied request: by has to be you",
			}}).Error(), "by has to be you"},
		"a missing permission is printed with the verb": {s.Explain(
			apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), "net",
				errors.New(`User "bob" cannot patch resource "stacks"`))).Error(), "cannot patch resource"},
		"an unknown user has to log in":   {s.Explain(apierrors.NewUnauthorized("who")).Error(), "log in"},
		"a cluster that is away is named": {s.Explain(gone).Error(), "does not answer"},
		"a server that is away is named":  {s.ExplainServer(gone).Error(), "--server"},
		"the server's rejection is printed": {s.ExplainServer(response(409, "the lock is held")).Error(),
			"the lock is held"},
		"the server's verb is printed": {s.ExplainServer(response(403, "needs get on runs/plan")).Error(),
			"needs get on runs/plan"},
		"a user that the server does not accept": {s.ExplainServer(response(401, "no")).Error(), "log in"},
		"another error stays as it is":           {s.Explain(io.ErrUnexpectedEOF).Error(), "unexpected EOF"},
		"an unknown format lists the known ones": {(&formatFlag{known: []string{FormatJSON, FormatYAML}}).Set("xml").
			Error(), "json, yaml"},
	} {
		if !strings.Contains(tt.err, tt.want) {
			t.Errorf("%s: %q has no %q", name, tt.err, tt.want)
		}
	}
	if _, err := s.Kubernetes(); err == nil {
		if _, _, err = s.StackOrRun(t.Context(), "net"); err == nil || err.Error() != noKubeconfig {
			t.Errorf("without a kubeconfig: %v", err)
		}
	} else if err.Error() != noKubeconfig {
		t.Errorf("without a kubeconfig: %v", err)
	}
}

// TestServerBehindAnAuthenticatingProxy checks what a user sees who reaches the API server through a proxy that
// authenticates, as Rancher, Teleport and kubectl proxy do: Cairn's server knows none of those credentials.
func TestServerBehindAnAuthenticatingProxy(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer account-token" || r.Header.Get("Impersonate-User") != "" {
			http.Error(w, `{"detail": "who asks?"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"version": 4}`)
	}))
	defer server.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/authentication.k8s.io/v1/selfsubjectreviews":
			fmt.Fprint(w, `{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": {"userInfo": {"username": "alice"}}}`)
		case "/api/v1/namespaces/shop/serviceaccounts/cairn-users/token":
			expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			fmt.Fprintf(w, `{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}, "status": {"token": "account-token", "expirationTimestamp": %q}}`, expires)
		case "/api", "/apis", "/api/v1", "/apis/authentication.k8s.io/v1":
			fmt.Fprint(w, map[string]string{
				"/api":                           `{"kind": "APIVersions", "versions": ["v1"]}`,
				"/apis":                          `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "authentication.k8s.io", "versions": [{"groupVersion": "authentication.k8s.io/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "authentication.k8s.io/v1", "version": "v1"}}]}`,
				"/api/v1":                        `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "serviceaccounts", "namespaced": true, "kind": "ServiceAccount", "verbs": ["get"]}]}`,
				"/apis/authentication.k8s.io/v1": `{"kind": "APIResourceList", "groupVersion": "authentication.k8s.io/v1", "resources": [{"name": "selfsubjectreviews", "namespaced": false, "kind": "SelfSubjectReview", "verbs": ["create"]}]}`,
			}[r.URL.Path])
		default:
			http.NotFound(w, r)
		}
	}))
	defer proxy.Close()
	ca := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	read := func(account string) (string, error) {
		s, _, _ := quietSession()
		t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
		s.Overrides.ClusterInfo.Server, s.Overrides.AuthInfo.Token = proxy.URL, "token-of-the-proxy"
		s.Overrides.AuthInfo.Impersonate = "bob"
		s.URL, s.CA, s.ServerAccount = server.URL, ca, account
		state, err := Call(t.Context(), s, func(c *userapi.Client) ([]byte, error) {
			return c.State(t.Context(), "shop", "net", 0)
		})
		return string(state), err
	}
	if _, err := read(""); err == nil || strings.Contains(err.Error(), "expired") ||
		!strings.Contains(err.Error(), "accept your credentials, and the API server of the cluster does, for alice") {
		t.Errorf("without a ServiceAccount: %v", err)
	}
	if state, err := read("shop/cairn-users"); err != nil || state != `{"version": 4}` {
		t.Errorf("with one: %q, %v", state, err)
	}
	if _, err := read("shop/other"); err == nil ||
		!strings.Contains(err.Error(), "request a token of ServiceAccount shop/other") {
		t.Errorf("with one that does not exist: %v", err)
	}
}

// TestCredentialsAreSentToHTTPSOnly checks that credentials of the cluster are not sent in plain text.
func TestCredentialsAreSentToHTTPSOnly(t *testing.T) {
	s, _, _ := quietSession()
	for _, address := range []string{"http://cairn", "cairn:8443", "https://", "file:///x", "https://a b"} {
		s.URL = address
		if _, _, err := s.Address(t.Context()); err == nil || !strings.Contains(err.Error(), "no https:// URL") {
			t.Errorf("%s: %v", address, err)
		}
	}
	s.URL, s.CA = "https://cairn/", filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(s.CA, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Address(t.Context()); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Error(err)
	}
}

// TestServerConfigUsesTheServersCA checks that the CA of the API server in the kubeconfig is not used.
func TestServerConfigUsesTheServersCA(t *testing.T) {
	kube := &rest.Config{
		Host: "https://kubernetes", BearerToken: "token", Impersonate: rest.ImpersonationConfig{UserName: "bob"},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true, ServerName: "kubernetes", CAData: []byte("kubernetes"),
			CertData: []byte("cert"), KeyData: []byte("key")},
	}
	got := serverConfig(kube, "https://cairn", []byte("cairn"))
	if diff := cmp.Diff(rest.TLSClientConfig{CAData: []byte("cairn"), CertData: []byte("cert"), KeyData: []byte("key")},
		got.TLSClientConfig); diff != "" {
		t.Error(diff)
	}
	if got.Host != "https://cairn" || got.BearerToken != "token" || got.Impersonate.UserName != "bob" {
		t.Errorf("%v", got)
	}
}

// quietSession returns a session whose output can be read, without a terminal.
func quietSession() (s *Session, out, errOut *bytes.Buffer) {
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut}, "cairn"), out, errOut
}
