package runnerhandler

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/release"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/test/releases"
)

// newEngines gives a runner's client for a server that has engines, for a Run of an engine.
func newEngines(t *testing.T, from Engines, its v1alpha1.EngineName) *runnerapi.Client {
	t.Helper()
	s := New(Options{Log: slog.New(slog.DiscardHandler)})
	e := engines{from: from, inputs: func(context.Context, string) (inputs.Document, error) {
		return inputs.Document{Engine: v1alpha1.Engine{Name: its}}, nil
	}}
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request, Caller) error{
		"GET /v1/engines/{name}": e.find, "GET /v1/engines/{name}/{version}": e.program,
	} {
		mux.Handle(pattern, s.answer(httpapi.LongTimeout, func(w http.ResponseWriter, r *http.Request) (Caller, error) {
			c := Caller{Run: &v1alpha1.Run{}, RunName: "net-1"}
			return c, h(w, r, c)
		}))
	}
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := runnerapi.NewClient(runnerapi.ClientOptions{
		URL: server.URL, TokenFile: token,
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mirrored gives Releases that are all from a mirror.
func mirrored(t *testing.T, m *releases.Mirror) *release.Releases {
	t.Helper()
	o := release.Options{Egress: egresstest.Loopback(), Dir: t.TempDir(), Mirrors: map[release.Product]string{},
		Keys: map[release.Product][]string{}}
	for _, p := range []release.Product{release.OpenTofu, release.Terraform, release.Terragrunt} {
		o.Mirrors[p], o.Keys[p] = m.URL, []string{m.Key}
	}
	r, err := release.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestRunnerDownloadsItsEngine(t *testing.T) {
	m := releases.New(t,
		releases.Release{Product: "OpenTofu", Version: "1.8.0", OS: "linux", Arch: "arm64", Program: []byte("one")},
		releases.Release{Product: "OpenTofu", Version: "1.9.1", OS: "linux", Arch: "arm64", Program: []byte("two")})
	c := newEngines(t, mirrored(t, m), v1alpha1.EngineOpenTofu)
	file, err := os.Create(filepath.Join(t.TempDir(), "tofu"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for constraint, want := range map[string]struct{ version, program string }{"~> 1.8.0": {"1.8.0", "one"},
		"": {"1.9.1", "two"}} {
		got, err := c.Engine(t.Context(), "OpenTofu", constraint, "linux", "arm64", goOn)
		if err != nil {
			t.Fatal(err)
		}
		wanted := runnerapi.EngineRelease{Version: want.version, Digest: inputs.Digest([]byte(want.program)), Size: 3}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Error(diff)
		}
		if err := c.EngineProgram(t.Context(), "OpenTofu", got.Version, "linux", "arm64", file, got.Size); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(file.Name()); err != nil || string(data) != want.program {
			t.Errorf("%q, %v", data, err)
		}
	}
	if err := c.EngineProgram(t.Context(), "OpenTofu", "1.8.0", "linux", "arm64", file, 2); !errors.Is(err,
		runnerapi.ErrTooLarge) {
		t.Errorf("a program that is larger than it may be: %v", err)
	}
}

func TestEngineDownloadErrors(t *testing.T) {
	m := releases.New(t, releases.Release{Product: "OpenTofu", Version: "1.8.0", OS: "linux", Arch: "amd64",
		Program: []byte("one")},
		releases.Release{Product: "OpenTofu", Version: "1.7.0", OS: "linux", Arch: "amd64", Program: []byte("old")},
		releases.Release{Product: "Terraform", Version: "1.5.7", OS: "linux", Arch: "amd64", Program: []byte("tf")})
	m.Write("opentofu/1.7.0/tofu_1.7.0_linux_amd64.zip", []byte("evil"))
	m.Write("terraform/1.5.7/terraform_1.5.7_SHA256SUMS.72D7468F.sig", []byte("signed, me"))
	from := mirrored(t, m)
	tests := map[string]struct {
		from Engines
		its  v1alpha1.EngineName
		// name, version, os and arch that are asked for.
		name, version, os, arch string
		code                    int // 0 is success
		says                    string
	}{
		"the Run's engine":                    {from, "OpenTofu", "OpenTofu", "1.8.0", "", "", 0, ""},
		"the engine of a Run that names none": {from, "", "OpenTofu", "1.8.0", "linux", "amd64", 0, ""},
		"the engine beneath Terragrunt":       {from, "Terragrunt", "OpenTofu", "1.8.0", "linux", "", 0, ""},
		"another engine than the Run's": {from, "OpenTofu", "Terragrunt", "1.8.0", "", "", 403,
			"not the engine of Run net-1"},
		"Terragrunt for a Run of its engine": {from, "Terraform", "Terragrunt", "0.99.0", "", "", 403,
			"not the engine"},
		"an engine that is unknown": {from, "Pulumi", "Pulumi", "1.8.0", "", "", 422, "no such engine"},
		"a version that there is not": {from, "OpenTofu", "OpenTofu", "1.8.7", "", "", 422,
			"near it are 1.8.0, 1.7.0"},
		"a version that leads elsewhere": {from, "OpenTofu", "OpenTofu", "../1.8.0", "", "", 422,
			"there is no such version"},
		"a platform without a release": {from, "OpenTofu", "OpenTofu", "1.8.0", "darwin", "arm64", 422,
			"near it are"},
		"a platform that no runner has": {from, "OpenTofu", "OpenTofu", "1.8.0", "plan9", "amd64", 422,
			"not given out"},
		"a release with a wrong checksum":  {from, "OpenTofu", "OpenTofu", "1.7.0", "", "", 424, "checksum"},
		"a release with a wrong signature": {from, "Terraform", "Terraform", "1.5.7", "", "", 424, "signature"},
		"a program that changed under the eye": {damaged{from, t.TempDir()}, "OpenTofu", "OpenTofu", "1.8.0", "",
			"", 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newEngines(t, test.from, test.its)
			file, err := os.Create(filepath.Join(t.TempDir(), "x"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			_, found := c.Engine(t.Context(), test.name, test.version, test.os, test.arch, giveUp)
			got := c.EngineProgram(t.Context(), test.name, test.version, test.os, test.arch, file, 100)
			if _, ok := test.from.(damaged); ok {
				if runnerapi.Code(got) != 503 {
					t.Errorf("the program: %v", got)
				}
				got = nil
			}
			for what, err := range map[string]error{"the release": found, "the program": got} {
				if runnerapi.Code(err) != test.code || (err == nil) != (test.code == 0) ||
					!strings.Contains(fmt.Sprint(err), test.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// goOn waits for any download, and giveUp for none from a place that does not answer.
func goOn(runnerapi.Download) error { return nil }

func giveUp(d runnerapi.Download) error {
	if d.Unreachable != "" {
		return errors.New(d.Unreachable)
	}
	return nil
}

// A runner receives the progress of a download, and the engine after it is downloaded.
func TestRunnerReceivesDownloadProgress(t *testing.T) {
	program := bytes.Repeat([]byte("x"), 100_000)
	m := releases.New(t, releases.Release{Product: "OpenTofu", Version: "1.8.0", OS: "linux", Arch: "amd64",
		Program: program})
	const archive = "/opentofu/1.8.0/tofu_1.8.0_linux_amd64.zip"
	size, goesOn := len(m.Read(archive[1:])), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != archive {
			http.ServeFile(w, r, filepath.Join(m.Dir, filepath.FromSlash(r.URL.Path)))
			return
		}
		data := m.Read(archive[1:])
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:40_000])
		_ = http.NewResponseController(w).Flush()
		<-goesOn
		_, _ = w.Write(data[40_000:])
	}))
	t.Cleanup(slow.Close)
	from, err := release.New(release.Options{
		Egress: egresstest.Loopback(), Dir: t.TempDir(),
		Mirrors: map[release.Product]string{release.OpenTofu: slow.URL},
		Keys:    map[release.Product][]string{release.OpenTofu: {m.Key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() })
	var received []runnerapi.Download
	got, err := newEngines(t, from, v1alpha1.EngineOpenTofu).Engine(t.Context(), "OpenTofu", "", "linux", "amd64",
		func(d runnerapi.Download) error {
			if received = append(received, d); d.Received == 40_000 {
				close(goesOn)
			}
			return nil
		})
	if err != nil || got.Version != "1.8.0" || len(received) == 0 {
		t.Fatalf("%+v, %v, %+v", got, err, received)
	}
	want := runnerapi.Download{What: "OpenTofu 1.8.0", From: slow.URL + archive, Received: 40_000, Total: int64(size)}
	if diff := cmp.Diff(want, received[0]); diff != "" {
		t.Error(diff)
	}
}

// A runner receives the error at once, with what to do. One that does not request the progress has to try again.
func TestRunnerReceivesUnreachableMirrorError(t *testing.T) {
	gone := releases.New(t)
	gone.Vanish()
	c := newEngines(t, mirrored(t, gone), v1alpha1.EngineOpenTofu)
	_, err := c.Engine(t.Context(), "OpenTofu", "1.8.0", "", "", giveUp)
	for _, want := range []string{gone.URL, "--engine-mirror=OpenTofu=URL", "chart value engines.mirrors.OpenTofu"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v does not have %q", err, want)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := c.EngineProgram(t.Context(), "OpenTofu", "1.8.0", "", "", file, 100); runnerapi.Code(err) != 503 ||
		!strings.Contains(err.Error(), "try again") {
		t.Errorf("%v", err)
	}
}

// damaged has programs that are not what they were.
type damaged struct {
	Engines
	dir string
}

func (d damaged) Get(context.Context, release.Product, string, string, string) (release.Program, error) {
	path := filepath.Join(d.dir, "tofu")
	err := os.WriteFile(path, []byte("bad"), 0o600)
	return release.Program{Path: path, Digest: inputs.Digest([]byte("one")), Size: 3, Version: "1.8.0"}, err
}
