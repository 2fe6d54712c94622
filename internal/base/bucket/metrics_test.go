package bucket

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestMetricsCountRequests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bucket")
	b := open(t, "file://"+dir, newKeys(t))
	registry := prometheus.NewRegistry()
	b.Measure(NewMetrics(registry))
	ctx := t.Context()
	gone, leave := context.WithCancel(ctx)
	leave()
	for _, err := range []error{b.Put(ctx, "a/b", []byte("1")), b.Delete(ctx, "a/none"), b.Reachable(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, there := b.Get(ctx, "a/b", 10)
	_, missing := b.Get(ctx, "a/none", 10)
	_, _ = b.List(ctx, "a")
	canceled := b.Put(gone, "a/c", []byte("1"))
	source := b.PutFrom(ctx, "a/d", iotest.ErrReader(errors.New("the one who sends it went away")))
	if there != nil || missing == nil || canceled == nil || source == nil {
		t.Fatal(there, missing, canceled, source)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(ctx, "file/in-a-file", []byte("1")); err == nil {
		t.Fatal("written below a file")
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "moved"), sealed(t, b, "a/b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(ctx, "a/moved", 10); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	want := map[string]float64{
		"write success": 1, "write canceled": 1, "write failed": 1, "delete not_found": 1, "exists success": 1,
		"read success": 2, "read damaged": 1, "read not_found": 1, "list success": 2,
	}
	if diff := cmp.Diff(want, counted(t, registry)); diff != "" {
		t.Error(diff)
	}
}

// counted is how often which operation had which result.
func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if m.Counter != nil {
				all[m.Label[0].GetValue()+" "+m.Label[1].GetValue()] = m.Counter.GetValue()
			}
		}
	}
	return all
}
