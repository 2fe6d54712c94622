package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

const canary = "canary-7f3a-password"

func TestAFetchThatFailsSaysWhatToDoAndHoldsNoCredential(t *testing.T) {
	t.Parallel()
	password, token := Auth{Username: "alice", Password: canary}, Auth{BearerToken: canary}
	for _, c := range []struct {
		name    string
		auth    Auth
		prepare func(*world)
		kind    error
		reason  string
		says    string
	}{
		{"a wrong password", password, func(w *world) { w.http.RequireBasic("alice", "another") }, ErrAuthentication, "AuthenticationFailed", "correct them"},
		{"a wrong token", token, func(w *world) { w.http.RequireBearer("another") }, ErrAuthentication, "AuthenticationFailed", "correct them"},
		{"no credentials where some are wanted", Auth{}, func(w *world) { w.http.RequireBearer("another") }, ErrAuthentication, "AuthenticationFailed", "wants credentials"},
		{"a forbidden repository", password, func(w *world) { w.http.Answer(403) }, ErrAuthentication, "AuthenticationFailed", "allowed to read"},
		{"a repository that is gone", password, func(w *world) { w.repo.Remove() }, ErrNotFound, "RemoteNotFound", "no such repository"},
		{"a server that is not well", password, func(w *world) { w.http.Answer(503) }, ErrUnreachable, "Unreachable", "may be down"},
		{"a server that is gone", password, func(w *world) { w.http.Close() }, ErrUnreachable, "Unreachable", "cannot be reached"},
		{"an unknown authority", password, func(w *world) { w.http = w.serve(true) }, ErrCertificate, "CertificateUntrusted", "ca.crt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, Options{})
			w.T = t
			id := w.commit(map[string]string{"main.tf": "a"})
			w.fetch()
			c.prepare(w)
			remote := w.remote()
			remote.Auth = c.auth
			err := w.m.Fetch(t.Context(), remote, FetchOptions{})
			fails(t, err, c.kind, c.says)
			if got := Reason(err); got != c.reason {
				t.Errorf("reason %s, want %s", got, c.reason)
			}
			if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), basic("alice", canary)) {
				t.Errorf("the credential is in %v", err)
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("not short: %v", err)
			}
			w.at("main", id) // what there was before is still there
		})
	}
}

func TestCredentialsLetIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		auth    Auth
		prepare func(*gitserver.HTTP)
	}{
		{"a username and a password", Auth{Username: "alice", Password: canary}, func(h *gitserver.HTTP) { h.RequireBasic("alice", canary) }},
		{"a token", Auth{BearerToken: canary}, func(h *gitserver.HTTP) { h.RequireBearer(canary) }},
	} {
		for _, tls := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", c.name, tls), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, Options{})
				w.T = t
				id := w.commit(map[string]string{"main.tf": "a"})
				w.http = w.serve(tls)
				c.prepare(w.http)
				remote := w.remote()
				remote.Auth = c.auth
				remote.Auth.CA = w.http.CA
				w.must(w.m.Fetch(t.Context(), remote, FetchOptions{}))
				w.at("main", id)
				if left, _ := os.ReadDir(w.m.path(sessions)); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				for _, arg := range files(t, w.m.dir) {
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

func TestCredentialsAreNotTakenToWhereAServerRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	other := w.serve(false)
	w.http.Redirect(other.URL)
	remote := w.remote()
	remote.Auth = Auth{Username: "alice", Password: canary}
	err := w.m.Fetch(t.Context(), remote, FetchOptions{})
	fails(t, err, ErrRedirect, "final URL")
	fails(t, w.m.Fetch(t.Context(), w.remote(), FetchOptions{}), ErrRedirect, "final URL") // nor without credentials
	if n := len(other.Requests()); n > 0 {
		t.Errorf("%d requests came to the other server", n)
	}
}

func TestAServerThatSaysTheSecretDoesNotGetItIntoAMessage(t *testing.T) {
	m := mirror(t, t.TempDir(), Options{})
	auth := Auth{Username: "alice", Password: canary}
	s, err := m.open(t.Context(), Remote{"https://127.0.0.1/x", auth})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, said := range []string{
		"remote: hello " + canary + "\nfatal: something new about " + canary,
		"fatal: something new about Basic " + basic("alice", canary),
		"fatal: loose object " + canary + " is corrupt",
	} {
		if err := s.explain(&gitError{os.ErrInvalid, said}); strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), basic("alice", canary)) {
			t.Errorf("it is in %v", err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", auth, Remote{"u", auth}, Remote{"u", auth}, Auth{GitHubApp: &GitHubApp{PrivateKey: []byte(canary)}}); strings.Contains(text, canary) {
		t.Errorf("it is in %s", text)
	}
}

// Only the server can tell that its repository is corrupt: on this side the connection ends early.
func TestAServersOwnWordsAreInTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	blob, err := w.repo.Git("rev-parse", "main:main.tf")
	w.must(err)
	w.must(os.Remove(filepath.Join(w.repo.Dir, "objects", blob[:2], blob[2:])))
	err = w.m.Fetch(t.Context(), w.remote(), FetchOptions{})
	if err == nil || !strings.Contains(err.Error(), "the server answers: ") || !strings.Contains(err.Error(), blob) {
		t.Errorf("the server's words are not in %v", err)
	}
	long := "remote: " + strings.Repeat("x", 1000) + "\nremote:\nremote: =====\n" + strings.Repeat("remote: line\nremote: another\nremote: third\n", 100) + "fatal: early EOF"
	if text := classify("fetch", long, false).Error(); len(text) > 600 || !strings.Contains(text, "xxx...") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestTheMachinesConfigurationIsNotSeen(t *testing.T) {
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
	config := "[credential]\n\thelper = " + script + "\n[core]\n\taskPass = " + script + "\n\tsshCommand = " + script + "\n\tfsmonitor = " + script + "\n\thooksPath = " + home + "/hooks\n[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http://127.0.0.1\n"
	write(".gitconfig", config, 0o600)
	write(".config/git/config", config, 0o600)
	for _, hook := range []string{"reference-transaction", "post-update", "pre-auto-gc", "post-checkout"} {
		write("hooks/"+hook, "#!/bin/sh\necho "+hook+" >> "+seen+"\n", 0o700)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	for name, value := range map[string]string{
		"HOME": home, "GIT_CONFIG_GLOBAL": home + "/.gitconfig", "GIT_CONFIG_SYSTEM": home + "/.gitconfig", "GIT_ASKPASS": script, "SSH_ASKPASS": script,
		"GIT_SSH_COMMAND": script, "GIT_SSH": script, "GIT_PROXY_COMMAND": script, "GIT_TRACE": seen, "GIT_DIR": home, "GIT_OBJECT_DIRECTORY": home,
		"GIT_CONFIG_PARAMETERS": "'credential.helper=" + script + "'", "GIT_EXEC_PATH": home, "GIT_TEMPLATE_DIR": home, "GIT_PAGER": script, "GIT_EXTERNAL_DIFF": script,
		"GIT_ALLOW_PROTOCOL": "ext:file", "GIT_CURL_VERBOSE": "1",
	} {
		t.Setenv(name, value)
	}
	w := newWorld(t, Options{})
	id := w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	w.at("main", id)
	w.http.RequireBearer("another") // where git would ask a helper
	fails(t, w.m.Fetch(t.Context(), w.remote(), FetchOptions{}), ErrAuthentication, "")
	if what, err := os.ReadFile(seen); err == nil {
		t.Errorf("it was run: %s", what)
	}
}

// A guard beneath parseRemote: if a URL came by it, git itself would refuse.
func TestGitItselfRunsNoOtherProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	ran := filepath.Join(t.TempDir(), "ran")
	for _, url := range []string{"ext::sh -c touch% " + ran, w.repo.Dir, "file://" + w.repo.Dir} {
		c := command{args: []string{"fetch", "--quiet", "--end-of-options", url, "+refs/heads/*:refs/heads/*"}, repo: repository}
		if out, err := w.m.git(t.Context(), c).CombinedOutput(); err == nil || !strings.Contains(string(out), "not allowed") {
			t.Errorf("%s: %v: %s", url, err, out)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s was run", url)
		}
	}
}
