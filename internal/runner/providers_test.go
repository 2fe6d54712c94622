package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/providers"
	"cairn.dev/cairn/internal/engine/providers/registrytest"
	"cairn.dev/cairn/internal/runnerapi"
)

// timeHost is the one registry whose other platforms' hashes OpenTofu takes from a mirror into the lock file.
const timeHost = "registry.opentofu.org"

// clock is code with a provider that is real, from a registry that a test has.
func clock() string {
	return fmt.Sprintf(`
terraform {
  required_providers {
    time = { source = "%s/hashicorp/time" }
  }
}
resource "time_static" "now" {}
`, timeHost)
}

// timeProvider gives the archive of a real provider, with a note in it.
func timeProvider(t *testing.T, note string) map[string][]byte {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(bin(t), "terraform-provider-time"))
	if err != nil {
		t.Fatalf("%v: run make tools first", err)
	}
	files := map[string][]byte{"terraform-provider-time_v0.14.2": program, "NOTE": []byte(note)}
	return map[string][]byte{
		"linux_" + runtime.GOARCH: registrytest.Zip(t, files),
		"plan9_mips":              registrytest.Zip(t, map[string][]byte{"NOTE": []byte(note)}),
	}
}

func newTimeRegistry(t *testing.T) *registrytest.Registry {
	t.Helper()
	registry := registrytest.New(t)
	registry.Add("hashicorp", "time", "0.14.2", timeProvider(t, "real"))
	return registry
}

func newMirror(t *testing.T, registry *registrytest.Registry, o providers.Options) *providers.Mirror {
	t.Helper()
	o.Dir, o.Client = t.TempDir(), registry.Client()
	m, err := providers.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// mirror gives the server a mirror of providers.
func (s *testServer) mirror(m *providers.Mirror) {
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, "/v1/providers/")
		if !ok {
			s.ServeHTTP(w, r)
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+testToken || r.Header.Get(runnerapi.AttemptHeader) == "" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		err := serveMirror(w, r, m, strings.Split(path, "/"))
		switch {
		case errors.Is(err, providers.ErrNotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, providers.ErrVerify):
			http.Error(w, err.Error(), http.StatusFailedDependency)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}

func serveMirror(w http.ResponseWriter, r *http.Request, m *providers.Mirror, path []string) error {
	p, err := providers.ParseProvider(path[0], path[1], path[2])
	if err != nil {
		return err
	}
	if version, platform, ok := p.ParseFilename(path[3]); ok {
		archive, err := m.Archive(r.Context(), p, version, platform.OS, platform.Arch)
		if err != nil {
			return err
		}
		defer archive.Close()
		http.ServeContent(w, r, path[3], time.Time{}, archive)
		return nil
	}
	if version, _ := strings.CutSuffix(path[3], ".json"); version != "index" {
		release, err := m.Version(r.Context(), p, version)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(release)
	}
	versions, err := m.Versions(r.Context(), p)
	if err != nil {
		return err
	}
	index := map[string]map[string]bool{}
	for _, version := range versions {
		index[version] = nil
	}
	return json.NewEncoder(w).Encode(map[string]any{"versions": index})
}

// planProviders makes an order to plan with the server's mirror.
func (s *testServer) planProviders(attempt int32, files ...entry) runnerapi.Order {
	order := s.plan(attempt, s.put(files...))
	order.Providers, order.Patience = true, 500*time.Millisecond
	return order
}

func TestProvidersAreFetchedFromTheServerOnce(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	mirror := newMirror(t, registry, providers.Options{})
	s := newTestServer(t)
	s.mirror(mirror)
	apply := s.planned(s.planProviders(1, file("main.tf", clock())), nil)

	plan := s.plans[apply.PlanDigest]
	lock, err := engine.PlannedLockFile(strings.NewReader(string(plan)), int64(len(plan)))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(lock); !strings.Contains(text, `version = "0.14.2"`) || strings.Count(text, `"h1:`) != 1 ||
		strings.Count(text, `"zh:`) != 2 {
		t.Errorf("the lock file does not hold for every platform:\n%s", text)
	}

	p := run(t, s, nil, apply) // in another pod, with another proxy
	report := s.done(2)
	if got := steps(report); got != "fetch= init= apply=" || report.Done.Failure != nil || len(s.resources()) != 1 {
		t.Errorf("%s %+v %v\n%s", got, report.Done.Failure, s.resources(), p.output)
	}
	if registry.Asked(".zip") != 1 {
		t.Errorf("the archive was pulled %d times", registry.Asked(".zip"))
	}
	if strings.Contains(p.output.String(), testToken) {
		t.Error("the token is in the log")
	}
	if left, _ := filepath.Glob(filepath.Join(p.work, "tmp", "providers-*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

func TestConcurrentInitsPullOnce(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	mirror := newMirror(t, registry, providers.Options{})
	var pods []*pod
	var servers []*testServer
	for range 2 {
		s := newTestServer(t)
		s.mirror(mirror)
		s.orders <- s.planProviders(1, file("main.tf", clock()))
		close(s.orders)
		servers, pods = append(servers, s), append(pods, startPod(t, s, nil))
	}
	for i, p := range pods {
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
		if report := servers[i].done(1); steps(report) != "fetch= init= plan=" {
			t.Errorf("%s %+v\n%s", steps(report), report.Done.Failure, p.output)
		}
	}
	if registry.Asked(".zip") != 1 {
		t.Errorf("the archive was pulled %d times", registry.Asked(".zip"))
	}
}

func TestProviderThatChangedSinceThePlanIsRejected(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	s := newTestServer(t)
	s.mirror(newMirror(t, registry, providers.Options{}))
	apply := s.planned(s.planProviders(1, file("main.tf", clock())), nil)

	registry.Add("hashicorp", "time", "0.14.2", timeProvider(t, "another, signed as well"))
	s.mirror(newMirror(t, registry, providers.Options{})) // one that has never seen the first
	run(t, s, nil, apply)
	report := s.done(2)
	if steps(report) != "fetch= init!" || !strings.Contains(report.Done.Failure.Message,
		"doesn't match any of the checksums previously recorded in the dependency lock file") {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	if s.state != nil || s.lock != nil {
		t.Error("an apply ran")
	}
}

func TestLockFileOfTheCodeIsUsed(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	registry.Add("hashicorp", "time", "0.15.0", timeProvider(t, "newer"))
	s := newTestServer(t)
	s.mirror(newMirror(t, registry, providers.Options{}))
	lock := func(hash string) entry {
		return file(".terraform.lock.hcl", fmt.Sprintf("provider %q {\n  version = \"0.14.2\"\n  hashes = [%q]\n}\n",
			timeHost+"/hashicorp/time", hash))
	}
	run(t, s, nil, s.planProviders(1, file("main.tf", clock()),
		lock("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")))
	if report := s.done(1); steps(report) != "fetch= init!" || !strings.Contains(report.Done.Failure.Message,
		"recorded in the dependency lock file") {
		t.Errorf("%s %+v", steps(report), report.Done.Failure)
	}
	release, err := newMirror(t, registry, providers.Options{}).Version(t.Context(),
		providers.Provider{Hostname: timeHost, Namespace: "hashicorp", Type: "time"}, "0.14.2")
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, nil, s.planProviders(2, file("main.tf", clock()),
		lock(release.Archives["linux_"+runtime.GOARCH].Hashes[0])))
	if report := s.done(2); steps(report) != "fetch= init= plan=" || !strings.Contains(string(s.logs[2]), "v0.14.2") {
		t.Errorf("%s %+v\n%s", steps(report), report.Done.Failure, s.logs[2])
	}
}

func TestMissingProviderIsExplained(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	answer := func(suffix string, code int, body string) func(string, int, []byte) (int, []byte) {
		return func(path string, was int, b []byte) (int, []byte) {
			if strings.HasSuffix(path, suffix) {
				return code, []byte(body)
			}
			return was, b
		}
	}
	for name, test := range map[string]struct {
		answer  func(string, int, []byte) (int, []byte)
		options providers.Options
		want    string
	}{
		"an archive with other bytes": {answer: answer(".zip", 200, "evil"),
			want: "verification failed: its checksum is"},
		"a signature of another":  {answer: answer(".sig", 200, "evil"), want: "verification failed: the signature"},
		"no such provider":        {answer: answer("/versions", 404, ""), want: "not in the mirror of providers"},
		"a registry that is away": {answer: answer("", 503, ""), want: "answers 503 Service Unavailable"},
		"an offline mirror": {options: providers.Options{Offline: true},
			want: "not in the mirror of providers, which is offline"},
	} {
		t.Run(name, func(t *testing.T) {
			registry.Answer(test.answer)
			s := newTestServer(t)
			s.mirror(newMirror(t, registry, test.options))
			run(t, s, nil, s.planProviders(1, file("main.tf", clock())))
			report := s.done(1)
			if steps(report) != "fetch= init!" || !strings.Contains(report.Done.Failure.Message, test.want) {
				t.Errorf("%s %+v", steps(report), report.Done.Failure)
			}
			if archives := registry.Asked(".zip"); archives > 1 {
				t.Errorf("the archive was pulled %d times", archives)
			}
		})
	}
}

func TestAirGappedProviders(t *testing.T) {
	t.Parallel()
	registry, folder := newTimeRegistry(t), t.TempDir()
	dir := filepath.Join(folder, timeHost, "hashicorp", "time")
	writeArchive(t, dir, "0.14.2", timeProvider(t, "carried over"))
	s := newTestServer(t)
	s.mirror(newMirror(t, registry, providers.Options{Folder: folder, Offline: true}))
	run(t, s, nil, s.planned(s.planProviders(1, file("main.tf", clock())), nil))
	if report := s.done(2); steps(report) != "fetch= init= apply=" || registry.Asked("") != 0 {
		t.Errorf("%s %+v, the registry was asked %d times", steps(report), report.Done.Failure, registry.Asked(""))
	}
}

// writeArchive puts an archive for this machine into a folder.
func writeArchive(t *testing.T, dir, version string, archives map[string][]byte) {
	t.Helper()
	platform := "linux_" + runtime.GOARCH
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "terraform-provider-time_"+version+"_"+platform+".zip"),
		archives[platform], 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestProvidersOfTheImageAreKept(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	registry.Add("hashicorp", "time", "0.15.0", timeProvider(t, "newer"))
	archives := timeProvider(t, "of the image")
	for name, test := range map[string]struct {
		// brings writes into the home folder and gives more environment.
		brings func(t *testing.T, home string) []string
		want   string
		asked  bool
	}{
		"nothing": {func(*testing.T, string) []string { return nil }, "v0.15.0", true},
		"a provider in an implied folder": {func(t *testing.T, home string) []string {
			writeArchive(t, filepath.Join(home, ".terraform.d", "plugins", timeHost, "hashicorp", "time"),
				"0.14.2", archives)
			return nil
		}, "v0.14.2", false},
		"a CLI configuration": {func(t *testing.T, home string) []string {
			folder := filepath.Join(home, "own")
			writeArchive(t, filepath.Join(folder, timeHost, "hashicorp", "time"), "0.14.2", archives)
			text := fmt.Sprintf("provider_installation {\n filesystem_mirror {\n path = %q\n }\n}\n", folder)
			if err := os.WriteFile(filepath.Join(home, "own.tfrc"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(home, "own.tfrc")}
		}, "v0.14.2", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, home := newTestServer(t), t.TempDir()
			s.mirror(newMirror(t, registry, providers.Options{}))
			env := append([]string{"HOME=" + home}, test.brings(t, home)...)
			p := startPod(t, s, nil, env...)
			s.orders <- s.planProviders(1, file("main.tf", clock()))
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report := s.done(1)
			if steps(report) != "fetch= init= plan=" ||
				!strings.Contains(p.output.String(), "Installing hashicorp/time "+test.want) {
				t.Errorf("%s %+v\n%s", steps(report), report.Done.Failure, p.output)
			}
			asked := slices.ContainsFunc(s.requests, func(r string) bool {
				return strings.Contains(r, "/v1/providers/")
			})
			if asked != test.asked {
				t.Errorf("the mirror was asked: %v", asked)
			}
		})
	}
}

func TestServerWithoutAMirrorDoesNotConfigureTheEngine(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("main.tf", two)))
	p := run(t, s, nil, order)
	if report := s.done(1); steps(report) != "fetch= init= plan=" {
		t.Errorf("%s\n%s", steps(report), p.output)
	}
	if left, _ := filepath.Glob(filepath.Join(p.work, "tmp", "*")); len(left) != 0 {
		t.Errorf("%v was created", left)
	}
}
