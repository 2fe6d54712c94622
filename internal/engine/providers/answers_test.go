package providers

import (
	"encoding/json"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

// A registry is whatever code names, and says how much there is of a provider, and of how many.
func TestMemoryOfVersionListsIsLimited(t *testing.T) {
	w := newFixture(t, nil)
	var many struct {
		Versions []map[string]any `json:"versions"`
	}
	for i := range 50_000 {
		many.Versions = append(many.Versions, map[string]any{"version": fmt.Sprintf("1.0.%d", i),
			"platforms": []any{map[string]string{"os": "linux", "arch": "amd64"}}})
	}
	text, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	w.registry.Answer(func(path string, code int, body []byte) (int, []byte) {
		if strings.HasSuffix(path, "/versions") {
			return 200, text
		}
		return code, body
	})
	before := heap()
	const lists = 12
	for i := range lists {
		if _, err := w.Versions(t.Context(), Provider{w.p.Hostname, "acme", fmt.Sprintf("cloud%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if took := heap() - before; took > mostLists+mostLists/4 {
		t.Errorf("%d lists take %d MiB", lists, took>>20)
	}
	runtime.KeepAlive(w.Mirror)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestNumberOfValuesOfARegistryResponseIsLimited(t *testing.T) {
	if _, err := parseVersions([]byte(`{"versions":[` + strings.Repeat("{},", 1<<20) + `{}]}`)); err == nil ||
		!strings.Contains(err.Error(), "more than 400000 values") {
		t.Errorf("got %v", err)
	}
}

func TestLengthOfRegistryURLsIsLimited(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "registry.example.com"}
	if _, err := resolve(base, "/"+strings.Repeat("a", longestURL)); err == nil {
		t.Error("it is taken")
	}
	if _, err := resolve(base, "/"+strings.Repeat("a", longestURL-1)); err != nil {
		t.Error(err)
	}
}
