package dev

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"

	"cairn.dev/cairn/dev/authority"
)

// Names in the pki folder.
const (
	nameServer        = "server"
	nameTokens        = "tokens"
	nameKubeletClient = "kubelet-client"
)

// loadPKI takes up the authority and the key that signs service account tokens, so that both outlive this process,
// makes them the first time, and signs what the API server needs.
func loadPKI(dir string) (*authority.Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	a, err := authority.Load(dir, "cairn dev")
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	for _, step := range []func() error{
		func() error {
			_, err := a.KeptKey(nameTokens)
			return err
		},
		func() error {
			return a.Write(nameServer, &x509.Certificate{
				Subject:     pkix.Name{CommonName: "kube-apiserver"},
				DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
				IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			})
		},
		func() error { return a.Write(nameKubeletClient, authority.Client("kube-apiserver-kubelet-client")) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("make certificates: %w", err)
		}
	}
	return a, nil
}
