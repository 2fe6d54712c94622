package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/providers"
)

// mountImage puts a provider into a pod as an image volume would, unpacked, and returns the checksum of its files.
func (p *pod) mountImage(t *testing.T, version string) (h1 string) {
	t.Helper()
	dir := filepath.Join(p.inputs, "providers", "00", timeHost, "hashicorp", "time", version, "linux_"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(bin(t), "terraform-provider-time"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "terraform-provider-time_v"+version), program, 0o755); err != nil {
		t.Fatal(err)
	}
	h1, err = dirhash.HashDir(dir, "", dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	return h1
}

func TestProvidersOfImages(t *testing.T) {
	t.Parallel()
	registry := newTimeRegistry(t)
	registry.Add("hashicorp", "time", "0.15.0", timeProvider(t, "newer"))
	release, err := newMirror(t, registry, providers.Options{}).Version(t.Context(),
		providers.Provider{Hostname: timeHost, Namespace: "hashicorp", Type: "time"}, "0.14.2")
	if err != nil {
		t.Fatal(err)
	}
	hashes := release.Archives["linux_"+runtime.GOARCH].Hashes
	zip := hashes[slices.IndexFunc(hashes, func(hash string) bool { return strings.HasPrefix(hash, "zh:") })]
	advice := "run tofu providers lock -platform=linux_" + runtime.GOARCH + " and commit"
	const elsewhere = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" // of another platform
	for name, test := range map[string]struct {
		image string
		// lock returns the checksums of version 0.14.2 in the lock file; nil is no lock file.
		lock func(h1 string) []string
		// mirror: the server has one.
		mirror bool
		// linked: the engine used the image; requests: it sent some to the server's mirror.
		linked, requests bool
		version          string
		// advised: the log says how to use the image.
		advised bool
	}{
		"pinned": {image: "0.14.2", lock: func(h1 string) []string {
			return []string{elsewhere, h1}
		}, mirror: true, linked: true, version: "0.14.2"},
		"pinned, without a mirror": {image: "0.14.2", lock: func(h1 string) []string {
			return []string{h1}
		}, linked: true, version: "0.14.2"},
		"pinned by an archive alone": {image: "0.14.2", lock: func(string) []string {
			return []string{zip}
		}, mirror: true, requests: true, version: "0.14.2", advised: true},
		"pinned on another platform": {image: "0.14.2", lock: func(string) []string {
			return []string{elsewhere, zip}
		}, mirror: true, requests: true, version: "0.14.2", advised: true},
		"pinned to another version": {image: "0.15.0", lock: func(string) []string {
			return []string{zip}
		}, mirror: true, requests: true, version: "0.14.2"},
		"not pinned": {image: "0.14.2", mirror: true, requests: true, version: "0.15.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			s.mirror(newMirror(t, registry, providers.Options{}))
			p := startPod(t, s, nil)
			h1 := p.mountImage(t, test.image)
			files := []entry{file("main.tf", clock())}
			if test.lock != nil {
				files = append(files,
					file(engine.LockFile, fmt.Sprintf("provider %q {\n  version = \"0.14.2\"\n  hashes = [\"%s\"]\n}\n",
						timeHost+"/hashicorp/time", strings.Join(test.lock(h1), `", "`))))
			}
			order := s.planProviders(1, files...)
			order.Providers = test.mirror
			s.orders <- order
			close(s.orders)
			if err := p.wait(); err != nil {
				t.Fatal(err)
			}
			report, log := s.done(1), string(s.logs[1])
			if steps(report) != "fetch= init= plan=" || !strings.Contains(log, "hashicorp/time v"+test.version) ||
				strings.Contains(log, advice) != test.advised {
				t.Fatalf("%s %+v\n%s", steps(report), report.Done.Failure, log)
			}
			if asked := s.sent("/v1/providers/"); (asked > 0) != test.requests {
				t.Errorf("the server got %d requests for providers", asked)
			}
			if zips := s.sent(".zip"); (zips == 0) != test.linked {
				t.Errorf("the server got %d requests for archives", zips)
			}
		})
	}
}

// sent is how many requests were sent for paths with a text.
func (s *testServer) sent(path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.Contains(r, path) {
			n++
		}
	}
	return n
}
