package runner

import (
	"encoding/json"
	"encoding/pem"
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

	"cairn.dev/cairn/internal/runnerapi"
)

// gitServer serves the repository mods.git with git's own server. It wants an Authorization header when it is given
// one, and remembers those that it saw.
type gitServer struct {
	*httptest.Server
	wants string
	// elsewhere gets what is asked for below /moved/.
	elsewhere string

	mu   sync.Mutex
	seen map[string]int
}

func newGitServer(t *testing.T, wants string) *gitServer {
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
	if err := os.WriteFile(filepath.Join(root, "work", "x", "main.tf"),
		[]byte(`output "it" { value = "from the module" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", "work", "add", ".")
	git("-C", "work", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a module")
	git("clone", "-q", "--bare", "work", "mods.git")
	f := &gitServer{wants: wants, seen: map[string]int{}}
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

func (f *gitServer) host() string { return strings.TrimPrefix(f.URL, "https://") }

// headers are the Authorization headers that were seen.
func (f *gitServer) headers() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	for header := range f.seen {
		seen[header] = true
	}
	return seen
}

// trusting are what makes git trust the forges of this test.
func trusting(t *testing.T, f *gitServer) []string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := os.WriteFile(ca, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"GIT_SSL_CAINFO=" + ca}
}

// initialized makes a plan of code that has modules from these URLs.
func initialized(t *testing.T, s *testServer, credentials []runnerapi.ModuleCredentials, inputs map[string]string,
	env []string, urls ...string) (runnerapi.Report, *pod) {
	t.Helper()
	var code strings.Builder
	for i, url := range urls {
		name := string(rune('a' + i))
		code.WriteString("module \"" + name + "\" { source = \"git::" + url + "\" }\noutput \"" + name +
			"\" { value = module." + name + ".it }\n")
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
	private, token, public := newGitServer(t, aliceHeader), newGitServer(t, "Bearer canary-token"), newGitServer(t, "")
	inputs := map[string]string{"git/1/bearerToken": "canary-token"}
	for name, text := range alice {
		inputs[name] = text
	}
	credentials := []runnerapi.ModuleCredentials{{Host: private.host(), Dir: "git/0"},
		{Host: token.host(), Dir: "git/1"}}
	env := append(trusting(t, private), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.userAgent",
		"GIT_CONFIG_VALUE_0=mine")
	report, p := initialized(t, newTestServer(t), credentials, inputs, env,
		private.URL+"/mods.git//x", token.URL+"/mods.git//x", public.URL+"/mods.git//x")
	if got := steps(report); got != "fetch= init= plan=" {
		t.Fatalf("%s %+v\n%s", got, report.Done.Failure, p.output)
	}
	for name, tt := range map[string]struct {
		server *gitServer
		want   map[string]bool
	}{
		"one":          {private, map[string]bool{aliceHeader: true}},
		"another":      {token, map[string]bool{"Bearer canary-token": true}},
		"one for none": {public, map[string]bool{"": true}},
	} {
		if diff := cmp.Diff(tt.want, tt.server.headers()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestGitDoesNotPromptWithoutCredentials(t *testing.T) {
	private := newGitServer(t, aliceHeader)
	report, p := initialized(t, newTestServer(t), nil, nil, trusting(t, private), private.URL+"/mods.git//x")
	if got := steps(report); got != "fetch= init!" || !strings.Contains(report.Done.Failure.Message,
		"terminal prompts disabled") {
		t.Errorf("%s %+v\n%s", got, report.Done.Failure, p.output)
	}
}

func TestRedirectDoesNotForwardCredentials(t *testing.T) {
	private, other := newGitServer(t, aliceHeader), newGitServer(t, "")
	private.elsewhere = other.URL
	s := newTestServer(t)
	report, p := initialized(t, s, []runnerapi.ModuleCredentials{{Host: private.host(), Dir: "git/0"}}, alice,
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
	// Git printed all that it sent, and the engine printed the output of git.
	reports, _ := json.Marshal(s.reports)
	for _, text := range []string{p.output.String(), string(s.logs[1]), string(reports)} {
		if strings.Contains(text, "canary") || strings.Contains(text, "Y2FuYXJ5") || strings.Contains(text, "YWxpY2") {
			t.Errorf("a canary in\n%s", text)
		}
	}
	if text := strings.Join(strings.Fields(p.output.String()), " "); !strings.Contains(text,
		"Authorization: Basic (sensitive)") {
		t.Errorf("nothing hidden in\n%s", p.output)
	}
}
