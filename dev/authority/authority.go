// Package authority signs the certificates of a control plane on this machine.
package authority

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
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// life is that of what is signed. All of it is signed anew at each start.
const life = 365 * 24 * time.Hour

// Authority keeps what it signs in a folder: NAME.crt and NAME.key, its own as ca.
type Authority struct {
	// PEM is its certificate.
	PEM []byte

	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// Load takes up the authority in a folder, or makes one with a name there.
func Load(dir, name string) (*Authority, error) {
	a := &Authority{dir: dir}
	var err error
	if a.key, err = a.KeptKey("ca"); err != nil {
		return nil, err
	}
	if a.PEM, err = os.ReadFile(a.Cert("ca")); errors.Is(err, fs.ErrNotExist) {
		made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, a.key)
		if err != nil {
			return nil, err
		}
		if a.PEM, err = cert.EncodeCertificates(made); err != nil {
			return nil, err
		}
		if err := os.WriteFile(a.Cert("ca"), a.PEM, 0o600); err != nil { //nolint:gosec // the folder is that of who calls
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	certs, err := cert.ParseCertsPEM(a.PEM)
	if err != nil {
		return nil, err
	}
	a.cert = certs[0]
	return a, nil
}

// Cert is where the certificate of a name is.
func (a *Authority) Cert(name string) string { return filepath.Join(a.dir, name+".crt") }

// Key is where the key of a name is.
func (a *Authority) Key(name string) string { return filepath.Join(a.dir, name+".key") }

// KeptKey reads the key of a name, or makes it when it is not there.
func (a *Authority) KeptKey(name string) (crypto.Signer, error) {
	pem, err := os.ReadFile(a.Key(name))
	if errors.Is(err, fs.ErrNotExist) {
		if pem, err = keyutil.MakeEllipticPrivateKeyPEM(); err == nil {
			err = os.WriteFile(a.Key(name), pem, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Key(name), err)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds no key that signs", a.Key(name))
	}
	return signer, nil
}

// Write signs a certificate and keeps it, and its key, under a name.
func (a *Authority) Write(name string, template *x509.Certificate) error {
	certPEM, keyPEM, err := a.Sign(template)
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	return errors.Join(os.WriteFile(a.Cert(name), certPEM, 0o600), os.WriteFile(a.Key(name), keyPEM, 0o600))
}

// Client is a certificate to sign for a user of the API.
func Client(user string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// Sign makes a key and signs the certificate for it.
func (a *Authority) Sign(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour) // clocks of laptops jump
	template.NotAfter = time.Now().Add(life)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
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
