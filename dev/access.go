package dev

import (
	"fmt"
	"os"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"cairn.dev/cairn/dev/authority"
)

// Admin is the user of RESTConfig: it may do everything.
const Admin = "cairn-dev"

// RESTConfig is the access of the Admin. Set a UserAgent on it to identify the client in the audit log.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminToken is a token of the Admin, for what cannot show a certificate. Another one is made at each start.
func (c *ControlPlane) AdminToken() string { return c.token }

// RESTConfigFor is the access of any user, who may do what RBAC says.
func (c *ControlPlane) RESTConfigFor(user string, groups ...string) (*rest.Config, error) {
	certPEM, keyPEM, err := c.pki.Sign(authority.Client(user, groups...))
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", user, err)
	}
	return &rest.Config{
		Host:            c.endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.pki.PEM, CertData: certPEM, KeyData: keyPEM},
		QPS:             -1, // the one API server there is can say so itself when it is too much
	}, nil
}

// WriteKubeconfig writes a kubeconfig of the Admin. Nothing else in the file is kept.
func (c *ControlPlane) WriteKubeconfig(path string) error { return writeKubeconfig(path, c.admin) }

// WriteAccountKubeconfig writes a kubeconfig of a service account. It has a certificate in place of a token, which
// would have to be renewed.
func (c *ControlPlane) WriteAccountKubeconfig(path, namespace, account string) error {
	groups := append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated)
	config, err := c.RESTConfigFor(serviceaccount.MakeUsername(namespace, account), groups...)
	if err != nil {
		return err
	}
	return writeKubeconfig(path, config)
}

func writeKubeconfig(path string, config *rest.Config) error {
	const name = Admin
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			name: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData},
		},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
		CurrentContext: name,
	}
	content, err := clientcmd.Write(kubeconfig)
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	// Whole or not at all: it may be in use.
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
