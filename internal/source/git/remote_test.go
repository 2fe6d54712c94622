package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/source/git/credentials"
	"cairn.dev/cairn/test/gitserver"
)

const canary = "canary-7f3a-password"

func TestFetchErrorsNameTheRemedyAndNoCredential(t *testing.T) {
	t.Parallel()
	password, token := Auth{Username: "alice", Password: canary}, Auth{BearerToken: canary}
	for _, c := range []struct {
		name    string
		auth    Auth
		prepare func(*fixture)
		kind    error
		reason  string
		says    string
	}{
		{"a wrong password", password, func(f *fixture) { f.http.RequireBasic("alice", "another") }, ErrAuthentication,
			"AuthenticationFailed", "correct them"},
		{"a wrong token", token, func(f *fixture) { f.http.RequireBearer("another") }, ErrAuthentication,
			"AuthenticationFailed", "correct them"},
		{"no credentials where some are wanted", Auth{}, func(f *fixture) {
			f.http.RequireBearer("another")
		}, ErrAuthentication, "AuthenticationFailed", "wants credentials"},
		{"a forbidden repository", password, func(f *fixture) { f.http.Answer(403) }, ErrAuthentication,
			"AuthenticationFailed", "allowed to read"},
		{"a repository that is gone", password, func(f *fixture) { f.repo.Remove() }, ErrNotFound, "RemoteNotFound",
			"no such repository"},
		{"a server that is not well", password, func(f *fixture) { f.http.Answer(503) }, ErrUnreachable, "Unreachable",
			"may be down"},
		{"a server that is gone", password, func(f *fixture) { f.http.Close() }, ErrUnreachable, "Unreachable",
			"cannot be reached"},
		{"an unknown authority", password, func(f *fixture) { f.http = f.serve(true) }, ErrCertificate,
			"CertificateUntrusted", "ca.crt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Options{})
			f.T = t
			id := f.commit(map[string]string{"main.tf": "a"})
			f.fetch()
			c.prepare(f)
			remote := f.remote()
			remote.Auth = c.auth
			err := f.m.Fetch(t.Context(), remote, FetchOptions{})
			fails(t, err, c.kind, c.says)
			if got := Reason(err); got != c.reason {
				t.Errorf("reason %s, want %s", got, c.reason)
			}
			if strings.Contains(err.Error(), canary) ||
				strings.Contains(err.Error(), credentials.Basic("alice", canary)) {
				t.Errorf("the credential is in %v", err)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("not short: %v", err)
			}
			f.at("main", id) // what there was before is still there
		})
	}
}

func TestCredentialsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		auth    Auth
		prepare func(*gitserver.HTTP)
	}{
		{"a username and a password", Auth{Username: "alice", Password: canary}, func(h *gitserver.HTTP) {
			h.RequireBasic("alice", canary)
		}},
		{"a token", Auth{BearerToken: canary}, func(h *gitserver.HTTP) { h.RequireBearer(canary) }},
	} {
		for _, tls := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", c.name, tls), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, Options{})
				f.T = t
				id := f.commit(map[string]string{"main.tf": "a"})
				f.http = f.serve(tls)
				c.prepare(f.http)
				remote := f.remote()
				remote.Auth = c.auth
				remote.Auth.CA = f.http.CA
				f.must(f.m.Fetch(t.Context(), remote, FetchOptions{}))
				f.at("main", id)
				if left, _ := os.ReadDir(f.m.path(sessions)); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				for _, arg := range files(t, f.m.dir) {
					if data, err := os.ReadFile(arg); err == nil && strings.Contains(string(data), canary) {
						t.Errorf("the credential is in %s", arg)
					}
				}
			})
		}
	}
}

// files below a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCredentialsAreNotSentAfterARedirect(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	other := f.serve(false)
	f.http.Redirect(other.URL)
	remote := f.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	err := f.m.Fetch(t.Context(), remote, FetchOptions{})
	fails(t, err, ErrRedirect, "final URL")
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{}), ErrRedirect, "final URL") // nor without credentials
	if n := len(other.Requests()); n > 0 {
		t.Errorf("%d requests came to the other server", n)
	}
}

func TestSecretsOfServerMessagesAreMasked(t *testing.T) {
	m := mirror(t, t.TempDir(), Options{})
	auth := Auth{Username: "alice", Password: canary}
	s, err := m.open(t.Context(), Remote{"https://127.0.0.1/x", auth})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, said := range []string{
		"remote: hello " + canary + "\nfatal: unknown failure for " + canary,
		"fatal: unknown failure for Basic " + credentials.Basic("alice", canary),
		"fatal: loose object " + canary + " is corrupt",
	} {
		if err := s.explain(&gitError{err: os.ErrInvalid, said: said}); strings.Contains(err.Error(), canary) ||
			strings.Contains(err.Error(), credentials.Basic("alice", canary)) {
			t.Errorf("it is in %v", err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", auth, Remote{"u", auth}, Remote{"u", auth},
		Auth{GitHubApp: &credentials.GitHubApp{PrivateKey: []byte(canary)}}); strings.Contains(text, canary) {
		t.Errorf("it is in %s", text)
	}
}

// TestFirstCauseIsShown checks that messages have the reason that ssh or curl prints, and not git's last line.
func TestFirstCauseIsShown(t *testing.T) {
	const end = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access " +
		"rights\nand the repository exists.\n"
	for said, want := range map[string]string{
		"Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa\n" +
			end: "no matching host key type found. Their offer: ssh-rsa",
		"No user exists for uid 1000680000\n" +
			end: "No user exists for uid 1000680000",
		"No user exists for uid 1000680000\r\n" +
			end: "No user exists for uid 1000680000",
		"Authorized users only.\nsubsystem request failed\n" +
			end: "subsystem request failed",
		"ssh: Could not resolve hostname git.example.org: Name or service not known\n" +
			end: "cannot be reached (ssh: Could not resolve hostname git.example.org: Name or service not known)",
		"kex_exchange_identification: read: Connection reset by peer\n" +
			end: "may be down (kex_exchange_identification: read: Connection reset by peer)",
		"fatal: unable to access 'https://git.example.org/x/': Failed to connect to git.example.org port 443 after 1 " +
			"ms: Couldn't connect to server\n": "port 443 after 1 ms",
		"fatal: unable to access 'https://git.example.org/x/': SSL certificate problem: certificate has " +
			"expired\n": "certificate has expired",
		end: "Could not read from remote repository",
		"error: RPC failed; curl 18 transfer closed with outstanding read data remaining\nfatal: expected flush " +
			"after ref listing\n": "curl 18 transfer closed",
	} {
		if err := classify("fetch ssh://git@git.example.org/x", said, true); !strings.Contains(err.Error(), want) {
			t.Errorf("%q\nbecomes %q, without %q", said, err, want)
		}
	}
}

// Only the server can detect that its repository is corrupt: the client sees a connection that ends early.
func TestErrorContainsTheServerMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	blob, err := f.repo.Git("rev-parse", "main:main.tf")
	f.must(err)
	f.must(os.Remove(filepath.Join(f.repo.Dir, "objects", blob[:2], blob[2:])))
	err = f.m.Fetch(t.Context(), f.remote(), FetchOptions{})
	if err == nil || !strings.Contains(err.Error(), "the server answers: ") || !strings.Contains(err.Error(), blob) {
		t.Errorf("the server's words are not in %v", err)
	}
	long := "remote: " + strings.Repeat("x", 1000) + "\nremote:\nremote: =====\n" +
		strings.Repeat("remote: line\nremote: another\nremote: third\n", 100) + "fatal: early EOF"
	if text := classify("fetch", long, false).Error(); len(text) > 600 || !strings.Contains(text, "xxx…") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestGitConfigurationOfTheHostIsIgnored(t *testing.T) {
	home := t.TempDir()
	seen := filepath.Join(home, "seen")
	script := filepath.Join(home, "script")
	write := func(name, content string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("script", "#!/bin/sh\necho \"$0 $*\" >> "+seen+"\n", 0o700)
	config := "[credential]\n\thelper = " + script + "\n[core]\n\taskPass = " + script + "\n\tsshCommand = " + script +
		"\n\tfsmonitor = " + script + "\n\thooksPath = " + home +
		"/hooks\n[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http://127.0.0.1\n"
	write(".gitconfig", config, 0o600)
	write(".config/git/config", config, 0o600)
	for _, hook := range []string{"reference-transaction", "post-update", "pre-auto-gc", "post-checkout"} {
		write("hooks/"+hook, "#!/bin/sh\necho "+hook+" >> "+seen+"\n", 0o700)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": home + "/.gitconfig", "GIT_CONFIG_SYSTEM": home + "/.gitconfig",
		"GIT_ASKPASS": script, "SSH_ASKPASS": script,
		"GIT_SSH_COMMAND": script, "GIT_SSH": script, "GIT_PROXY_COMMAND": script, "GIT_TRACE": seen, "GIT_DIR": home,
		"GIT_OBJECT_DIRECTORY":  home,
		"GIT_CONFIG_PARAMETERS": "'credential.helper=" + script + "'", "GIT_EXEC_PATH": home, "GIT_TEMPLATE_DIR": home,
		"GIT_PAGER": script, "GIT_EXTERNAL_DIFF": script,
		"GIT_ALLOW_PROTOCOL": "ext:file", "GIT_CURL_VERBOSE": "1",
	} {
		t.Setenv(name, value)
	}
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	f.at("main", id)
	f.http.RequireBearer("another") // where git would ask a helper
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{}), ErrAuthentication, "")
	if what, err := os.ReadFile(seen); err == nil {
		t.Errorf("it was run: %s", what)
	}
}

// A guard beneath parseRemote: if a URL came by it, git itself would refuse.
func TestGitRejectsOtherProtocols(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	ran := filepath.Join(t.TempDir(), "ran")
	for _, url := range []string{"ext::sh -c touch% " + ran, f.repo.Dir, "file://" + f.repo.Dir} {
		c := command{args: []string{"fetch", "--quiet", "--end-of-options", url, "+refs/heads/*:refs/heads/*"},
			repo: repository}
		if out, err := f.m.git(t.Context(), c).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "not allowed") {
			t.Errorf("%s: %v: %s", url, err, out)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s was run", url)
		}
	}
}
