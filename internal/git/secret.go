package git

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Keys of a Secret, those of Flux's GitRepository.
const (
	keyUsername       = "username"
	keyPassword       = "password"
	keyBearer         = "bearerToken"
	keyIdentity       = "identity"
	keyKnownHosts     = "known_hosts"
	keyCA             = "ca.crt"
	keyCAOfOld        = "caFile"
	keyAppID          = "githubAppID"
	keyInstallationID = "githubAppInstallationID"
	keyPrivateKey     = "githubAppPrivateKey"
	keyBaseURL        = "githubAppBaseURL"
)

// ParseAuth reads a Secret with the keys of Flux's GitRepository. It ignores unknown keys. What does not fit
// together or to the URL is rejected, with the key to correct.
func ParseAuth(url string, data map[string][]byte) (Auth, error) {
	remote, err := parseRemote(url)
	if err != nil {
		return Auth{}, err
	}
	s := secret(data)
	if remote.scheme == "ssh" {
		return s.ssh()
	}
	a, err := s.http()
	if err != nil {
		return Auth{}, err
	}
	if a.CA = s[keyCA]; len(a.CA) == 0 {
		a.CA = s[keyCAOfOld]
	}
	if _, err := a.pool(); err != nil {
		return Auth{}, err
	}
	return a, a.check()
}

type secret map[string][]byte

// text is a value without the line break that many an editor and echo put at its end.
func (s secret) text(key string) string { return strings.TrimRight(string(s[key]), "\r\n") }

func (s secret) has(key string) bool { return s.text(key) != "" }

// need rejects a Secret that lacks one of the keys.
func (s secret) need(why string, keys ...string) error {
	for _, key := range keys {
		if !s.has(key) {
			return fail(ErrConfig, "the Secret has no key %s: %s", key, why)
		}
	}
	return nil
}

// reject rejects a Secret that has one of the keys.
func (s secret) reject(why string, keys ...string) error {
	for _, key := range keys {
		if s.has(key) {
			return fail(ErrConfig, "the Secret has a key %s: %s", key, why)
		}
	}
	return nil
}

func (s secret) http() (Auth, error) {
	if err := s.reject("that is for an ssh:// URL, and this one is not", keyIdentity, keyKnownHosts); err != nil {
		return Auth{}, err
	}
	app := []string{keyAppID, keyInstallationID, keyPrivateKey}
	switch {
	case s.has(keyBearer):
		return Auth{BearerToken: s.text(keyBearer)}, s.reject("it has no use beside "+
			"bearerToken", append(app, keyUsername, keyPassword)...)
	case s.has(keyUsername) || s.has(keyPassword):
		return Auth{Username: s.text(keyUsername), Password: s.text(keyPassword)}, cmp.Or(
			s.need("username and password go together; for a token any username does", keyUsername, keyPassword),
			s.reject("it has no use beside username and password", app...))
	case slices.ContainsFunc(append(app, keyBaseURL), s.has):
		return s.app()
	}
	return Auth{}, nil
}

func (s secret) app() (Auth, error) {
	if err := s.need("a GitHub App needs it", keyAppID, keyInstallationID, keyPrivateKey); err != nil {
		return Auth{}, err
	}
	app := &GitHubApp{PrivateKey: s[keyPrivateKey], BaseURL: s.text(keyBaseURL)}
	for key, id := range map[string]*int64{keyAppID: &app.ID, keyInstallationID: &app.InstallationID} {
		n, err := strconv.ParseInt(s.text(key), 10, 64)
		if err != nil || n <= 0 {
			return Auth{}, fail(ErrConfig, "the Secret's key %s is no number", key)
		}
		*id = n
	}
	_, err := app.transport(nil)
	return Auth{GitHubApp: app}, err
}

func (s secret) ssh() (Auth, error) {
	err := cmp.Or(
		s.reject("that is for an https:// URL, and this one is for "+
			"SSH", keyBearer, keyAppID, keyInstallationID, keyPrivateKey, keyCA, keyCAOfOld),
		s.reject("an SSH URL names its user itself, as in git@host", keyUsername),
		s.need("an SSH URL needs the private key", keyIdentity),
		s.need("an SSH URL needs the server's host keys, as ssh-keyscan prints them", keyKnownHosts))
	if err != nil {
		return Auth{}, err
	}
	a := Auth{Identity: s[keyIdentity], Passphrase: s.text(keyPassword), KnownHosts: s[keyKnownHosts]}
	if _, err := a.plainIdentity(); err != nil {
		return Auth{}, err
	}
	return a, checkKnownHosts(a.KnownHosts)
}

// plainIdentity is the private key as ssh reads it without asking for a passphrase.
func (a Auth) plainIdentity() ([]byte, error) {
	key, err := ssh.ParseRawPrivateKey(a.Identity)
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		if a.Passphrase == "" {
			return nil, fail(ErrConfig, "the Secret's key identity is encrypted: set its passphrase in password")
		}
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(a.Identity, []byte(a.Passphrase))
	}
	var block *pem.Block
	if err == nil {
		block, err = ssh.MarshalPrivateKey(key, "")
	}
	if err != nil { // which may quote the key
		return nil, fail(ErrConfig, "the Secret's key identity is no private key that can be read, or password is not "+
			"its passphrase")
	}
	return pem.EncodeToMemory(block), nil
}

// checkKnownHosts wants one key that can be read; a kind that is not known here may still be so to ssh.
func checkKnownHosts(file []byte) error {
	for line := range bytes.Lines(file) {
		if _, _, _, _, _, err := ssh.ParseKnownHosts(line); err == nil {
			return nil
		}
	}
	return fail(ErrConfig, "the Secret's key known_hosts has no host key that can be read: it must be as ssh-keyscan "+
		"prints it")
}
