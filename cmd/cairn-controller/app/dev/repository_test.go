package dev

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRepositoryIsForCairnAndTheUserAlone checks that it is fetched with the password only, is pushed in its directory only, and is
// kept by the next start.
func TestRepositoryIsForCairnAndTheUserAlone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "git")
	r, err := newRepository(t.Context(), folder, "infra", fstest.MapFS{"web/main.tf": {Data: []byte("# first\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, r.dir} {
		if about, err := os.Stat(path); err != nil || path == folder && about.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v (%v)", path, about.Mode(), err)
		}
	}
	for name, with := range map[string]*url.Userinfo{
		"no password": nil, "another password": url.UserPassword(repositoryUser, "x"), "another user": url.UserPassword("x", r.password),
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/info/refs?service=git-upload-pack", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.URL.User = with
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v (%v)", name, answer, err)
		}
	}
	if err := r.push(t.Context(), "web/main.tf", "# second\n", "Change it"); err != nil {
		t.Fatal(err)
	}

	remote, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	remote.User = url.UserPassword(repositoryUser, r.password)
	clone := filepath.Join(t.TempDir(), "clone")
	if _, err := git(t.Context(), folder, "clone", "--quiet", remote.String(), clone); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(clone, "web/main.tf")); string(got) != "# second\n" {
		t.Errorf("the clone has %q (%v)", got, err)
	}
	for _, args := range [][]string{{"commit", "--quiet", "--allow-empty", "--message=x"}, {"push", "--quiet"}} {
		_, err = git(t.Context(), clone, args...)
	}
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a push over HTTP: %v", err)
	}

	again, err := newRepository(t.Context(), folder, "infra", fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	if log, err := git(t.Context(), again.dir, "log", "--format=%s"); log != "Change it\nTwo servers" {
		t.Errorf("the next start has the commits %q (%v)", log, err)
	}
}
