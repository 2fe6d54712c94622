//go:build e2e

package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/dev/tools"
)

const version = "0.0.1-test.1"

// registry starts a registry on this machine, and returns its address.
func registry(t *testing.T) string {
	t.Helper()
	address, err := ports.Free(t.Context(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: "+
		"{addr: %q}\n", dir, address)
	if err := os.WriteFile(dir+"/config.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "docker-registry", "serve", dir+"/config.yaml")
	var stderr bytes.Buffer // it has an error for each blob that is requested before it is pushed
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of the registry:\n%s", &stderr)
		}
	})
	wait, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if answer, err := http.Get("http://" + address + "/v2/"); err == nil {
			answer.Body.Close()
			return address
		}
		select {
		case <-tick.C:
		case <-wait.Done():
			t.Fatal("the registry does not respond")
		}
	}
}

func release(t *testing.T, dir, to string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../tools/images/release", to, dir)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestReleaseRequiresVersion(t *testing.T) {
	for _, version := range []string{"latest", "v1", "v1.2.3+dirty", "1.2.3 4"} {
		if out, err := release(t, t.TempDir(), "127.0.0.1:1", "VERSION="+version); err == nil ||
			!strings.Contains(out, "no tag such as v1.2.3") {
			t.Errorf("%q: %s, %v", version, out, err)
		}
	}
}

// A release goes from this checkout to a registry on this machine, and is downloaded from there as users do.
func TestReleaseCanBeDownloadedFromRegistry(t *testing.T) {
	address, dir, k := registry(t), t.TempDir(), newKey(t)
	if out, err := release(t, dir, address, append(k.env, "VERSION=v"+version, "BASES=local",
		"PLAIN_HTTP=1")...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := filepath.Join(dir, "files")
	for _, name := range []string{"cairn", "cairn-tools"} {
		checkIndex(t, address, files, name)
		for _, arch := range []string{"amd64", "arm64"} {
			i := open(t, filepath.Join(dir, arch, name+".tar"))
			if c := i.config(); c.Architecture != arch || c.Config.Labels["org.opencontainers.image.version"] != "v"+
				version {
				t.Errorf("%s for %s: %+v", name, arch, c)
			}
			i.hasLibraries()
			if name == "cairn" {
				i.noShell()
			}
			checkSBOM(t, filepath.Join(files, fmt.Sprintf("%s-%s-linux-%s.spdx.json", name, version, arch)), address+
				"/"+name, contents[name]...)
		}
	}
	platforms := []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64",
		"windows/arm64"}
	checkCommandLine(t, files, platforms...)
	for _, platform := range platforms {
		for name, module := range map[string]string{"cairn-cli": "cairn.dev/cairn",
			"cairn-migrate": "cairn.dev/cairn/migrate"} {
			file := fmt.Sprintf("%s-%s-%s.spdx.json", name, version, strings.ReplaceAll(platform, "/", "-"))
			checkSBOM(t, filepath.Join(files, file), name, "stdlib", module, "github.com/spf13/cobra")
		}
	}
	checkChart(t, address, files)
	checkManifest(t, files)
	checkSums(t, files)
	checkSignatures(t, k, files)
}

// checkIndex checks that an index has an image for each architecture.
func checkIndex(t *testing.T, address, files, name string) {
	t.Helper()
	reference := address + "/" + name + ":" + version
	raw := run(t, "skopeo", "inspect", "--raw", "--tls-verify=false", "docker://"+reference)
	var index struct {
		MediaType string
		Manifests []struct {
			Platform struct{ OS, Architecture string }
		}
	}
	if err := json.Unmarshal([]byte(raw), &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Manifests) != 2 || !strings.Contains(index.MediaType, "image.index") &&
		!strings.Contains(index.MediaType, "manifest.list") {
		t.Errorf("%s is %s", reference, raw)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		var c config
		if err := json.Unmarshal([]byte(run(t, "skopeo", "--override-arch", arch, "inspect", "--config",
			"--tls-verify=false", "docker://"+reference)), &c); err != nil {
			t.Fatal(err)
		}
		if c.Architecture != arch {
			t.Errorf("%s resolves for %s to the image for %s", reference, arch, c.Architecture)
		}
	}
	sum := sha256.Sum256([]byte(raw))
	list, err := os.ReadFile(filepath.Join(files, "images.txt"))
	if want := reference + "@sha256:" + hex.EncodeToString(sum[:]) + "\n"; err != nil ||
		!strings.Contains(string(list), want) {
		t.Errorf("images.txt is %s, %v; want %s in it", list, err, want)
	}
}

// contents are Debian packages and Go modules in the images.
var contents = map[string][]string{
	"cairn": {
		"git", "openssh-client", "libc6", "tzdata", "stdlib", "cairn.dev/cairn", "cairn.dev/cairn/migrate",
		"sigs.k8s.io/controller-runtime",
	},
	"cairn-tools": {"git", "openssh-client", "libc6", "bash", "curl", "jq", "stdlib", "github.com/opentofu/opentofu"},
}

// checkSBOM checks that an SBOM has packages.
func checkSBOM(t *testing.T, file, source string, wants ...string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var sbom struct {
		SPDXVersion string
		Name        string
		Packages    []struct{ Name string }
	}
	if err := json.Unmarshal(data, &sbom); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(sbom.SPDXVersion, "SPDX-2") || sbom.Name != source {
		t.Errorf("%s is of %s, %s", file, sbom.Name, sbom.SPDXVersion)
	}
	has := map[string]bool{}
	for _, p := range sbom.Packages {
		has[p.Name] = true
	}
	for _, want := range wants {
		if !has[want] {
			t.Errorf("%s, of %d packages, does not have %s", file, len(has), want)
		}
	}
	for _, dir := range []string{os.TempDir(), "/root/", "/home/"} {
		if strings.Contains(string(data), `"`+dir) {
			t.Errorf("%s contains path %s of this machine", file, dir)
		}
	}
}

func checkChart(t *testing.T, address, files string) {
	t.Helper()
	helm, err := tools.Path("helm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	reference := "oci://" + address + "/charts/cairn"
	shown := run(t, helm, "show", "chart", reference, "--version", version, "--plain-http")
	for _, want := range []string{"\nversion: " + version, "\nappVersion: " + version} {
		if !strings.Contains("\n"+shown, want) {
			t.Errorf("the chart has no%s: %s", want, shown)
		}
	}
	run(t, helm, "pull", reference, "--version", version, "--plain-http", "--destination", dir)
	name := "cairn-" + version + ".tgz"
	pulled, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if built, err := os.ReadFile(filepath.Join(files, name)); err != nil || string(built) != string(pulled) {
		t.Errorf("the pulled chart differs from the built one: %v", err)
	}
	rendered := run(t, helm, "template", "cairn", filepath.Join(dir, name))
	for _, want := range pinned(t, files) {
		if !strings.Contains(rendered, want) {
			t.Errorf("the chart does not name %s", want)
		}
	}
}

// pushed are the references in files of a release, by their digests and without their tags.
func pushed(t *testing.T, files string, lists ...string) (references []string) {
	t.Helper()
	for _, list := range lists {
		data, err := os.ReadFile(filepath.Join(files, list))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Fields(string(data)) {
			tagged, digest, _ := strings.Cut(line, "@")
			references = append(references, strings.TrimSuffix(tagged, ":"+version)+"@"+digest)
		}
	}
	return references
}

// pinned are the images of the release as the chart names them: by the digests of the indexes that the registry has
// now.
func pinned(t *testing.T, files string) []string {
	t.Helper()
	names := pushed(t, files, "images.txt")
	if len(names) != 2 {
		t.Fatalf("images.txt has %q", names)
	}
	return names
}

func checkManifest(t *testing.T, files string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(files, "cairn.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append(pinned(t, files), "kind: Namespace\n", "kind: CustomResourceDefinition\n",
		"kind: Deployment\n") {
		if !strings.Contains(string(data), want) {
			t.Errorf("cairn.yaml has no %q", want)
		}
	}
}

func checkSums(t *testing.T, files string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	cmd.Dir = files
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), ": OK\n") != 21 {
		t.Errorf("%v\n%s", err, out)
	}
}
