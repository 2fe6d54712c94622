package gitauth

import (
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// configured is what Configure returned, and the folder that it wrote to.
type configured struct {
	dir          string
	env, secrets []string
}

// configure configures git with what is in an inputs folder.
func configure(t *testing.T, files map[string]string, modules []runnerapi.ModuleCredentials,
	environ ...string) (configured, error) {
	t.Helper()
	c := configured{dir: filepath.Join(t.TempDir(), "it's a folder")}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	inputs := t.TempDir()
	for name, text := range files {
		path := filepath.Join(inputs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(inputs)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c.env, c.secrets, err = Configure(Options{Dir: c.dir, Inputs: root, Modules: modules, Environ: environ})
	return c, err
}

// sshKey is a Secret for SSH, with an identity as an editor on Windows saves it.
func sshKey(t *testing.T) map[string]string {
	t.Helper()
	identity, _, err := gitserver.NewIdentity("")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"git/0/identity":    strings.ReplaceAll(string(identity), "\n", "\r\n"),
		"git/0/known_hosts": knownHosts + "\r\n",
	}
}

const knownHosts = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGi0UdOYSVNWZdcZJUMPMGL3fGUsb0Ei4yRQWWn45Kqx"

// TestCertificateAuthorityIsForItsHostOnly checks that git verifies the certificates of a host of modules, like those
// of a Repository, with the key ca.crt.
func TestCertificateAuthorityIsForItsHostOnly(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	configured, err := configure(t, map[string]string{"git/0/ca.crt": ca},
		[]runnerapi.ModuleCredentials{{Host: "git.example.com:8443", Dir: "git/0"}})
	if err != nil {
		t.Fatal(err)
	}
	setting := func(url string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", "config", "--get-urlmatch", "http.sslCAInfo", url)
		cmd.Env = append(slices.Clone(configured.env), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "PATH="+
			os.Getenv("PATH"))
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) { // 1: not set
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	file := setting("https://git.example.com:8443/mods.git")
	if data, err := os.ReadFile(file); err != nil || string(data) != ca {
		t.Errorf("git verifies the host with %q: %q, %v", file, data, err)
	}
	if file := setting("https://git.example.com/mods.git"); file != "" {
		t.Errorf("git verifies another host with %s", file)
	}
}

func TestSSHUsesTheIdentityForItsHostOnly(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Fatal("no ssh: install openssh-client")
	}
	git, err := configure(t, sshKey(t), []runnerapi.ModuleCredentials{{Host: "Git.example.com:2222", Dir: "git/0"}})
	if err != nil {
		t.Fatal(err)
	}
	options := func(host string) map[string]string {
		t.Helper()
		// Git has a shell run it too.
		cmd := exec.CommandContext(t.Context(), "sh", "-c", process.Variable(git.env, "GIT_SSH_COMMAND")+
			` -G -p 2222 "$0"`, host)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all := map[string]string{}
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if _, ok := all[name]; !ok {
				all[name] = value
			}
		}
		return all
	}
	dir := filepath.Join(git.dir, "0")
	ours, others := options("git.example.com"), options("git.example.com.evil.example")
	for name, want := range map[string]string{
		"identityfile": filepath.Join(dir, "identity"), "userknownhostsfile": filepath.Join(dir, "known_hosts"),
		"identitiesonly": "yes", "stricthostkeychecking": "true", "batchmode": "yes", "port": "2222",
	} {
		if ours[name] != want {
			t.Errorf("%s is %q, want %q", name, ours[name], want)
		}
	}
	if strings.Contains(others["identityfile"], dir) || strings.Contains(others["userknownhostsfile"], dir) {
		t.Errorf("another host is shown the identity: %v", others)
	}
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-y", "-f", filepath.Join(dir, "identity")).
		CombinedOutput(); err != nil {
		t.Errorf("ssh cannot read the identity: %v\n%s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "known_hosts")); err != nil || string(data) != knownHosts+"\n" {
		t.Errorf("known_hosts is %q, %v", data, err)
	}
	for _, name := range []string{"identity", "known_hosts"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestGitConfigurationOfTheUserStays(t *testing.T) {
	both := map[string]string{"git/0/bearerToken": "token"}
	for name, text := range sshKey(t) {
		both[name] = text
	}
	credentials := []runnerapi.ModuleCredentials{{Host: "git.example.com", Dir: "git/0"}}
	settings := func(first string, more ...string) []string {
		n := map[string][3]string{"0": {"2", "0", "1"}, "3": {"5", "3", "4"}}[first]
		return append([]string{
			"GIT_CONFIG_COUNT=" + n[0],
			"GIT_CONFIG_KEY_" + n[1] + "=http.https://git.example.com/.extraHeader", "GIT_CONFIG_VALUE_" + n[1] +
				"=Authorization: Bearer token",
			"GIT_CONFIG_KEY_" + n[2] + "=http.https://git.example.com/.followRedirects", "GIT_CONFIG_VALUE_" +
				n[2] + "=false",
		}, more...)
	}
	for name, tt := range map[string]struct {
		environ []string
		want    []string
		refused string
	}{
		"nothing set":             {nil, settings("0", "GIT_SSH_COMMAND=ssh -F ''"), ""},
		"settings":                {[]string{"GIT_CONFIG_COUNT=3"}, settings("3", "GIT_SSH_COMMAND=ssh -F ''"), ""},
		"a way to ssh":            {[]string{"GIT_SSH_COMMAND=mine"}, settings("0"), ""},
		"a program for ssh":       {[]string{"GIT_SSH=/usr/bin/mine"}, settings("0"), ""},
		"settings that are wrong": {[]string{"GIT_CONFIG_COUNT=many"}, nil, `GIT_CONFIG_COUNT is "many"`},
	} {
		t.Run(name, func(t *testing.T) {
			git, err := configure(t, both, credentials, tt.environ...)
			var refused *engine.Rejection
			if tt.refused != "" {
				if !errors.As(err, &refused) || !strings.Contains(refused.Reason, tt.refused) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, pair := range git.env {
				if strings.HasPrefix(pair, "GIT_SSH_COMMAND=") {
					git.env[i] = strings.ReplaceAll(pair, strings.ReplaceAll(filepath.Join(git.dir, "ssh_config"), "'",
						`'\''`), "")
				}
			}
			if !slices.Contains(git.secrets, "token") {
				t.Error("what git shows to the host is not known as secret")
			}
			if diff := cmp.Diff(tt.want, git.env); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnusableCredentialsAreRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		host, dir, want string
	}{
		"of a Secret that is not there": {"git.example.com", "git/7",
			`credentials for modules of "git.example.com": the Secret was not found`},
		"of a Secret without them": {"git.example.com", "git/2", "the Secret has neither"},
		"of a Secret with an unknown key": {"git.example.com", "git/1",
			`the Secret has a key "other", which Cairn does not know`},
		"for many hosts":                   {"*.example.com", "git/0", "that is no host"},
		"for a host with a user":           {"me@git.example.com", "git/0", "that is no host"},
		"for a host with a path":           {"git.example.com/a", "git/0", "that is no host"},
		"for a host with a line":           {"git.example.com\nHost *", "git/0", "that is no host"},
		"for a port that cannot be":        {"git.example.com:99999", "git/0", "that is no host"},
		"for a port that is no number":     {"git.example.com:", "git/0", "that is no host"},
		"for no host at all":               {"", "git/0", "that is no host"},
		"of a folder that is not an input": {"git.example.com", "../outside", "the Secret was not found"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"git/0/bearerToken": "token", "git/1/other": "x", "git/2/username": ""}
			git, err := configure(t, files, []runnerapi.ModuleCredentials{{Host: tt.host, Dir: tt.dir}})
			var refused *engine.Rejection
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, tt.want) || git.env != nil {
				t.Errorf("%v, %v", err, git.env)
			}
		})
	}
}
