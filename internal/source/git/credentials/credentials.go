// Package credentials reads the Secret of a Git remote. Secrets of Repositories and of spec.moduleCredentials have the
// same format, that of Flux's GitRepository.
package credentials

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"cairn.dev/cairn/internal/engine/redact"
)

// Auth has the credentials for a remote. The zero value has none.
type Auth struct {
	// Username and Password for HTTP.
	Username, Password string
	// BearerToken for HTTP, instead of them.
	BearerToken string
	// Identity is the private key for SSH, Passphrase what it is encrypted with, "" if it is not.
	Identity   []byte
	Passphrase string
	// KnownHosts are the host keys that are accepted for SSH; no other is.
	KnownHosts []byte
	// CA are certificates, PEM, that sign the remote's certificate. Empty: those of the machine.
	CA []byte
	// GitHubApp to be known as, by HTTPS.
	GitHubApp *GitHubApp
}

// GitHubApp is an installation of an app.
type GitHubApp struct {
	ID, InstallationID int64
	// PrivateKey, PEM.
	PrivateKey []byte
	// BaseURL of the API. Empty: https://api.github.com.
	BaseURL string
}

// String names the kind of credentials, without secrets, so that none gets into a log by accident.
func (a Auth) String() string {
	switch {
	case a.GitHubApp != nil:
		return "GitHub App"
	case a.BearerToken != "":
		return "bearer token"
	case a.Password != "":
		return "password"
	case len(a.Identity) > 0:
		return "SSH key"
	}
	return "anonymous"
}

// GoString is String.
func (a Auth) GoString() string { return a.String() }

// String names the app, without its key.
func (g *GitHubApp) String() string { return "GitHub App" }

// GoString is String.
func (g *GitHubApp) GoString() string { return g.String() }

// Secrets are what must not be in a message.
func (a Auth) Secrets() *redact.Redactor {
	r := redact.New()
	r.Add(a.Password, a.BearerToken, a.Passphrase, string(a.Identity))
	if a.Password != "" {
		r.Add(Basic(a.Username, a.Password))
	}
	if a.GitHubApp != nil {
		r.Add(string(a.GitHubApp.PrivateKey))
	}
	return r
}

// Basic encodes a username and a password as HTTP does.
func Basic(username, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
}

// Authorization is the value of the HTTP header with the credentials, "" for none.
func (a Auth) Authorization() string {
	switch {
	case a.BearerToken != "":
		return "Bearer " + a.BearerToken
	case a.Username != "" || a.Password != "":
		return "Basic " + Basic(a.Username, a.Password)
	}
	return ""
}

// Check rejects what could add a header or a line to a file.
func (a Auth) Check() error {
	for _, part := range [][2]string{{keyUsername, a.Username}, {keyPassword, a.Password}, {keyBearer, a.BearerToken}} {
		if strings.ContainsFunc(part[1], unicode.IsControl) {
			return fmt.Errorf("the Secret's key %s has a line break or a control character in it", part[0])
		}
	}
	if strings.Contains(a.Username, ":") {
		return errors.New("the Secret's key username has a colon in it")
	}
	return nil
}

// Pool are the certificates to trust: the machine's, and CA.
func (a Auth) Pool() (*x509.CertPool, error) {
	if len(a.CA) == 0 {
		return nil, nil // which crypto/tls takes for the machine's
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(a.CA) {
		return nil, errors.New("the Secret's key ca.crt has no certificate in it: it must be PEM")
	}
	return pool, nil
}

// PlainIdentity is the private key as ssh reads it without asking for a passphrase, whatever its line breaks are.
func (a Auth) PlainIdentity() ([]byte, error) {
	key, err := ssh.ParseRawPrivateKey(a.Identity)
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		if a.Passphrase == "" {
			return nil, errors.New("the Secret's key identity is encrypted: set its passphrase in password")
		}
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(a.Identity, []byte(a.Passphrase))
	}
	var block *pem.Block
	if err == nil {
		block, err = ssh.MarshalPrivateKey(key, "")
	}
	if err != nil { // which may quote the key
		return nil, errors.New("the Secret's key identity is no private key that can be read, or password is not its " +
			"passphrase")
	}
	return pem.EncodeToMemory(block), nil
}
