package credentials

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	keyPublicIdentity = "identity.pub" // which Flux creates; it is not used
	keyKnownHosts     = "known_hosts"
	keyCA             = "ca.crt"
	keyCAOfOld        = "caFile"
	keyAppID          = "githubAppID"
	keyInstallationID = "githubAppInstallationID"
	keyPrivateKey     = "githubAppPrivateKey"
	keyBaseURL        = "githubAppBaseURL"
	keyToken          = "token" // for the API of the Git provider, if a Repository uses the Secret for both
)

// Secret has the keys of a Secret, each of which is known.
type Secret map[string][]byte

// Parse rejects a Secret with a key that has no effect: with another name it would have been a credential.
func Parse(data map[string][]byte) (Secret, error) {
	known := []string{
		keyUsername, keyPassword, keyBearer, keyIdentity, keyPublicIdentity, keyKnownHosts, keyCA, keyCAOfOld,
		keyAppID, keyInstallationID, keyPrivateKey, keyBaseURL,
	}
	s := Secret(data)
	if s.has(keyToken) {
		if !slices.ContainsFunc([]string{keyPassword, keyBearer, keyIdentity, keyAppID}, s.has) {
			return nil, errors.New("the Secret has only a key token, which is for the API of the Git provider: for " +
				"git, add the token as password, with a username, or as bearerToken")
		}
		known = append(known, keyToken)
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf(
				"the Secret has a key %.100q, which Cairn does not know: remove it, or rename it to "+
					"one of the keys %s", key, strings.Join(slices.DeleteFunc(known, isOtherName), ", "))
		}
	}
	return s, nil
}

// isOtherName reports keys that are accepted and not recommended.
func isOtherName(key string) bool {
	return key == keyPublicIdentity || key == keyCAOfOld || key == keyToken
}

// ForHost returns what the Secret has for HTTPS and for SSH to one host. At least one of them is not the zero value.
func (s Secret) ForHost() (https, overSSH Auth, err error) {
	web, shell := maps.Clone(s), Secret{}
	if s.has(keyIdentity) || s.has(keyKnownHosts) {
		move := []string{keyIdentity, keyKnownHosts}
		if !s.has(keyUsername) { // it is the passphrase
			move = append(move, keyPassword)
		}
		for _, key := range move {
			shell[key] = s[key]
			delete(web, key)
		}
		if overSSH, err = shell.SSH(); err != nil {
			return Auth{}, Auth{}, err
		}
	}
	if https, err = web.HTTP(); err != nil {
		return Auth{}, Auth{}, err
	}
	switch {
	case https.GitHubApp != nil:
		return Auth{}, Auth{}, errors.New("a GitHub App can only fetch a Repository")
	case https.Authorization() == "" && len(https.CA) == 0 && len(overSSH.Identity) == 0:
		return Auth{}, Auth{},
			errors.New("the Secret has neither username and password, nor bearerToken, nor identity and " +
				"known_hosts, nor ca.crt")
	}
	return https, overSSH, nil
}

// text is a value without the line break that many an editor and echo put at its end.
func (s Secret) text(key string) string { return strings.TrimRight(string(s[key]), "\r\n") }

func (s Secret) has(key string) bool { return s.text(key) != "" }

// need rejects a Secret that lacks one of the keys.
func (s Secret) need(why string, keys ...string) error {
	for _, key := range keys {
		if !s.has(key) {
			return fmt.Errorf("the Secret has no key %s: %s", key, why)
		}
	}
	return nil
}

// reject rejects a Secret that has one of the keys.
func (s Secret) reject(why string, keys ...string) error {
	for _, key := range keys {
		if s.has(key) {
			return fmt.Errorf("the Secret has a key %s: %s", key, why)
		}
	}
	return nil
}

// HTTP returns the credentials for HTTPS. A Secret without any is anonymous.
func (s Secret) HTTP() (Auth, error) {
	a, err := s.web()
	if err != nil {
		return Auth{}, err
	}
	if a.CA = s[keyCA]; len(a.CA) == 0 {
		a.CA = s[keyCAOfOld]
	}
	if _, err := a.Pool(); err != nil {
		return Auth{}, err
	}
	return a, a.Check()
}

func (s Secret) web() (Auth, error) {
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

func (s Secret) app() (Auth, error) {
	if err := s.need("a GitHub App needs it", keyAppID, keyInstallationID, keyPrivateKey); err != nil {
		return Auth{}, err
	}
	app := &GitHubApp{PrivateKey: s[keyPrivateKey], BaseURL: s.text(keyBaseURL)}
	for key, id := range map[string]*int64{keyAppID: &app.ID, keyInstallationID: &app.InstallationID} {
		n, err := strconv.ParseInt(s.text(key), 10, 64)
		if err != nil || n <= 0 {
			return Auth{}, fmt.Errorf("the Secret's key %s is no number", key)
		}
		*id = n
	}
	return Auth{GitHubApp: app}, nil
}

// SSH returns the credentials for SSH.
func (s Secret) SSH() (Auth, error) {
	err := cmp.Or(
		s.reject("that is for an https:// URL, and this one is for "+
			"SSH", keyBearer, keyAppID, keyInstallationID, keyPrivateKey, keyCA, keyCAOfOld),
		s.reject("an SSH URL names its user itself, as in git@host", keyUsername),
		s.need("an SSH URL needs the private key", keyIdentity),
		s.need("an SSH URL needs the server's host keys, as ssh-keyscan prints them", keyKnownHosts))
	if err != nil {
		return Auth{}, err
	}
	a := Auth{
		Identity: s[keyIdentity], Passphrase: s.text(keyPassword),
		KnownHosts: append(bytes.TrimRight(bytes.ReplaceAll(s[keyKnownHosts], []byte("\r\n"), []byte("\n")), "\n"),
			'\n'),
	}
	if _, err := a.PlainIdentity(); err != nil {
		return Auth{}, err
	}
	return a, checkKnownHosts(a.KnownHosts)
}

// checkKnownHosts wants one key that can be read; a kind that is not known here may still be so to ssh.
func checkKnownHosts(file []byte) error {
	for line := range bytes.Lines(file) {
		if _, _, _, _, _, err := ssh.ParseKnownHosts(line); err == nil {
			return nil
		}
	}
	return errors.New("the Secret's key known_hosts has no host key that can be read: it must be as ssh-keyscan " +
		"prints it")
}
