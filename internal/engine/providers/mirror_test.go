package providers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/dirhash"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/engine/providers/registrytest"
)

// fixture is a Mirror and a registry with the provider acme/cloud, which has versions 1.0.0 and 1.1.0.
type fixture struct {
	*Mirror
	t        *testing.T
	registry *registrytest.Registry
	p        Provider
	now      time.Time
	options  Options
}

const zipName = "terraform-provider-cloud_1.1.0_linux_amd64.zip"

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	w := &fixture{t: t, registry: registrytest.New(t), now: time.Now()}
	w.p = Provider{registrytest.Host, "acme", "cloud"}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		w.registry.Add("acme", "cloud", version, map[string][]byte{
			"linux_amd64": content(t, version+" amd64"), "linux_arm64": content(t, version+" arm64"),
		})
	}
	w.options = Options{Dir: t.TempDir(), Client: w.registry.Client(), Now: func() time.Time { return w.now }}
	if change != nil {
		change(&w.options)
	}
	w.reopen(nil)
	return w
}

// reopen is a new process on the same folder.
func (w *fixture) reopen(change func(*Options)) {
	w.t.Helper()
	if change != nil {
		change(&w.options)
	}
	m, err := New(w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Mirror = m
	w.t.Cleanup(m.Close)
}

func content(t *testing.T, text string) []byte {
	t.Helper()
	return registrytest.Zip(t, map[string][]byte{"terraform-provider-cloud": []byte(text), "LICENSE": []byte("free")})
}

// read gives an archive of 1.1.0.
func (w *fixture) read(arch string) ([]byte, error) {
	archive, err := w.Archive(w.t.Context(), w.p, "1.1.0", "linux", arch)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	data, err := io.ReadAll(archive)
	if sum := sha256.Sum256(data); err == nil && (archive.SHA256 != hex.EncodeToString(sum[:]) ||
		archive.Size != int64(len(data))) {
		w.t.Errorf("%s, %d bytes: not what was read", archive.SHA256, archive.Size)
	}
	return data, err
}

// files lists what is in Dir, below the provider's folder, and what is left half done.
func (w *fixture) files() []string {
	var names []string
	for _, dir := range []string{w.p.dir(), incoming} {
		entries, _ := os.ReadDir(filepath.Join(w.options.Dir, filepath.FromSlash(dir)))
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
	}
	return names
}

func (w *fixture) away() {
	w.registry.Answer(func(string, int, []byte) (int, []byte) {
		return http.StatusServiceUnavailable, []byte("secret of the host")
	})
}

func TestProviderIsDownloadedOnce(t *testing.T) {
	w := newFixture(t, nil)
	versions, err := w.Versions(t.Context(), w.p)
	if err != nil || !slices.Equal(versions, []string{"1.0.0", "1.1.0"}) {
		t.Fatal(versions, err)
	}
	amd64, arm64 := content(t, "1.1.0 amd64"), content(t, "1.1.0 arm64")
	before := Release{Signed: true, Archives: map[string]Package{
		"linux_amd64": {URL: zipName, Hashes: []string{zh(amd64)}},
		"linux_arm64": {URL: strings.Replace(zipName, "amd64", "arm64", 1), Hashes: []string{zh(arm64)}},
	}}
	if got, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || !cmp.Equal(before, got) {
		t.Fatal(err, cmp.Diff(before, got))
	}
	if w.registry.Asked(".zip") != 0 {
		t.Error("an archive was downloaded without a request")
	}
	for range 2 {
		if got, err := w.read("amd64"); err != nil || !bytes.Equal(got, amd64) {
			t.Fatal(err, got)
		}
	}
	h1 := h1(t, amd64)
	before.Archives["linux_amd64"] = Package{URL: zipName, Hashes: []string{h1, zh(amd64)}}
	if got, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || !cmp.Equal(before, got) {
		t.Error(err, cmp.Diff(before, got))
	}
	if diff := cmp.Diff([]string{"1.1.0.json", "index.json", zipName}, w.files()); diff != "" {
		t.Error(diff)
	}
	for suffix, want := range map[string]int{".zip": 1, "SHA256SUMS": 1, ".sig": 1, "/versions": 1,
		"terraform.json": 1} {
		if got := w.registry.Asked(suffix); got != want {
			t.Errorf("asked %d times for %s", got, suffix)
		}
	}
}

func zh(data []byte) string { return fmt.Sprintf("zh:%x", sha256.Sum256(data)) }

// h1 is what an engine would write into the lock file.
func h1(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := dirhash.HashZip(path, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestConcurrentCallersShareADownload(t *testing.T) {
	w := newFixture(t, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := w.read("amd64"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if w.registry.Asked(".zip") != 1 || w.registry.Asked("SHA256SUMS") != 1 || w.registry.Asked("/versions") != 1 {
		t.Error("pulled more than once")
	}
}

func TestDownloadContinuesWithoutItsCaller(t *testing.T) {
	w := newFixture(t, nil)
	asked, answer := make(chan bool), make(chan bool)
	w.registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		if strings.HasSuffix(path, ".zip") {
			asked <- true
			<-answer
		}
		return code, body
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := w.Archive(ctx, w.p, "1.1.0", "linux", "amd64")
		left <- err
	}()
	<-asked
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(answer)
	if _, err := w.read("amd64"); err != nil || w.registry.Asked(".zip") != 1 {
		t.Error(err, w.registry.Asked(".zip"))
	}
}

func TestCloseCancelsDownloadsAndWaits(t *testing.T) {
	w := newFixture(t, nil)
	asked, answer := make(chan bool), make(chan bool)
	w.registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		if strings.HasSuffix(path, ".zip") {
			close(asked)
			<-answer
		}
		return code, body
	})
	t.Cleanup(func() { close(answer) })
	ended := make(chan error)
	go func() {
		_, err := w.read("amd64")
		ended <- err
	}()
	<-asked
	w.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err := download.Do(t.Context(), w.downloads, "late", func(context.Context) (bool, error) {
		t.Error("a closed Mirror starts a download")
		return true, nil
	})
	if err == nil {
		t.Error("a closed Mirror returns no error")
	}
	if left, _ := os.ReadDir(filepath.Join(w.options.Dir, incoming)); len(left) != 0 {
		t.Error("half an archive is left")
	}
}

func TestUnverifiableArchiveIsNotStored(t *testing.T) {
	change := func(suffix string, change func([]byte) []byte) func(*registrytest.Registry) {
		return func(r *registrytest.Registry) {
			r.Answer(func(path string, code int, body []byte) (int, []byte) {
				if strings.HasSuffix(path, suffix) {
					body = change(bytes.Clone(body))
				}
				return code, body
			})
		}
	}
	replace := func(old, now string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(old), []byte(now)) }
	}
	sum := strings.TrimPrefix(zh(content(t, "1.1.0 amd64")), "zh:")
	other := strings.Repeat("a", 64)
	for name, test := range map[string]struct {
		lie  func(*registrytest.Registry)
		want string
		// asks once more, after the list of checksums was kept
		later bool
	}{
		"an archive with other bytes": {lie: change(".zip", func(b []byte) []byte {
			b[40] ^= 1
			return b
		}), want: "its checksum is"},
		"half an archive": {lie: change(".zip", func(b []byte) []byte {
			return b[:len(b)/2]
		}), want: "its checksum is"},
		"a list that was not signed": {lie: change("SHA256SUMS", replace(sum, other)), want: "signature"},
		"a signature of other content": {lie: change(".sig", func(b []byte) []byte {
			b[len(b)-1] ^= 1
			return b
		}), want: "signature"},
		"no signature": {lie: change(".sig", func([]byte) []byte {
			return nil
		}), want: "signature"},
		"a key that is none": {lie: change("amd64", replace("BEGIN PGP", "BEGIN NOT")),
			want: "public key"},
		"no key": {lie: change("amd64", replace(`"ascii_armor"`, `"x"`)), want: "key"},
		"no keys": {lie: change("amd64", replace(`"gpg_public_keys"`, `"x"`)),
			want: "names no key"},
		"a checksum that is not in the list": {lie: change("amd64", replace(sum, other)),
			want: "not the one in the list"},
		"a name that is not in the list": {lie: change("amd64", replace(`"filename":"`, `"filename":"x`)),
			want: "not the one in the list"},
		"another checksum once it was kept": {lie: change("amd64", replace(sum, other)),
			want: "not the one in the list", later: true},
		"another archive once it was kept": {lie: change(".zip", func([]byte) []byte {
			return content(t, "evil")
		}), want: "its checksum is", later: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, nil)
			if test.later {
				if _, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil {
					t.Fatal(err)
				}
			}
			test.lie(w.registry)
			_, err := w.read("amd64")
			if !errors.Is(err, ErrVerify) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
			for _, file := range w.files() {
				if file != "index.json" && file != "1.1.0.json" {
					t.Errorf("%s is kept", file)
				}
			}
		})
	}
}

func TestChangedBytesOfAVersionAreRejected(t *testing.T) {
	w := newFixture(t, nil)
	if _, err := w.read("arm64"); err != nil {
		t.Fatal(err)
	}
	w.registry.Add("acme", "cloud", "1.1.0", map[string][]byte{"linux_amd64": content(t, "evil, but signed")})
	if _, err := w.read("amd64"); !errors.Is(err, ErrVerify) {
		t.Errorf("%v", err)
	}
}

func TestUnsignedProvidersAreAcceptedFromListedRegistriesOnly(t *testing.T) {
	w := newFixture(t, func(o *Options) { o.Unsigned = []string{"registry.example.com"} })
	w.registry.Answer(func(_ string, code int, body []byte) (int, []byte) {
		return code, bytes.ReplaceAll(body, []byte(`"gpg_public_keys"`), []byte(`"no"`))
	})
	if _, err := w.Version(t.Context(), w.p, "1.1.0"); !errors.Is(err, ErrVerify) {
		t.Error(err)
	}
	w.reopen(func(o *Options) { o.Unsigned = []string{w.p.Hostname} })
	if release, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || release.Signed {
		t.Error(release, err)
	}
	if _, err := w.read("amd64"); err != nil {
		t.Error(err)
	}
	w.reopen(nil)
	if release, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil || release.Signed {
		t.Error("the unsigned release is reported as signed", release, err)
	}
	// A key that is named counts here too.
	w.registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		if strings.HasSuffix(path, ".sig") {
			body = []byte("nothing")
		}
		return code, body
	})
	if _, err := w.Version(t.Context(), w.p, "1.0.0"); !errors.Is(err, ErrVerify) {
		t.Error(err)
	}
}

func TestUnknownProvidersAreNotFound(t *testing.T) {
	w := newFixture(t, nil)
	for name, err := range map[string]error{
		"an unknown provider": second(w.Versions(t.Context(), Provider{w.p.Hostname, "acme", "none"})),
		"an unknown version":  second(w.Version(t.Context(), w.p, "9.9.9")),
		"no version":          second(w.Version(t.Context(), w.p, "../1.0.0")),
		"an unknown platform": second(w.Archive(t.Context(), w.p, "1.1.0", "plan9", "mips")),
		"no platform":         second(w.Archive(t.Context(), w.p, "1.1.0", "linux", "../amd64")),
		"no provider":         second(w.Versions(t.Context(), Provider{"example.com", "..", "x"})),
		"an archive of none":  second(w.Archive(t.Context(), w.p, "9.9.9", "linux", "amd64")),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"1.1.0.json", "index.json"}, w.files()); diff != "" {
		t.Error(diff)
	}
	w.registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		return code, bytes.ReplaceAll(body, []byte("providers.v1"), []byte("others.v1"))
	})
	w.reopen(nil)
	if _, err := w.Versions(t.Context(), Provider{w.p.Hostname, "acme", "new"}); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), "no registry of providers") {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestOnlyListedHostsAreContacted(t *testing.T) {
	w := newFixture(t, func(o *Options) { o.Hosts = []string{"registry.opentofu.org"} })
	_, err := w.Versions(t.Context(), w.p)
	_, err2 := w.Version(t.Context(), w.p, "1.1.0")
	_, err3 := w.read("amd64")
	for _, err := range []error{err, err2, err3} {
		if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "takes none from "+w.p.Hostname) {
			t.Error(err)
		}
	}
	if w.registry.Asked("") != 0 {
		t.Error("the host was asked")
	}
}

func TestCachedProvidersAreServedWhileTheRegistryIsUnavailable(t *testing.T) {
	w := newFixture(t, nil)
	if _, err := w.Versions(t.Context(), w.p); err != nil {
		t.Fatal(err)
	}
	if _, err := w.read("amd64"); err != nil {
		t.Fatal(err)
	}
	w.away()
	check := func(t *testing.T) {
		t.Helper()
		if versions, err := w.Versions(t.Context(), w.p); err != nil || len(versions) != 2 {
			t.Error(versions, err)
		}
		if data, err := w.read("amd64"); err != nil || len(data) == 0 {
			t.Error(err)
		}
		if _, err := w.read("arm64"); err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrVerify) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("want a transient failure without the secret of the host: %v", err)
		}
	}
	check(t)
	w.now = w.now.Add(time.Hour)
	check(t)
	asked := w.registry.Asked("")
	if _, err := w.Versions(t.Context(), w.p); err != nil || w.registry.Asked("") != asked {
		t.Error("a registry that is away is asked each time")
	}
	w.reopen(nil)
	check(t)
	w.registry.Answer(nil)
	w.registry.Add("acme", "cloud", "1.2.0", map[string][]byte{"linux_amd64": content(t, "1.2.0")})
	w.now = w.now.Add(time.Hour)
	if versions, err := w.Versions(t.Context(), w.p); err != nil || len(versions) != 3 {
		t.Error(versions, err)
	}
}

func TestVersionListIsCachedForMinutes(t *testing.T) {
	w := newFixture(t, nil)
	for _, step := range []struct {
		after time.Duration
		asked int
	}{{0, 1}, {4 * time.Minute, 1}, {2 * time.Minute, 2}, {4 * time.Minute, 2}} {
		w.now = w.now.Add(step.after)
		if _, err := w.Versions(t.Context(), w.p); err != nil || w.registry.Asked("/versions") != step.asked {
			t.Errorf("%v, asked %d times, not %d", err, w.registry.Asked("/versions"), step.asked)
		}
	}
}

func TestRegistriesAreContactedOverHTTPSOnly(t *testing.T) {
	plain := func(path, location string) func(string, int, []byte) (int, []byte) {
		return func(asked string, code int, body []byte) (int, []byte) {
			if strings.HasSuffix(asked, path) {
				return http.StatusFound, []byte(location)
			}
			return code, body
		}
	}
	rewrite := func(old, now string) func(string, int, []byte) (int, []byte) {
		return func(_ string, code int, body []byte) (int, []byte) {
			return code, bytes.ReplaceAll(body, []byte(old), []byte(now))
		}
	}
	for name, test := range map[string]struct {
		answer func(string, int, []byte) (int, []byte)
		want   string
	}{
		"a redirect": {plain(".zip", "http://127.0.0.1:1/x.zip"), "a redirect to what is not https"},
		"a loop":     {plain(".zip", "/files/again.zip"), "too many redirects"},
		"a service": {rewrite(`"providers.v1":"/`, `"providers.v1":"http://127.0.0.1:1/`),
			"only https is followed"},
		"an archive": {rewrite(`"download_url":"/`, `"download_url":"http://127.0.0.1:1/`),
			"only https is followed"},
		"a list": {rewrite(`"shasums_url":"/`, `"shasums_url":"file:///`), "only https is followed"},
		"a signature": {rewrite(`"shasums_signature_url":"/`, `"shasums_signature_url":"ftp://x/`),
			"only https is followed"},
		"other platforms": {rewrite(`"arch":"amd64"`, `"arch":"arm64"`), "another platform"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, nil)
			w.registry.Answer(test.answer)
			if _, err := w.read("amd64"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// endless is a registry whose answers do not end.
type endless struct{ http.RoundTripper }

func (e endless) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := e.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/versions") {
		answer.Body, answer.ContentLength = io.NopCloser(zeros{}), -1
	}
	if err == nil && strings.HasSuffix(r.URL.Path, "amd64.zip") {
		answer.ContentLength = largestArchive + 1
	}
	if err == nil && strings.HasSuffix(r.URL.Path, "arm64.zip") {
		answer.ContentLength = -1
	}
	return answer, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

func TestSizeOfResponsesIsLimited(t *testing.T) {
	w := newFixture(t, nil)
	if _, err := w.Version(t.Context(), w.p, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	w.reopen(func(o *Options) { o.Client.Transport = endless{o.Client.Transport}; o.Dir = w.options.Dir })
	if _, err := w.read("amd64"); err == nil || !strings.Contains(err.Error(), "is larger than 2147483648 bytes") {
		t.Error(err)
	}
	w.Mirror.registry.largest = 10
	if _, err := w.read("arm64"); err == nil || !strings.Contains(err.Error(), "is larger than 10 bytes") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(w.options.Dir, w.p.dir(), indexFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Versions(t.Context(), w.p); err == nil ||
		!strings.Contains(err.Error(), "is larger than 8388608 bytes") {
		t.Error(err)
	}
}

func TestErrorOmitsTheQueryOfAURL(t *testing.T) {
	u, err := url.Parse("https://cdn.example.com/x.zip?signature=secret")
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry(Options{Client: &http.Client{Transport: refusing{}}})
	if _, _, err := r.get(t.Context(), u); err == nil || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "cdn.example.com/x.zip") {
		t.Error(err)
	}
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }

// The failure must not take minutes.
func TestUnresponsiveRegistryIsReportedWithinTheTimeout(t *testing.T) {
	r := newRegistry(Options{})
	if own, ok := r.client.Transport.(*egress.Transport); !ok || own.Direct.ResponseHeaderTimeout != download.Answer ||
		own.Proxied.TLSHandshakeTimeout != download.Answer {
		t.Errorf("it is asked for longer: %+v", own)
	}
}
