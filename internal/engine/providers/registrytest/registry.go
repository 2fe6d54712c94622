// Package registrytest is a registry of providers for tests, over TLS, with packages that are signed.
package registrytest

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Registry is one.
type Registry struct {
	tb     testing.TB
	server *httptest.Server
	maker  *openpgp.Entity
	key    string

	mu     sync.Mutex
	change func(path string, code int, body []byte) (int, []byte)
	files  map[string][]byte
	asked  map[string]int
}

// New starts a registry without providers, for as long as the test runs.
func New(tb testing.TB) *Registry {
	tb.Helper()
	maker, err := openpgp.NewEntity("maker", "", "maker@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		tb.Fatal(err)
	}
	r := &Registry{tb: tb, maker: maker, files: map[string][]byte{}, asked: map[string]int{}}
	var key bytes.Buffer
	w, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if err := maker.Serialize(w); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	r.key = key.String()
	r.put("/.well-known/terraform.json", []byte(`{"modules.v1":"/m/","providers.v1":"/api/providers/"}`))
	r.server = httptest.NewTLSServer(http.HandlerFunc(r.serve))
	tb.Cleanup(r.server.Close)
	return r
}

// Host is a name for the registry. It has no port: of such registries engines can take nothing from a mirror.
const Host = "example.com"

// Client takes every host for the registry, and trusts it.
func (r *Registry) Client() *http.Client {
	client := *r.server.Client()
	transport := client.Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", r.server.Listener.Addr().String())
	}
	transport.TLSClientConfig.ServerName = Host // the name in its certificate
	client.Transport = transport
	r.tb.Cleanup(transport.CloseIdleConnections)
	return &client
}

// Asked returns how many requests there were for paths that end so.
func (r *Registry) Asked(suffix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for path, times := range r.asked {
		if strings.HasSuffix(path, suffix) {
			all += times
		}
	}
	return all
}

// Add publishes a version of a provider: a zip for each platform. Adding it again is what no registry should do.
func (r *Registry) Add(namespace, typ, version string, archives map[string][]byte) {
	r.tb.Helper()
	base := "/api/providers/" + namespace + "/" + typ + "/"
	prefix := "terraform-provider-" + typ + "_" + version + "_"
	files := "/files/" + namespace + "/"
	var sums strings.Builder
	var platforms []map[string]string
	for platform, archive := range archives {
		os, arch, _ := strings.Cut(platform, "_")
		platforms = append(platforms, map[string]string{"os": os, "arch": arch})
		fmt.Fprintf(&sums, "%x  %s%s.zip\n", sha256.Sum256(archive), prefix, platform)
		r.put(files+prefix+platform+".zip", archive)
		r.putJSON(base+version+"/download/"+os+"/"+arch, map[string]any{
			"protocols": []string{"5.0"}, "os": os, "arch": arch, "filename": prefix + platform + ".zip",
			"download_url": files + prefix + platform + ".zip", "shasum": fmt.Sprintf("%x", sha256.Sum256(archive)),
			"shasums_url": files + prefix + "SHA256SUMS", "shasums_signature_url": files + prefix + "SHA256SUMS.sig",
			"signing_keys": map[string]any{
				"gpg_public_keys": []map[string]string{{"key_id": "x", "ascii_armor": r.key}}},
		})
	}
	fmt.Fprintf(&sums, "%x  %smanifest.json\n", sha256.Sum256(nil), prefix)
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, r.maker, strings.NewReader(sums.String()), nil); err != nil {
		r.tb.Fatal(err)
	}
	r.put(files+prefix+"SHA256SUMS", []byte(sums.String()))
	r.put(files+prefix+"SHA256SUMS.sig", signature.Bytes())

	r.mu.Lock()
	var list struct {
		Versions []map[string]any `json:"versions"`
	}
	if before := r.files[base+"versions"]; before != nil {
		if err := json.Unmarshal(before, &list); err != nil {
			r.tb.Fatal(err)
		}
	}
	r.mu.Unlock()
	list.Versions = slices.DeleteFunc(list.Versions, func(v map[string]any) bool { return v["version"] == version })
	list.Versions = append(list.Versions, map[string]any{"version": version, "protocols": []string{"5.0"},
		"platforms": platforms})
	r.putJSON(base+"versions", list)
}

// Zip returns an archive of files.
func Zip(tb testing.TB, files map[string][]byte) []byte {
	tb.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Store}
		header.SetMode(0o755)
		f, err := w.CreateHeader(header)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write(files[name]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

func (r *Registry) putJSON(path string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.put(path, data)
}

func (r *Registry) put(path string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[path] = data
}

func (r *Registry) serve(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.asked[q.URL.Path]++
	data, ok := r.files[path.Clean(q.URL.Path)]
	change := r.change
	r.mu.Unlock()
	code := http.StatusOK
	if !ok {
		code = http.StatusNotFound
	}
	if change != nil {
		code, data = change(q.URL.Path, code, data)
	}
	if code/100 == 3 {
		w.Header().Set("Location", string(data))
	}
	w.WriteHeader(code)
	_, _ = w.Write(data) // who is gone needs none
}

// Answer changes answers before they are sent, status and body, by path; nil leaves them as they are.
func (r *Registry) Answer(change func(path string, code int, body []byte) (int, []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change = change
}
