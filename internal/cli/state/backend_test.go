package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestBearerToken(t *testing.T) {
	dir := t.TempDir()
	file, plugin := filepath.Join(dir, "token"), filepath.Join(dir, "plugin")
	if err := os.WriteFile(file, []byte("of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = "#!/bin/sh\necho " +
		"'{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\"," +
		"\"status\":{\"token\":\"of-a-plugin\"}}'\n"
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		config rest.Config
		want   string
		fails  string
	}{
		"a token is printed": {config: rest.Config{BearerToken: "plain"}, want: "plain"},
		"that of a file too": {config: rest.Config{BearerTokenFile: file}, want: "of-a-file"},
		"a plugin": {
			config: rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: plugin,
				APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}},
			want: "of-a-plugin"},
		"without a token the error has the command": {config: rest.Config{}, fails: "kubectl create token"},
		"a password is no token": {config: rest.Config{Username: "alice", Password: "secret"},
			fails: "no bearer token"},
		"impersonation is rejected": {config: rest.Config{BearerToken: "plain",
			Impersonate: rest.ImpersonationConfig{UserName: "bob"}}, fails: "--as"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.config.Host = "https://kubernetes"
			got, err := bearerToken(&test.config)
			if got != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(),
				test.fails) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
