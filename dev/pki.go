package dev

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Files in the pki folder.
const (
	caCert            = "ca.crt"
	caKey             = "ca.key"
	tokenKey          = "tokens.key"
	serverCert        = "server.crt"
	serverKey         = "server.key"
	kubeletClientCert = "kubelet-client.crt"
	kubeletClientKey  = "kubelet-client.key"
)

// certLife is that of what the authority signs. All of it is signed anew at each start.
const certLife = 365 * 24 * time.Hour

// pki is the certificate authority of one control plane.
type pki struct {
	dir   string
	caPEM []byte
	ca    *x509.Certificate
	key   crypto.Signer
}

func (p *pki) path(file string) string { return filepath.Join(p.dir, file) }

// loadPKI takes up the authority and the key of the tokens in dir, makes them the first time, and signs what the API
// server needs.
func loadPKI(dir string) (*pki, error) {
	p := &pki{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	for _, step := range []func() error{p.authority, p.tokens, p.server, p.kubeletClient} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("make certificates in %s: %w", dir, err)
		}
	}
	return p, nil
}

func (p *pki) authority() (err error) {
	if p.key, err = p.keptKey(caKey); err != nil {
		return err
	}
	if p.caPEM, err = os.ReadFile(p.path(caCert)); errors.Is(err, fs.ErrNotExist) {
		made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "cairn dev"}, p.key)
		if err != nil {
			return err
		}
		if p.caPEM, err = cert.EncodeCertificates(made); err != nil {
			return err
		}
		if err := os.WriteFile(p.path(caCert), p.caPEM, 0o600); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	certs, err := cert.ParseCertsPEM(p.caPEM)
	if err != nil {
		return err
	}
	p.ca = certs[0]
	return nil
}

// tokens makes the key that signs service account tokens, so that a token outlives the process that gave it.
func (p *pki) tokens() error {
	_, err := p.keptKey(tokenKey)
	return err
}

func (p *pki) server() error {
	return p.write(serverCert, serverKey, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (p *pki) kubeletClient() error {
	return p.write(kubeletClientCert, kubeletClientKey, client("kube-apiserver-kubelet-client", nil))
}

// client is a certificate to sign for a user of the API.
func client(user string, groups []string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func (p *pki) write(certFile, keyFile string, template *x509.Certificate) error {
	certPEM, keyPEM, err := p.sign(template)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(p.path(certFile), certPEM, 0o600), os.WriteFile(p.path(keyFile), keyPEM, 0o600))
}

// sign makes a key and has the authority sign the certificate for it.
func (p *pki) sign(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // clocks of laptops jump
	template.NotAfter = time.Now().Add(certLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, p.ca, key.Public(), p.key)
	if err != nil {
		return nil, nil, err
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	if certPEM, err = cert.EncodeCertificates(signed); err != nil {
		return nil, nil, err
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return certPEM, keyPEM, err
}

// keptKey reads a private key, or makes it when it is not there.
func (p *pki) keptKey(file string) (crypto.Signer, error) {
	pem, err := os.ReadFile(p.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		if pem, err = keyutil.MakeEllipticPrivateKeyPEM(); err == nil {
			err = os.WriteFile(p.path(file), pem, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds no key that signs", file)
	}
	return signer, nil
}
