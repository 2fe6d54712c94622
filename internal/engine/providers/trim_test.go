package providers

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLeastRecentlyUsedArchivesAreRemoved(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute) }
	all := []archived{{"b", 30, at(2)}, {"a", 10, at(1)}, {"d", 20, at(4)}, {"c", 40, at(3)}}
	for name, c := range map[string]struct {
		most   int64
		pulled string
		want   string
	}{
		"nothing below the limit":               {100, "d", ""},
		"the least recently used one":           {99, "d", "a"},
		"as many as exceed the limit":           {89, "d", "a b"},
		"never the archive that was downloaded": {1, "d", "a b c"},
		"not even if it is the oldest":          {60, "a", "b c"},
		"only until the rest fits the limit":    {60, "d", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range tooMany(append([]archived(nil), all...), c.most, c.pulled) {
				got = append(got, a.name)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// zips are the archives that are in Dir.
func (w *fixture) zips() string {
	return strings.Join(slices.DeleteFunc(w.files(), func(name string) bool {
		return !strings.HasSuffix(name, ".zip")
	}), " ")
}

func TestDiskUsageOfTheMirrorIsLimited(t *testing.T) {
	size := int64(len(content(t, "1.1.0 amd64")))
	w := newFixture(t, func(o *Options) { o.Most = 2*size + size/2 })
	ask := func(version, arch string) Archive {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		archive, err := w.Archive(t.Context(), w.p, version, "linux", arch)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { archive.Close() })
		return archive
	}
	zip := func(version, arch string) string { return w.p.Filename(version, Platform{"linux", arch}) }
	ask("1.0.0", "amd64")
	reading := ask("1.0.0", "arm64")
	ask("1.0.0", "amd64") // it is here, and used now
	ask("1.1.0", "amd64")
	if diff := cmp.Diff(zip("1.0.0", "amd64")+" "+zip("1.1.0", "amd64"), w.zips()); diff != "" {
		t.Error(diff)
	}
	if data, err := io.ReadAll(reading); err != nil || int64(len(data)) != reading.Size {
		t.Errorf("who reads what is deleted got %d bytes of %d: %v", len(data), reading.Size, err)
	}
	// What is gone is pulled again, and another process knows what was used.
	w.reopen(nil)
	ask("1.0.0", "amd64")
	pulls := w.registry.Asked(".zip")
	ask("1.0.0", "arm64")
	if w.registry.Asked(".zip") != pulls+1 {
		t.Errorf("pulled %d times", w.registry.Asked(".zip")-pulls)
	}
	if diff := cmp.Diff(zip("1.0.0", "amd64")+" "+zip("1.0.0", "arm64"), w.zips()); diff != "" {
		t.Error(diff)
	}
}

func TestArchiveLargerThanTheLimitIsServed(t *testing.T) {
	w := newFixture(t, func(o *Options) { o.Most = 1 })
	for _, arch := range []string{"amd64", "arm64", "amd64"} {
		if _, err := w.read(arch); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.p.Filename("1.1.0", Platform{"linux", arch}), w.zips()); diff != "" {
			t.Error(diff)
		}
	}
}
