package providermirror

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestMirrorIsOnlyForTheEngine(t *testing.T) {
	s, client := newServer(t, 0)
	m, err := Start(t.Context(), Options{
		Client: client, OnDownload: func() func(runnerapi.Download) error { return nil },
		Log: slog.New(slog.DiscardHandler), Secrets: redact.New(), TempDir: t.TempDir(), Images: &Images{},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	public, err := os.ReadFile(filepath.Join(m.trust, "mirror.pem"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(public)
	engine := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	defer engine.CloseIdleConnections()
	ask := func(method, url string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := engine.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, strings.TrimSpace(string(text))
	}
	base := strings.TrimSuffix(m.url, m.password+"/")
	for url, want := range map[string]int{
		base + "example.com/acme/cloud/index.json":       401,
		base + "wrong/example.com/acme/cloud/index.json": 401,
		base:                 401,
		m.url + "index.json": 404,
		m.url + "example.com/acme/cloud/../../../state": 404,
		m.url + "../state":                               404,
		m.url + "a/b/..%2f..%2f..%2fstate/c/d":           404,
		m.url + "example.com/acme/cloud/index.json/more": 404,
	} {
		if code, text := ask("GET", url); code != want {
			t.Errorf("%s: %d %s", url, code, text)
		}
	}
	if code, _ := ask("POST", m.url+"example.com/acme/cloud/index.json"); code != 404 || len(s.requests) != 0 {
		t.Errorf("%d, %v", code, s.requests)
	}
	if m.Rejection() != "" {
		t.Error(m.Rejection())
	}
	s.answer = func(r *http.Request) int {
		return map[string]int{"/v1/providers/a/b/c/gone.json": 404, "/v1/providers/a/b/c/bad.json": 424,
			"/v1/providers/a/b/c/no.json": 403}[r.URL.Path]
	}
	for _, step := range []struct {
		file    string
		code    int
		refusal string
	}{{"gone.json", 404, "refused by the test"}, {"no.json", 424, "refused by the test"},
		{"bad.json", 424, "refused by the test"}} {
		if code, text := ask("GET", m.url+"a/b/c/"+step.file); code != step.code || text != step.refusal ||
			m.Rejection() != step.refusal {
			t.Errorf("%s: %d %s, %q", step.file, code, text, m.Rejection())
		}
	}
	if m.notFound {
		t.Error("what is not there hides what went wrong")
	}
	// Nothing but itself is vouched for by what the engine is made to trust.
	certificate, err := loopbackCertificate()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil || parsed.IsCA || parsed.KeyUsage&x509.KeyUsageCertSign != 0 || len(parsed.DNSNames) != 0 ||
		len(parsed.IPAddresses) != 1 {
		t.Errorf("%v %+v", err, parsed)
	}
}

func TestFailedVerificationIsNotRepeated(t *testing.T) {
	s, client := newServer(t, time.Minute)
	codes := []int{503, 429, 424, 503}
	s.answer = func(*http.Request) int {
		code := codes[0]
		codes = codes[1:]
		return code
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := client.Provider(t.Context(), "a/b/c/d e.json", file, nil); runnerapi.Code(err) != 424 || len(codes) != 1 {
		t.Errorf("%v, %v", err, codes)
	}
	if s.requests[0] != "GET /v1/providers/a/b/c/d e.json" {
		t.Errorf("%q", s.requests)
	}
}

// FuzzMirrored tries whether a path leads out of the mirror.
func FuzzMirrored(f *testing.F) {
	f.Add("/pw/example.com/acme/cloud/index.json")
	f.Add("/pw/../../../state")
	f.Add("//pw/a/b/c/d")
	f.Fuzz(func(t *testing.T, path string) {
		name, known, ok := mirrored(path, "pw")
		if known != (strings.HasPrefix(path, "/pw/") || strings.HasPrefix(path, "pw/") || path == "pw" ||
			path == "/pw") {
			t.Errorf("%q: the password is right: %v", path, known)
		}
		if ok && (!fs.ValidPath(name) || len(strings.Split(name, "/")) != 4 || strings.Contains("/"+name+"/", "/../")) {
			t.Errorf("%q leads to %q", path, name)
		}
	})
}

func TestCLIConfigurationsInAnImage(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		env  []string
		want string
	}{
		"none":                       {},
		"another file":               {file: ".terraform.d/checkpoint_cache"},
		"named by the environment":   {env: []string{"TF_CLI_CONFIG_FILE=/x"}, want: "/x"},
		"named as it was once":       {env: []string{"TERRAFORM_CONFIG=/x"}, want: "/x"},
		"named by an empty variable": {env: []string{"TF_CLI_CONFIG_FILE="}},
		"OpenTofu's":                 {file: ".tofurc", want: "HOME/.tofurc"},
		"Terraform's":                {file: ".terraformrc", want: "HOME/.terraformrc"},
		"one of many":                {file: ".terraform.d/a.tfrc", want: "HOME/.terraform.d/a.tfrc"},
		"one of many in JSON":        {file: ".terraform.d/a.tfrc.json", want: "HOME/.terraform.d/a.tfrc.json"},
		"where XDG has it": {file: "xdg/opentofu/tofurc", env: []string{"XDG_CONFIG_HOME=HOME/xdg"},
			want: "HOME/xdg/opentofu/tofurc"},
		"where XDG would have it": {file: "xdg/opentofu/tofurc"},
		"one of many where XDG has it": {file: "xdg/opentofu/a.tfrc", env: []string{"XDG_CONFIG_HOME=HOME/xdg"},
			want: "HOME/xdg/opentofu/a.tfrc"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if test.file != "" {
				path := filepath.Join(home, test.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{"HOME=" + home}
			for _, pair := range test.env {
				env = append(env, strings.ReplaceAll(pair, "HOME/", home+"/"))
			}
			if got := strings.Replace(OwnConfig(env), home, "HOME", 1); got != test.want {
				t.Errorf("%q, not %q", got, test.want)
			}
		})
	}
}

func TestImpliedFolders(t *testing.T) {
	root := t.TempDir()
	in := func(paths ...string) (all []string) {
		for _, path := range paths {
			all = append(all, filepath.Join(root, path))
		}
		return all
	}
	for _, dir := range in("code/terraform.d/plugins", "home/.terraform.d/plugins",
		"home/.local/share/terraform/plugins",
		"data/opentofu/plugins", "data/terraform/plugins", "a/terraform/plugins", "b/terraform/plugins") {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + root + "/home", "XDG_DATA_DIRS=" + root + "/a:" + root + "/none:" + root + "/b"}
	want := in("code/terraform.d/plugins", "home/.terraform.d/plugins", "home/.local/share/terraform/plugins",
		"a/terraform/plugins", "b/terraform/plugins")
	if diff := cmp.Diff(want, impliedFolders(env, root+"/code")); diff != "" {
		t.Error(diff)
	}
	want = in("code/terraform.d/plugins", "home/.terraform.d/plugins", "data/opentofu/plugins",
		"data/terraform/plugins", "a/terraform/plugins", "b/terraform/plugins")
	if diff := cmp.Diff(want, impliedFolders(append(env, "XDG_DATA_HOME="+root+"/data"), root+"/code")); diff != "" {
		t.Error(diff)
	}
}

func TestProvidersInAFolder(t *testing.T) {
	folder := fstest.MapFS{
		"example.com/acme/cloud/terraform-provider-cloud_1.0.0_linux_amd64.zip":   {},
		"example.com/acme/cloud/terraform-provider-cloud_1.1.0_linux_amd64.zip":   {},
		"example.com:8443/acme/dir/1.0.0/linux_amd64/terraform-provider-dir":      {},
		"example.com/acme/empty/README":                                           {},
		"example.com/ac\"me/cloud/terraform-provider-cloud_1.0.0_linux_amd64.zip": {},
		"terraform-provider-old_v1.0.0":                                           {},
	}
	want := `provider_installation {
  network_mirror {
    url = "https://127.0.0.1:1/x/"
    trust_all_hashes = true
  }
}
`
	if diff := cmp.Diff(want, cliConfig("https://127.0.0.1:1/x/", nil, &Images{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"example.com/acme/cloud", "example.com/acme/cloud", "example.com:8443/acme/dir"},
		providersIn(folder)); diff != "" {
		t.Error(diff)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, folder); err != nil {
		t.Fatal(err)
	}
	want = `provider_installation {
  filesystem_mirror {
    path = "` + dir + `"
  }
  network_mirror {
    url = "https://127.0.0.1:1/x/"
    trust_all_hashes = true
    exclude = ["example.com/acme/cloud", "example.com:8443/acme/dir"]
  }
}
`
	if diff := cmp.Diff(want, cliConfig("https://127.0.0.1:1/x/", []string{dir}, &Images{})); diff != "" {
		t.Error(diff)
	}
}

func TestTrustedProvidersStayTrusted(t *testing.T) {
	got := environment(nil, "/t")
	if diff := cmp.Diff([]string{"SSL_CERT_DIR=/etc/ssl/certs:/etc/pki/tls/certs:/t", "TF_REGISTRY_CLIENT_TIMEOUT=120"},
		got); diff != "" {
		t.Error(diff)
	}
	got = environment([]string{"SSL_CERT_DIR=/own:/more", "TF_REGISTRY_CLIENT_TIMEOUT=5"}, "/t")
	if diff := cmp.Diff([]string{"SSL_CERT_DIR=/own:/more:/t"}, got); diff != "" {
		t.Error(diff)
	}
}

// fakeServer answers each request with a status.
type fakeServer struct {
	answer   func(*http.Request) int
	requests []string
}

// newServer starts a server, and returns a client for it.
func newServer(t *testing.T, patience time.Duration) (*fakeServer, *runnerapi.Client) {
	t.Helper()
	s := &fakeServer{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		http.Error(w, "refused by the test", s.answer(r))
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := runnerapi.NewClient(runnerapi.ClientOptions{URL: server.URL, CA: ca, TokenFile: token,
		Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}
