//go:build linux

package node

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"cairn.dev/cairn/dev/authority"
)

// certify writes a certificate for a server under a name.
func (n *Node) certify(name string, names []string, addresses ...string) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    names,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	return n.authority.Write(name, template)
}

// config returns a client configuration for a user of the API.
func (n *Node) config(user string, groups ...string) (*rest.Config, error) {
	certPEM, keyPEM, err := n.authority.Sign(authority.Client(user, groups...))
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", user, err)
	}
	return &rest.Config{
		Host:            endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: n.authority.PEM, CertData: certPEM, KeyData: keyPEM},
		QPS:             -1, // the API server has priority and fairness
	}, nil
}

func writeKubeconfig(path string, config *rest.Config) error {
	const name = "cairn-node"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: config.CertData,
			ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return os.WriteFile(path, content, 0o600)
}
