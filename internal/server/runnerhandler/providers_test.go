package runnerhandler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine/providers"
	"cairn.dev/cairn/internal/engine/providers/registrytest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// mirrorServer serves a mirror of a registry that has acme/cloud 1.1.0, and nothing else.
func mirrorServer(t *testing.T, from *providers.Mirror) string {
	t.Helper()
	s := New(Options{Log: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.Handle("GET /v1/providers/{hostname}/{namespace}/{type}/{file}",
		s.answer(httpapi.ShortTimeout, func(w http.ResponseWriter, r *http.Request) (Caller, error) {
			return Caller{}, provider(from)(w, r, Caller{})
		}))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web.URL + "/v1/providers/"
}

func get(t *testing.T, url string) (code int, kind, body string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(data)
}

func TestProviderMirrorImplementsTheEnginesProtocol(t *testing.T) {
	registry := registrytest.New(t)
	archive := registrytest.Zip(t, map[string][]byte{"terraform-provider-cloud": []byte("program")})
	registry.Add("acme", "cloud", "1.1.0", map[string][]byte{"linux_amd64": archive})
	mirror, err := providers.New(providers.Options{Dir: t.TempDir(), Client: registry.Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mirror.Close)
	base := mirrorServer(t, mirror) + registrytest.Host + "/acme/cloud/"

	code, kind, body := get(t, base+"index.json")
	if code != 200 || kind != "application/json" || body != `{"versions":{"1.1.0":{}}}` {
		t.Error(code, kind, body)
	}
	code, kind, body = get(t, base+"1.1.0.json")
	var release providers.Release
	if err := json.Unmarshal([]byte(body), &release); err != nil || code != 200 || kind != "application/json" {
		t.Fatal(code, kind, body, err)
	}
	code, kind, body = get(t, base+release.Archives["linux_amd64"].URL)
	if code != 200 || kind != "application/zip" || body != string(archive) {
		t.Error(code, kind, len(body))
	}
	for path, want := range map[string]string{
		"9.9.9.json": "not in the mirror", "x.json": "is no version", "x": "is no archive",
		"..%2findex.json": "is no version",
		"terraform-provider-cloud_9.9.9_linux_amd64.zip": "not in the mirror",
		"terraform-provider-other_1.1.0_linux_amd64.zip": "is no archive",
		"../other/index.json":                            "not in the mirror",
		"../../acme_/cloud/index.json":                   "is no address of a provider",
	} {
		if code, _, body := get(t, base+path); code != 404 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		if strings.HasSuffix(path, "versions") {
			return http.StatusInternalServerError, nil
		}
		return code, append(body, ' ')
	})
	registry.Add("acme", "new", "1.0.0", map[string][]byte{"linux_amd64": archive})
	if code, _, body := get(t, base+"../new/index.json"); code != 503 || !strings.Contains(body, "answers 500") {
		t.Error(code, body)
	}
}

func TestProviderMirrorErrors(t *testing.T) {
	if code, _, body := get(t, mirrorServer(t, nil)+"example.com/acme/cloud/index.json"); code != 404 ||
		!strings.Contains(body, "no mirror of providers") {
		t.Error(code, body)
	}
	for _, test := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("acme: %w", providers.ErrNotFound), 404},
		{fmt.Errorf("acme: %w: bad", providers.ErrVerify), 424},
		{errors.New("acme: the registry is unavailable"), 503},
	} {
		code, text := httpapi.StatusOf(providerError(test.err))
		if code != test.code || text != test.err.Error() {
			t.Errorf("%v: %d %s", test.err, code, text)
		}
	}
	if providerError(nil) != nil {
		t.Error("nothing is refused")
	}
}

// A runner receives the progress, and an error while the registry is unavailable. An engine receives only errors.
func TestRunnerReceivesProviderDownloadProgress(t *testing.T) {
	registry := registrytest.New(t)
	archive := registrytest.Zip(t, map[string][]byte{"terraform-provider-cloud": []byte("program")})
	registry.Add("acme", "cloud", "1.1.0", map[string][]byte{"linux_amd64": archive})
	goesOn := make(chan struct{})
	registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		if strings.HasSuffix(path, ".zip") {
			<-goesOn
		}
		return code, body
	})
	mirror, err := providers.New(providers.Options{Dir: t.TempDir(), Client: registry.Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mirror.Close)
	base := mirrorServer(t, mirror) + registrytest.Host + "/acme/cloud/"
	progress := func(file string) runnerapi.Download {
		t.Helper()
		code, _, body := get(t, base+file+"?wait=200ms")
		var d runnerapi.Download
		if err := json.Unmarshal([]byte(body), &d); err != nil || code != http.StatusAccepted {
			t.Fatal(code, body)
		}
		return d
	}
	const file = "terraform-provider-cloud_1.1.0_linux_amd64.zip"
	if code, _, body := get(t, base+"1.1.0.json?wait=1m"); code != 200 {
		t.Fatal(code, body)
	}
	d := progress(file)
	if d.What != registrytest.Host+"/acme/cloud 1.1.0" || !strings.HasPrefix(d.From, "https://"+registrytest.Host) ||
		d.Unreachable != "" {
		t.Errorf("%+v", d)
	}
	close(goesOn)
	if code, _, body := get(t, base+file+"?wait=1m"); code != 200 || body != string(archive) {
		t.Error(code, len(body))
	}
	registry.Answer(func(string, int, []byte) (int, []byte) { return http.StatusBadGateway, nil })
	if d := progress("../other/index.json"); !strings.Contains(d.Unreachable, registrytest.Host) ||
		!strings.Contains(d.Unreachable, "answers 502") {
		t.Errorf("%+v", d)
	}
	if code, _, body := get(t, base+"../other/index.json"); code != 503 || !strings.Contains(body, "answers 502") {
		t.Error(code, body)
	}
}
