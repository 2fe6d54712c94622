package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Credentials returns the configuration of a client with the credentials for Cairn's server: those for Kubernetes, or
// tokens of the ServiceAccount that --server-service-account names. A proxy in front of the API server that
// authenticates users, such as Rancher or Teleport, has credentials of its own, which mean nothing to Cairn's server.
func (s *Session) Credentials(ctx context.Context) (*rest.Config, error) {
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	if s.ServerAccount == "" {
		c := rest.CopyConfig(config)
		c.WrapTransport = nil // no timeout: large states take longer
		return c, nil
	}
	kube, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	account, err := s.serverAccount()
	if err != nil {
		return nil, err
	}
	source := accountTokens{ctx: ctx, kube: kube, account: account}
	first, err := source.Token()
	if err != nil {
		return nil, s.Explain(err)
	}
	c := rest.AnonymousClientConfig(config)
	c.WrapTransport = transport.TokenSourceWrapTransport(oauth2.ReuseTokenSource(first, source))
	return c, nil
}

// serverAccount returns the ServiceAccount of --server-service-account, by default in the namespace of the command.
func (s *Session) serverAccount() (client.ObjectKey, error) {
	namespace, name, both := strings.Cut(s.ServerAccount, "/")
	if both {
		return client.ObjectKey{Namespace: namespace, Name: name}, nil
	}
	namespace, err := s.Namespace()
	return client.ObjectKey{Namespace: namespace, Name: s.ServerAccount}, err
}

// accountTokens requests tokens of a ServiceAccount as the user.
type accountTokens struct {
	ctx     context.Context //nolint:containedctx // oauth2.TokenSource has no other way
	kube    client.Client
	account client.ObjectKey
}

// Token requests a token for an hour, the default of the API server.
func (t accountTokens) Token() (*oauth2.Token, error) {
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.account.Namespace,
		Name: t.account.Name}}
	if err := t.kube.SubResource("token").Create(t.ctx, account, request); err != nil {
		return nil, fmt.Errorf("request a token of ServiceAccount %s for Cairn's server: %w", t.account, err)
	}
	expiry := request.Status.ExpirationTimestamp.Add(-time.Minute)
	return &oauth2.Token{AccessToken: request.Status.Token, TokenType: "Bearer", Expiry: expiry}, nil
}
