package gitauth

import (
	"encoding/base64"
	"strings"
	"unicode"
)

// credentials are what a Secret has for one host: for https, for SSH, or for both.
type credentials struct {
	// authorization is the header's value for https.
	authorization string
	// identity is a private key for SSH, and knownHosts are the host keys that are accepted then.
	identity, knownHosts string
}

// parse reads the keys that a Repository's Secret has. It rejects what cannot be used, with the reason.
func parse(files map[string]string) (known credentials, rejected string) {
	// Many an editor, and echo, put a line break at the end of a value.
	text := func(key string) string { return strings.TrimRight(files[key], "\r\n") }
	username, password, bearer, identity := text("username"), text("password"), text("bearerToken"), text("identity")
	for key, value := range map[string]string{"username": username, "password": password, "bearerToken": bearer} {
		if strings.ContainsFunc(value, unicode.IsControl) {
			return known, "key " + key + " has a line break or a control character in it"
		}
	}
	switch {
	case bearer != "" && username+password != "":
		return known, "bearerToken has no use beside username and password"
	case identity != "" && password != "" && username == "":
		return known, "an identity with a password is not supported for modules: use one that is not encrypted"
	case identity != "" && text("known_hosts") == "":
		return known, "there is no key known_hosts: SSH needs the server's host keys, as ssh-keyscan prints them"
	case (username == "") != (password == ""):
		return known, "username and password go together; for a token any username does"
	case strings.Contains(username, ":"):
		return known, "key username has a colon in it"
	case bearer+username+identity == "":
		return known, "the Secret has neither username and password, nor bearerToken, nor identity and known_hosts"
	}
	if bearer != "" {
		known.authorization = "Bearer " + bearer
	}
	if username != "" {
		known.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
	}
	if identity != "" {
		known.identity, known.knownHosts = identity+"\n", text("known_hosts")+"\n"
	}
	return known, ""
}
