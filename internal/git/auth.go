package git

import (
	"crypto/x509"
	"encoding/base64"
	"strings"
	"unicode"

	"cairn.dev/cairn/internal/redact"
)

// Auth is how a remote knows us. The zero value is nobody.
type Auth struct {
	// Username and Password for HTTP.
	Username, Password string
	// BearerToken for HTTP, instead of them.
	BearerToken string
	// Identity is the private key for SSH, Passphrase what it is encrypted with, "" if it is not.
	Identity   []byte
	Passphrase string
	// KnownHosts are the host keys that are taken for SSH; no other is.
	KnownHosts []byte
	// CA are certificates, PEM, that sign the remote's certificate. Empty: those of the machine.
	CA []byte
	// GitHubApp to be known as, by HTTPS.
	GitHubApp *GitHubApp
}

// GitHubApp is an installation of an app.
type GitHubApp struct { //nolint:revive // GitHub is a name, no stutter
	ID, InstallationID int64
	// PrivateKey, PEM.
	PrivateKey []byte
	// BaseURL of the API. Empty: https://api.github.com.
	BaseURL string
}

// Remote is a repository elsewhere, and who we are there.
type Remote struct {
	URL  string
	Auth Auth
}

// String says what it is, without secrets, so that none gets into a log by accident.
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
	return "nobody"
}

// GoString is String.
func (a Auth) GoString() string { return a.String() }

// String says which app it is, without its key.
func (g *GitHubApp) String() string { return "GitHub App" }

// GoString is String.
func (g *GitHubApp) GoString() string { return g.String() }

// secrets are what must not be in a message.
func (a Auth) secrets() *redact.Redactor {
	r := redact.New()
	r.Add(a.Password, a.BearerToken, a.Passphrase, string(a.Identity))
	if a.Password != "" {
		r.Add(basic(a.Username, a.Password))
	}
	if a.GitHubApp != nil {
		r.Add(string(a.GitHubApp.PrivateKey))
	}
	return r
}

func basic(username, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
}

// authorization is the value of the HTTP header that says who we are, "" for nobody.
func (a Auth) authorization() string {
	switch {
	case a.BearerToken != "":
		return "Bearer " + a.BearerToken
	case a.Username != "" || a.Password != "":
		return "Basic " + basic(a.Username, a.Password)
	}
	return ""
}

// check refuses what could add a header or a line to a file.
func (a Auth) check() error {
	for name, value := range map[string]string{"username": a.Username, "password": a.Password, "bearerToken": a.BearerToken} {
		if strings.ContainsFunc(value, unicode.IsControl) {
			return fail(ErrConfig, "the Secret's key %s has a line break or a control character in it", name)
		}
	}
	if strings.Contains(a.Username, ":") {
		return fail(ErrConfig, "the Secret's key username has a colon in it")
	}
	return nil
}

// pool are the certificates to trust: the machine's, and CA.
func (a Auth) pool() (*x509.CertPool, error) {
	if len(a.CA) == 0 {
		return nil, nil // which crypto/tls takes for the machine's
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(a.CA) {
		return nil, fail(ErrConfig, "the Secret's key ca.crt has no certificate in it: it must be PEM")
	}
	return pool, nil
}
