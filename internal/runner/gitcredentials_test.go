package runner

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// forge serves the repository mods.git with git's own server. It wants an Authorization header when it is given one, and
// remembers those that it saw.
type forge struct {
	*httptest.Server
	wants string
	// elsewhere gets what is asked for below /moved/.
	elsewhere string

	mu   sync.Mutex
	seen map[string]int
}

func newForge(t *testing.T, wants string) *forge {
	t.Helper()
	root := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main", "work")
	if err := os.MkdirAll(filepath.Join(root, "work", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "work", "x", "main.tf"), []byte(`output "it" { value = "from the module" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", "work", "add", ".")
	git("-C", "work", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a module")
	git("clone", "-q", "--bare", "work", "mods.git")
	f := &forge{wants: wants, seen: map[string]int{}}
	backend := &cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=alice"},
	}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		f.mu.Lock()
		f.seen[header]++
		f.mu.Unlock()
		if path, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
			http.Redirect(w, r, f.elsewhere+path+"?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		if f.wants != "" && header != f.wants {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *forge) host() string { return strings.TrimPrefix(f.URL, "https://") }

// headers are the Authorization headers that were seen.
func (f *forge) headers() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	for header := range f.seen {
		seen[header] = true
	}
	return seen
}

// trusting are what makes git trust the forges of this test.
func trusting(t *testing.T, f *forge) []string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := os.WriteFile(ca, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"GIT_SSL_CAINFO=" + ca}
}

// initialized makes a plan of code that has modules from these URLs.
func initialized(t *testing.T, s *testStore, credentials []store.ModuleCredentials, inputs map[string]string, env []string, urls ...string) (store.Report, *pod) {
	t.Helper()
	var code strings.Builder
	for i, url := range urls {
		name := string(rune('a' + i))
		code.WriteString("module \"" + name + "\" { source = \"git::" + url + "\" }\noutput \"" + name + "\" { value = module." + name + ".it }\n")
	}
	order := s.plan(1, s.put(file("main.tf", code.String())))
	order.ModuleCredentials = credentials
	for _, c := range credentials {
		order.SecretDirs = append(order.SecretDirs, c.Dir)
	}
	p := startPod(t, s, inputs, env...)
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.output)
	}
	return s.done(1), p
}

var alice = map[string]string{"git/0/username": "alice\n", "git/0/password": "canary-password\n"}

const aliceHeader = "Basic YWxpY2U6Y2FuYXJ5LXBhc3N3b3Jk"

func TestModulesAreFetchedWithTheCredentialsOfTheirHostOnly(t *testing.T) {
	private, token, public := newForge(t, aliceHeader), newForge(t, "Bearer canary-token"), newForge(t, "")
	inputs := map[string]string{"git/1/bearerToken": "canary-token"}
	for name, text := range alice {
		inputs[name] = text
	}
	credentials := []store.ModuleCredentials{{Host: private.host(), Dir: "git/0"}, {Host: token.host(), Dir: "git/1"}}
	env := append(trusting(t, private), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.userAgent", "GIT_CONFIG_VALUE_0=mine")
	report, p := initialized(t, newTestStore(t), credentials, inputs, env,
		private.URL+"/mods.git//x", token.URL+"/mods.git//x", public.URL+"/mods.git//x")
	if got := steps(report); got != "fetch= init= plan=" {
		t.Fatalf("%s %+v\n%s", got, report.Done.Failure, p.output)
	}
	for name, tt := range map[string]struct {
		forge *forge
		want  map[string]bool
	}{
		"one":          {private, map[string]bool{aliceHeader: true}},
		"another":      {token, map[string]bool{"Bearer canary-token": true}},
		"one for none": {public, map[string]bool{"": true}},
	} {
		if diff := cmp.Diff(tt.want, tt.forge.headers()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWithoutCredentialsGitDoesNotAsk(t *testing.T) {
	private := newForge(t, aliceHeader)
	report, p := initialized(t, newTestStore(t), nil, nil, trusting(t, private), private.URL+"/mods.git//x")
	if got := steps(report); got != "fetch= init!" || !strings.Contains(report.Done.Failure.Message, "terminal prompts disabled") {
		t.Errorf("%s %+v\n%s", got, report.Done.Failure, p.output)
	}
}

func TestARedirectShowsTheCredentialsToNobodyElse(t *testing.T) {
	private, other := newForge(t, aliceHeader), newForge(t, "")
	private.elsewhere = other.URL
	s := newTestStore(t)
	report, p := initialized(t, s, []store.ModuleCredentials{{Host: private.host(), Dir: "git/0"}}, alice,
		append(trusting(t, private), "GIT_TRACE_CURL=1", "GIT_TRACE_REDACT=0"), private.URL+"/moved/mods.git//x")
	if got := steps(report); got != "fetch= init!" || !strings.Contains(string(s.logs[1]), "returned error: 302") {
		t.Errorf("%s %+v", got, report.Done.Failure)
	}
	if diff := cmp.Diff(map[string]bool{}, other.headers()); diff != "" {
		t.Errorf("the other host was asked: %s", diff)
	}
	if diff := cmp.Diff(map[string]bool{aliceHeader: true}, private.headers()); diff != "" {
		t.Error(diff)
	}
	// Git told all that it sent, and the engine told what git told.
	reports, _ := json.Marshal(s.reports)
	for _, text := range []string{p.output.String(), string(s.logs[1]), string(reports)} {
		if strings.Contains(text, "canary") || strings.Contains(text, "Y2FuYXJ5") || strings.Contains(text, "YWxpY2") {
			t.Errorf("a canary in\n%s", text)
		}
	}
	if text := strings.Join(strings.Fields(p.output.String()), " "); !strings.Contains(text, "Authorization: Basic (sensitive)") {
		t.Errorf("nothing hidden in\n%s", p.output)
	}
}

// gitAttempt is one that prepares git with what is in an inputs folder.
func gitAttempt(t *testing.T, files map[string]string, credentials []store.ModuleCredentials, environ ...string) *attempt {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's a folder")
	work, err := openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := work.clear(); err != nil {
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
	a := &attempt{runner: &runner{Options: Options{Inputs: inputs, Environ: environ}, secrets: redact.New(), work: work}}
	a.order.ModuleCredentials = credentials
	return a
}

var sshKey = map[string]string{"git/0/identity": "key", "git/0/known_hosts": "git.example.com key"}

func TestSSHUsesTheIdentityForItsHostOnly(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Fatal("no ssh: install openssh-client")
	}
	a := gitAttempt(t, sshKey, []store.ModuleCredentials{{Host: "Git.example.com:2222", Dir: "git/0"}})
	if err := a.prepareGit(); err != nil {
		t.Fatal(err)
	}
	options := func(host string) map[string]string {
		t.Helper()
		// Git has a shell run it too.
		cmd := exec.CommandContext(t.Context(), "sh", "-c", variable(a.gitEnv, "GIT_SSH_COMMAND")+` -G -p 2222 "$0"`, host)
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
	dir := filepath.Join(a.work.git(), "0")
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
	for name, want := range map[string]string{"identity": "key\n", "known_hosts": "git.example.com key\n"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		info, _ := os.Stat(filepath.Join(dir, name))
		if err != nil || string(data) != want || info.Mode() != 0o600 {
			t.Errorf("%s: %q %v %v", name, data, info.Mode(), err)
		}
	}
}

func TestWhatTheUserSetForGitStays(t *testing.T) {
	both := map[string]string{"git/0/bearerToken": "token"}
	for name, text := range sshKey {
		both[name] = text
	}
	credentials := []store.ModuleCredentials{{Host: "git.example.com", Dir: "git/0"}}
	settings := func(first string, more ...string) []string {
		n := map[string][3]string{"0": {"2", "0", "1"}, "3": {"5", "3", "4"}}[first]
		return append([]string{
			"GIT_CONFIG_COUNT=" + n[0],
			"GIT_CONFIG_KEY_" + n[1] + "=http.https://git.example.com/.extraHeader", "GIT_CONFIG_VALUE_" + n[1] + "=Authorization: Bearer token",
			"GIT_CONFIG_KEY_" + n[2] + "=http.https://git.example.com/.followRedirects", "GIT_CONFIG_VALUE_" + n[2] + "=false",
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
			a := gitAttempt(t, both, credentials, tt.environ...)
			err := a.prepareGit()
			var refused *engine.Refused
			if tt.refused != "" {
				if !errors.As(err, &refused) || !strings.Contains(refused.Reason, tt.refused) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, pair := range a.gitEnv {
				if strings.HasPrefix(pair, "GIT_SSH_COMMAND=") {
					a.gitEnv[i] = strings.ReplaceAll(pair, strings.ReplaceAll(filepath.Join(a.work.git(), "ssh_config"), "'", `'\''`), "")
				}
			}
			if !a.secrets.Hides("token") {
				t.Error("what git shows to the host is not known as secret")
			}
			if diff := cmp.Diff(tt.want, a.gitEnv); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCredentialsThatCannotBeUsedAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		host, dir, want string
	}{
		"of a Secret that is not there":    {"git.example.com", "git/7", `credentials for modules of "git.example.com": the Secret is not there`},
		"of a Secret without them":         {"git.example.com", "git/1", "the Secret has neither"},
		"for many hosts":                   {"*.example.com", "git/0", "that is no host"},
		"for a host with a user":           {"me@git.example.com", "git/0", "that is no host"},
		"for a host with a path":           {"git.example.com/a", "git/0", "that is no host"},
		"for a host with a line":           {"git.example.com\nHost *", "git/0", "that is no host"},
		"for a port that cannot be":        {"git.example.com:99999", "git/0", "that is no host"},
		"for a port that is no number":     {"git.example.com:", "git/0", "that is no host"},
		"for no host at all":               {"", "git/0", "that is no host"},
		"of a folder that is not an input": {"git.example.com", "../outside", "the Secret is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"git/0/bearerToken": "token", "git/1/other": "x"}
			a := gitAttempt(t, files, []store.ModuleCredentials{{Host: tt.host, Dir: tt.dir}})
			err := a.prepareGit()
			var refused *engine.Refused
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, tt.want) || a.gitEnv != nil {
				t.Errorf("%v, %v", err, a.gitEnv)
			}
		})
	}
}
