package credentials

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

const hosts = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGi0UdOYSVNWZdcZJUMPMGL3fGUsb0Ei4yRQWWn45Kqx\n"

// TestSecretOfOneHost has the rules for spec.moduleCredentials. Those of a Repository are in
// TestSecretKeysOfFluxAreRead.
func TestSecretOfOneHost(t *testing.T) {
	identity := func(passphrase string) []byte {
		key, _, err := gitserver.NewIdentity(passphrase)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	plain, encrypted := identity(""), identity("open sesame")
	type keys = map[string]string
	ssh := Auth{Identity: plain, KnownHosts: []byte(hosts)}
	for name, tt := range map[string]struct {
		data       keys
		https, ssh Auth
		rejected   string
	}{
		"a password": {data: keys{"username": "alice\n", "password": "pa:ss\r\n"},
			https: Auth{Username: "alice", Password: "pa:ss"}},
		"a token":     {data: keys{"bearerToken": "token\n"}, https: Auth{BearerToken: "token"}},
		"an identity": {data: keys{"identity": string(plain), "known_hosts": hosts}, ssh: ssh},
		"an identity of Flux": {data: keys{"identity": string(plain), "identity.pub": "x", "known_hosts": hosts},
			ssh: ssh},
		"known hosts with line breaks of Windows": {
			data: keys{"identity": string(plain), "known_hosts": strings.ReplaceAll(hosts, "\n", "\r\n")}, ssh: ssh,
		},
		"an encrypted identity": {
			data: keys{"identity": string(encrypted), "known_hosts": hosts, "password": "open sesame\n"},
			ssh:  Auth{Identity: encrypted, Passphrase: "open sesame", KnownHosts: []byte(hosts)},
		},
		"both ways": {
			data:  keys{"identity": string(plain), "known_hosts": hosts, "username": "u", "password": "p"},
			https: Auth{Username: "u", Password: "p"}, ssh: ssh,
		},
		"nothing":                   {rejected: "the Secret has neither"},
		"a token for the API alone": {data: keys{"token": "x"}, rejected: "only a key token"},
		"an unknown key": {data: keys{"bearerToken": "t", "tokens": "x"},
			rejected: `a key "tokens", which Cairn does not know`},
		"a password alone":           {data: keys{"password": "p"}, rejected: "no key username"},
		"a user alone":               {data: keys{"username": "u", "password": "\n"}, rejected: "no key password"},
		"a token and a password":     {data: keys{"bearerToken": "t", "password": "p"}, rejected: "has no use beside"},
		"an identity for any server": {data: keys{"identity": string(plain)}, rejected: "no key known_hosts"},
		"no passphrase": {data: keys{"identity": string(encrypted), "known_hosts": hosts},
			rejected: "passphrase in password"},
		"a key that is none":        {data: keys{"identity": "key", "known_hosts": hosts}, rejected: "no private key"},
		"an authority that is none": {data: keys{"ca.crt": "x"}, rejected: "ca.crt has no certificate"},
		"a header within a token": {data: keys{"bearerToken": "t\r\nX-Other: 1"},
			rejected: "key bearerToken has a line break"},
		"a header within a password": {data: keys{"username": "u", "password": "a\nb"},
			rejected: "key password has a line break"},
		"a colon within a user": {data: keys{"username": "a:b", "password": "c"}, rejected: "has a colon"},
		"a GitHub App": {
			data:     keys{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "x"},
			rejected: "a GitHub App can only fetch a Repository",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string][]byte{}
			for key, value := range tt.data {
				data[key] = []byte(value)
			}
			secret, err := Parse(data)
			var https, ssh Auth
			if err == nil {
				https, ssh, err = secret.ForHost()
			}
			if tt.rejected != "" {
				if err == nil || !strings.Contains(err.Error(), tt.rejected) {
					t.Fatalf("rejected: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Auth{tt.https, tt.ssh}, []Auth{https, ssh}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzSecretOfOneHost(f *testing.F) {
	f.Add("alice", "password", "", "", "", "")
	f.Add("", "", "token", "key", "host", "ca")
	f.Fuzz(func(t *testing.T, username, password, bearer, identity, hosts, ca string) {
		https, ssh, err := Secret{
			"username": []byte(username), "password": []byte(password), "bearerToken": []byte(bearer),
			"identity": []byte(identity), "known_hosts": []byte(hosts), "ca.crt": []byte(ca),
		}.ForHost()
		if strings.ContainsAny(https.Authorization(), "\r\n\x00") {
			t.Errorf("more than one header: %q", https.Authorization())
		}
		if err == nil && https.Authorization() == "" && len(https.CA) == 0 && (len(ssh.Identity) == 0 ||
			len(ssh.KnownHosts) == 0) {
			t.Errorf("empty credentials are accepted: %v %v", https, ssh)
		}
	})
}
