package gitauth

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCredentials(t *testing.T) {
	for name, tt := range map[string]struct {
		files   map[string]string
		want    credentials
		refused string
	}{
		"a password":                 {files: map[string]string{"username": "alice\n", "password": "pa:ss\r\n"}, want: credentials{authorization: "Basic YWxpY2U6cGE6c3M="}},
		"a token":                    {files: map[string]string{"bearerToken": "token\n"}, want: credentials{authorization: "Bearer token"}},
		"an identity":                {files: map[string]string{"identity": "key", "known_hosts": "host key"}, want: credentials{identity: "key\n", knownHosts: "host key\n"}},
		"both ways":                  {files: map[string]string{"identity": "key\n", "known_hosts": "host key\n", "bearerToken": "t"}, want: credentials{authorization: "Bearer t", identity: "key\n", knownHosts: "host key\n"}},
		"other keys are left alone":  {files: map[string]string{"bearerToken": "t", "ca.crt": "x"}, want: credentials{authorization: "Bearer t"}},
		"nothing":                    {files: map[string]string{"token": "x"}, refused: "the Secret has neither"},
		"a password alone":           {files: map[string]string{"password": "p"}, refused: "go together"},
		"a user alone":               {files: map[string]string{"username": "u", "password": "\n"}, refused: "go together"},
		"a token and a password":     {files: map[string]string{"bearerToken": "t", "password": "p"}, refused: "has no use beside"},
		"an encrypted identity":      {files: map[string]string{"identity": "key", "known_hosts": "host", "password": "p"}, refused: "not supported for modules"},
		"an identity for any server": {files: map[string]string{"identity": "key"}, refused: "no key known_hosts"},
		"a header within a token":    {files: map[string]string{"bearerToken": "t\r\nX-Other: 1"}, refused: "key bearerToken has a line break"},
		"a header within a password": {files: map[string]string{"username": "u", "password": "a\nb"}, refused: "key password has a line break"},
		"a colon within a user":      {files: map[string]string{"username": "a:b", "password": "c"}, refused: "has a colon"},
	} {
		t.Run(name, func(t *testing.T) {
			got, refused := parse(tt.files)
			if (refused == "") != (tt.refused == "") || !strings.Contains(refused, tt.refused) {
				t.Fatalf("rejected: %q", refused)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(credentials{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseCredentials(f *testing.F) {
	f.Add("alice", "password", "", "", "")
	f.Add("", "", "token", "key", "host")
	f.Fuzz(func(t *testing.T, username, password, bearer, identity, hosts string) {
		known, refused := parse(map[string]string{
			"username": username, "password": password, "bearerToken": bearer, "identity": identity, "known_hosts": hosts,
		})
		if strings.ContainsAny(known.authorization, "\r\n\x00") {
			t.Errorf("more than one header: %q", known.authorization)
		}
		if refused == "" && known.authorization == "" && (known.identity == "" || known.knownHosts == "") {
			t.Errorf("empty credentials are accepted: %+v", known)
		}
	})
}
