package gitprovider

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

func TestClientOfProvider(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	app := map[string][]byte{"githubAppID": []byte("1"), "githubAppInstallationID": []byte("2"),
		"githubAppPrivateKey": private}
	token := map[string][]byte{"token": []byte("t\n")}
	for name, tt := range map[string]struct {
		provider string
		data     map[string][]byte
		want     string
	}{
		"Gitea":                 {"Gitea", token, ""},
		"Forgejo":               {"Forgejo", token, ""},
		"GitHub":                {"GitHub", token, ""},
		"an App of GitHub":      {"GitHub", app, ""},
		"GitLab":                {"GitLab", token, ""},
		"Bitbucket Cloud":       {"Bitbucket", token, ""},
		"Bitbucket Data Center": {"BitbucketDataCenter", token, ""},
		"no provider that plans pull requests": {"Gogs", token,
			"this version of Cairn has no client of the Git provider Gogs"},
		"no token": {"GitLab", app, "it has no key token with a token of the Git provider"},
		"an App without a key": {"GitHub", map[string][]byte{"githubAppID": []byte("1"),
			"githubAppInstallationID": []byte("2")}, "the value of githubAppPrivateKey is no private key"},
		"an App without number": {"GitHub", map[string][]byte{"githubAppID": []byte("x")},
			"the value of githubAppID is no number"},
	} {
		client, err := Client(tt.provider, Access{
			URL: &url.URL{Scheme: "https", Host: "git.example.com"}, Path: []string{"acme", "infra"}, Secret: tt.data,
			Web: &http.Client{Transport: http.DefaultTransport},
		})
		if got := fmt.Sprint(err); (tt.want == "") != (err == nil) || (err != nil && got != tt.want) ||
			(err == nil && client == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
