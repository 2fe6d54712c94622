// Package releases makes mirrors of engines for tests: signed, over HTTP and as a folder at the same time. It knows the
// names of files by heart, and not from the code that it is a test for.
package releases

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Release is one program of a mirror.
type Release struct {
	// Product: OpenTofu, Terraform or Terragrunt.
	Product string
	// Version without a v.
	Version string
	// OS and Arch as Go names them; empty is this machine's.
	OS, Arch string
	// Program is the content of the program.
	Program []byte
}

// Mirror has releases. Its files may be changed at any time; what goes with them is told by Sign.
type Mirror struct {
	// URL of the mirror over HTTP.
	URL string
	// Folder is the same mirror as file:// and a path.
	Folder string
	// Dir is where its files are.
	Dir string
	// Key is the armored public key that its releases are signed with.
	Key string
	// Fingerprint is that of Key: all of it, in upper-case hex.
	Fingerprint string
	// Hold, when it is set before the first request, is called in each one before it is answered.
	Hold func(*http.Request)

	t      testing.TB
	signer *openpgp.Entity
	server *httptest.Server
	mu     sync.Mutex
	asked  map[string]int
}

// New makes a mirror that lives as long as the test. Releases of the same version go into the same folder.
func New(t testing.TB, all ...Release) *Mirror {
	t.Helper()
	m := &Mirror{Dir: t.TempDir(), t: t, asked: map[string]int{}}
	m.Folder = "file://" + filepath.ToSlash(m.Dir)
	m.SignWithAnotherKey()
	versions := map[string][]string{}
	for _, r := range all {
		m.add(r)
		versions[r.Product] = append(versions[r.Product], r.Version)
	}
	for product, names := range versions {
		m.index(product, names)
	}
	files := http.FileServer(http.Dir(m.Dir))
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.asked[strings.TrimPrefix(r.URL.Path, "/")]++
		m.mu.Unlock()
		if m.Hold != nil {
			m.Hold(r)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(m.server.Close)
	m.URL = m.server.URL
	return m
}

// Vanish ends the mirror over HTTP. Its folder stays.
func (m *Mirror) Vanish() { m.server.Close() }

// Asked is how often a file was asked for over HTTP. Example: opentofu/1.9.0/tofu_1.9.0_SHA256SUMS.
func (m *Mirror) Asked(file string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[file]
}

// SignWithAnotherKey makes a key for what is signed from now on.
func (m *Mirror) SignWithAnotherKey() {
	m.t.Helper()
	var err error
	if m.signer, err = openpgp.NewEntity("Maker", "", "maker@example.com",
		&packet.Config{Algorithm: packet.PubKeyAlgoEdDSA}); err != nil {
		m.t.Fatal(err)
	}
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(m.signer.Serialize(w), w.Close())
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.Key, m.Fingerprint = text.String(), fmt.Sprintf("%X", m.signer.PrimaryKey.Fingerprint)
}

// Sign signs the list of checksums of a version as it is now.
func (m *Mirror) Sign(product, version string) {
	m.t.Helper()
	n := namesOf(m.t, product, version)
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, m.signer, bytes.NewReader(m.Read(n.sums)), nil); err != nil {
		m.t.Fatal(err)
	}
	m.Write(n.signature, signature.Bytes())
}

// Write writes a file below Dir.
func (m *Mirror) Write(file string, data []byte) {
	m.t.Helper()
	path := filepath.Join(m.Dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil { //nolint:gosec // names that the test chose
		m.t.Fatal(err)
	}
}

// Read reads a file below Dir.
func (m *Mirror) Read(file string) []byte {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(file)))
	if err != nil {
		m.t.Fatal(err)
	}
	return data
}

// Remove removes a file below Dir, or a folder with all that is in it.
func (m *Mirror) Remove(file string) {
	m.t.Helper()
	if err := os.RemoveAll(filepath.Join(m.Dir, filepath.FromSlash(file))); err != nil {
		m.t.Fatal(err)
	}
}

// names are those of one version's files, below Dir.
type names struct{ folder, sums, signature string }

func namesOf(t testing.TB, product, version string) names {
	t.Helper()
	switch product {
	case "OpenTofu":
		at := "opentofu/" + version + "/tofu_" + version
		return names{"opentofu", at + "_SHA256SUMS", at + "_SHA256SUMS.gpgsig"}
	case "Terraform":
		at := "terraform/" + version + "/terraform_" + version
		return names{"terraform", at + "_SHA256SUMS", at + "_SHA256SUMS.72D7468F.sig"}
	case "Terragrunt":
		at := "terragrunt/" + version + "/"
		return names{"terragrunt", at + "SHA256SUMS", at + "SHA256SUMS.gpgsig"}
	}
	t.Fatalf("there is no %s", product)
	return names{}
}

// add writes a release's file, its line in the list of checksums, and the signature.
func (m *Mirror) add(r Release) {
	m.t.Helper()
	if r.OS == "" {
		r.OS = runtime.GOOS
	}
	if r.Arch == "" {
		r.Arch = runtime.GOARCH
	}
	var file string
	data := r.Program
	switch r.Product {
	case "OpenTofu":
		file, data = fmt.Sprintf("tofu_%s_%s_%s.zip", r.Version, r.OS, r.Arch), Zip(m.t, "tofu", r.Program)
	case "Terraform":
		file, data = fmt.Sprintf("terraform_%s_%s_%s.zip", r.Version, r.OS, r.Arch), Zip(m.t, "terraform", r.Program)
	case "Terragrunt":
		file = fmt.Sprintf("terragrunt_%s_%s", r.OS, r.Arch)
	}
	n := namesOf(m.t, r.Product, r.Version)
	m.Write(n.folder+"/"+r.Version+"/"+file, data)
	sums, err := os.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(n.sums)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	m.Write(n.sums, fmt.Appendf(sums, "%x  %s\n", sha256.Sum256(data), file))
	m.Sign(r.Product, r.Version)
}

// index writes the list of versions: OpenTofu's in its maker's layout, the others' in HashiCorp's.
func (m *Mirror) index(product string, versions []string) {
	m.t.Helper()
	type id struct {
		ID string `json:"id"`
	}
	var ids []id
	byVersion := map[string]any{}
	for _, v := range versions {
		ids, byVersion[v] = append(ids, id{v}), map[string]string{"version": v}
	}
	file, list := "index.json", any(byVersion)
	if product == "OpenTofu" {
		file, list = "api.json", ids
	}
	data, err := json.Marshal(map[string]any{"versions": list})
	if err != nil {
		m.t.Fatal(err)
	}
	m.Write(strings.ToLower(product)+"/"+file, data)
}

// Zip makes an archive as makers do: the program and a text beside it. It is not compressed, which is quick for a real
// engine.
func Zip(t testing.TB, program string, content []byte) []byte {
	t.Helper()
	var data bytes.Buffer
	z := zip.NewWriter(&data)
	for name, content := range map[string][]byte{"LICENSE": []byte("Use it."), program: content} {
		header := &zip.FileHeader{Name: name, Method: zip.Store}
		header.SetMode(0o755)
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}
