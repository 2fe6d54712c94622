package release

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"cairn.dev/cairn/test/program"
	"cairn.dev/cairn/test/releases"
)

func TestNewest(t *testing.T) {
	all := sorted([]string{
		"1.8.0", "1.10.0", "1.9.9", "1.9.10", "1.11.0-beta2", "1.11.0-beta1", "1.9.0", "1.9.0", "2.0.0-alpha1", "0.9.0",
		"v1.12.0", "1.12", "1.12.0+ent", "../1.12.0", "1.12.0/..", "01.12.0", "latest", "", "99999999999999999999.0.0",
	})
	for constraint, want := range map[string]string{
		"":                         "1.10.0",
		"~> 1.9.0":                 "1.9.10",
		"~> 1.9":                   "1.10.0",
		">= 1.8, < 1.9.10":         "1.9.9",
		"1.9.0":                    "1.9.0",
		" = 1.9.0 ":                "1.9.0",
		"v1.9.0":                   "1.9.0",
		"1.9":                      "1.9.0",
		"!= 1.10.0":                "1.9.10",
		"1.11.0-beta1":             "1.11.0-beta1",
		"= 1.11.0-beta2":           "1.11.0-beta2",
		">= 1.11.0-beta1":          "",
		"1.11.0":                   "",
		"> 2":                      "",
		"1.12.0":                   "",
		"1.9.0, 1.9.9":             "",
		"> 1.11.0-beta1, < 1.12.0": "",
	} {
		w, err := parseWish(constraint)
		if err != nil {
			t.Fatalf("%q: %v", constraint, err)
		}
		if got, ok := w.newest(all); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", constraint, got, want)
		}
	}
	for _, constraint := range []string{"newest", "~> x", ">= 1,", strings.Repeat("> 1,", 100) + "> 1"} {
		if _, err := parseWish(constraint); !errors.Is(err, ErrNoVersion) {
			t.Errorf("%.20q: %v", constraint, err)
		}
	}
}

func TestNearest(t *testing.T) {
	all := sorted([]string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.3.1-rc1"})
	for asked, want := range map[string]string{
		">= 3":    "1.7.0, 1.6.0, 1.5.0, 1.4.0, 1.3.0",
		"1.3.1":   "1.5.0, 1.4.0, 1.3.0, 1.2.0, 1.1.0",
		"~> 0.1":  "1.4.0, 1.3.0, 1.2.0, 1.1.0, 1.0.0",
		"nothing": "1.7.0, 1.6.0, 1.5.0, 1.4.0, 1.3.0",
	} {
		if got := (wish{text: asked}).nearest(all); got != want {
			t.Errorf("%q: got %s, want %s", asked, got, want)
		}
	}
	if got := (wish{text: "1.0"}).nearest(all[:1]); got != "1.7.0" {
		t.Error(got)
	}
	if got := (wish{}).nearest(nil); got != "none" {
		t.Error(got)
	}
}

func TestUnavailableVersionsAreNotFound(t *testing.T) {
	r := newFixture(t, releases.New(t, tofu("1.8.0", "one"), tofu("1.9.1", "two")))
	_, err := r.Find(t.Context(), OpenTofu, "~> 3.0")
	if want := `there is no such version: no OpenTofu meets "~> 3.0"; near it are 1.9.1, 1.8.0, at ` + r.URL +
		"/opentofu"; err == nil || err.Error() != want || !errors.Is(err, ErrNoVersion) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err = r.Find(t.Context(), "Pulumi", ""); !errors.Is(err, ErrUnknownProduct) {
		t.Error(err)
	}
	if _, err = r.Get(t.Context(), "Pulumi", "1.8.0", "linux", "amd64"); !errors.Is(err, ErrUnknownProduct) {
		t.Error(err)
	}
	for _, w := range []wanted{
		{version: "1.8.5", os: "linux", arch: "amd64"}, {version: "1.8.0", os: "linux", arch: "s390x"},
	} {
		_, err := r.Get(t.Context(), OpenTofu, w.version, w.os, w.arch)
		if !errors.Is(err, ErrNoVersion) || !strings.Contains(err.Error(), "near it are 1.9.1, 1.8.0") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", w, err)
		}
	}
	for _, w := range []wanted{
		{version: "../1.8.0", os: "linux", arch: "amd64"}, {version: "", os: "linux", arch: "amd64"},
		{version: "1.8.0", os: "../linux", arch: "amd64"}, {version: "1.8.0", os: "linux", arch: "amd64.zip?"},
		{version: "1.8.0-" + strings.Repeat("a", 100), os: "linux", arch: "amd64"},
	} {
		if _, err := r.Get(t.Context(), OpenTofu, w.version, w.os, w.arch); !errors.Is(err, ErrNoVersion) ||
			errors.Is(err, errMissing) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestVersionListIsCachedForTenMinutes(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	r := newFixture(t, m)
	find := func(want string) {
		t.Helper()
		if v, err := r.Find(t.Context(), OpenTofu, ""); v != want || (err == nil) != (want != "") {
			t.Errorf("%q, %v", v, err)
		}
	}
	find("1.8.0")
	m.Write("opentofu/api.json", []byte(`{"versions":[{"id":"1.8.0"},{"id":"1.9.1"}]}`))
	r.clock = r.clock.Add(listAge - 1)
	find("1.8.0")
	r.clock = r.clock.Add(1)
	find("1.9.1")
	if n := m.Asked("opentofu/api.json"); n != 2 {
		t.Errorf("asked %d times", n)
	}

	m.Write("opentofu/api.json", []byte("<html>"))
	r.clock = r.clock.Add(listAge)
	find("")
	m.Write("opentofu/api.json", []byte(`{"versions":[{"id":"1.9.2"}]}`))
	find("") // what answered nonsense is left alone
	r.clock = r.clock.Add(listRest)
	find("1.9.2")
}

func TestWithdrawnVersionIsAvailableByExactVersion(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"), tofu("1.9.1", "two"))
	r := newFixture(t, m)
	if _, err := r.get("1.9.1"); err != nil {
		t.Fatal(err)
	}
	m.Write("opentofu/api.json", []byte(`{"versions":[{"id":"1.8.0"}]}`))
	for constraint, want := range map[string]string{"1.9.1": "1.9.1", ">= 1.8": "1.8.0"} {
		if v, err := r.Find(t.Context(), OpenTofu, constraint); v != want || err != nil {
			t.Errorf("%q: %q, %v", constraint, v, err)
		}
	}
}

func TestInvalidVersionLists(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"no list": http.NotFound,
		"a server that is broken": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		},
		"too many questions": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"a list of 100 megabytes": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"versions":[{"id":"1.8.0"}`)
			for range 100 {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
					return
				}
			}
			fmt.Fprint(w, "]}")
		},
		"a list that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"versions":[{"id":"1.8.0"}]}`)
		},
		"redirects without an end": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			r := newFixture(t, releases.New(t), func(o *Options) { o.Mirrors[OpenTofu] = server.URL })
			if v, err := r.Find(t.Context(), OpenTofu, ""); !errors.Is(err, ErrUnreachable) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%q, %v", v, err)
			}
		})
	}
	t.Run("no folder", func(t *testing.T) {
		r := newFixture(t, releases.New(t), func(o *Options) { o.Mirrors[OpenTofu] = "file:///is/not/there" })
		v, err := r.Find(t.Context(), OpenTofu, "")
		if !errors.Is(err, ErrUnreachable) || strings.Count(err.Error(), ErrUnreachable.Error()) != 1 {
			t.Errorf("%q, %v", v, err)
		}
		if _, err := r.get("1.8.0"); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%v", err)
		}
	})
}

func TestRedirectFromHTTPSToHTTPIsRejected(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	for _, test := range []struct {
		name string
		to   func(https string) string
		want error
	}{
		{"to https", func(https string) string { return https + "/elsewhere" }, nil},
		{"to http", func(string) string { return m.URL }, ErrUnreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			var server *httptest.Server
			server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if file, ok := strings.CutPrefix(r.URL.Path, "/elsewhere/"); ok {
					_, _ = w.Write(m.Read(file))
					return
				}
				http.Redirect(w, r, test.to(server.URL)+r.URL.Path, http.StatusFound)
			}))
			defer server.Close()
			r := newFixture(t, m, func(o *Options) { o.Mirrors[OpenTofu], o.Client = server.URL, server.Client() })
			if _, err := r.get("1.8.0"); !errors.Is(err, test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestInterruptedDownloadIsTransient(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	whole := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := m.Read(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if strings.HasSuffix(r.URL.Path, ".zip") && !whole {
			data = data[:50]
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	r := newFixture(t, m, func(o *Options) { o.Mirrors[OpenTofu] = server.URL })
	if _, err := r.get("1.8.0"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
	whole = true
	if p, err := r.get("1.8.0"); err != nil || r.content(p) != "one" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPasswordIsSentAndNeverReported(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	var denied bool
	m.Hold = func(r *http.Request) {
		user, password, _ := r.BasicAuth()
		denied = denied || user != "me" || password != "secret"
	}
	r := newFixture(t, m, func(o *Options) { o.Mirrors[OpenTofu] = strings.Replace(m.URL, "://", "://me:secret@", 1) })
	if _, err := r.get("1.8.0"); err != nil || denied {
		t.Errorf("%v, denied %t", err, denied)
	}
	_, missing := r.get("1.8.7")
	_, unmet := r.Find(t.Context(), OpenTofu, "> 7")
	m.Vanish()
	_, gone := r.get("1.8.8")
	for _, err := range []error{missing, unmet, gone} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// TestDownloadedEngineRuns downloads OpenTofu and starts it.
func TestDownloadedEngineRuns(t *testing.T) {
	path := program.Path(t, "tofu")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := newFixture(t, releases.New(t, releases.Release{Product: "OpenTofu", Version: "1.12.6", Program: data}))
	p, err := r.Get(t.Context(), OpenTofu, "1.12.6", runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), p.Path, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "OpenTofu v") {
		t.Errorf("%s, %v", out, err)
	}
}
