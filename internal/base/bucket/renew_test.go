package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aged is a bucket in a folder that renews after a day, and has an object of that age under sources/a.
func aged(t *testing.T, age time.Duration) (*Bucket, string) {
	t.Helper()
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	b.RenewAfter(24 * time.Hour)
	if err := b.Put(t.Context(), "sources/a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sources", "a")
	makeOlder(t, path, age)
	return b, path
}

func makeOlder(t *testing.T, path string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func modified(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func TestReferencingAnObjectRenewsIt(t *testing.T) {
	for name, use := range map[string]func(b *Bucket) error{
		"put once": func(b *Bucket) error { return b.PutOnce(t.Context(), "sources/a", []byte("x")) },
		"renewed":  func(b *Bucket) error { return b.Renew(t.Context(), "sources/a") },
	} {
		for age, again := range map[time.Duration]bool{23 * time.Hour: false, 25 * time.Hour: true} {
			t.Run(name+" after "+age.String(), func(t *testing.T) {
				b, path := aged(t, age)
				before := modified(t, path)
				if err := use(b); err != nil {
					t.Fatal(err)
				}
				if was := modified(t, path) != before; was != again {
					t.Errorf("written again: %v", was)
				}
				if got, err := b.Get(t.Context(), "sources/a", 10); err != nil || string(got) != "x" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
}

func TestOnlyOldObjectsAreDeleted(t *testing.T) {
	before := time.Now().Add(-48 * time.Hour)
	for age, want := range map[time.Duration]bool{47 * time.Hour: false, 49 * time.Hour: true} {
		b, path := aged(t, age)
		gone, err := b.DeleteOlder(t.Context(), "sources/a", before)
		if err != nil || gone != want {
			t.Errorf("of %s: %v, %v", age, gone, err)
		}
		if _, err := os.Stat(path); os.IsNotExist(err) != want {
			t.Errorf("of %s: %v", age, err)
		}
	}
	b, _ := aged(t, 0)
	if gone, err := b.DeleteOlder(t.Context(), "sources/none", before); gone || err != nil {
		t.Errorf("of nothing: %v, %v", gone, err)
	}
}

func TestDeletedObjectIsReportedAsNotFound(t *testing.T) {
	b, _ := aged(t, 49*time.Hour)
	b.RenewAfter(0)
	if err := b.Renew(t.Context(), "sources/a"); err != nil {
		t.Fatal(err)
	}
	if gone, err := b.DeleteOlder(t.Context(), "sources/a", time.Now().Add(-48*time.Hour)); !gone || err != nil {
		t.Fatal(gone, err)
	}
	if err := b.Renew(t.Context(), "sources/a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("renewed: %v", err)
	}
	// Nor what another process deleted, where that is asked: a State that is deleted and created again may have the
	// same bytes.
	if err := b.PutOnce(t.Context(), "sources/a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := b.blobs.Delete(t.Context(), "sources/a"); err != nil {
		t.Fatal(err)
	}
	if err := b.PutOnce(t.Context(), "sources/a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "sources/a", 10); err != nil {
		t.Error(err)
	}
}

func TestWalkVisitsEachObjectAndMayDelete(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	for _, key := range []string{"sources/a", "sources/b", "sourcesx/c"} {
		if err := b.Put(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "sources", "c.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err := b.Walk(t.Context(), "sources", func(o Object) error {
		seen = append(seen, o.Key)
		if o.Size < 100 || time.Since(o.At) > time.Hour {
			t.Errorf("%+v", o)
		}
		return b.Delete(t.Context(), o.Key)
	})
	if err != nil || len(seen) != 2 || len(files(t, dir)) != 2 {
		t.Errorf("saw %v: %v; left %v", seen, err, files(t, dir))
	}
	stop := errors.New("enough")
	if err := b.Walk(t.Context(), "sourcesx", func(Object) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// slowly is a bucket in which nothing is, and where writes of what is slow hang until the test ends or lets them.
func slowly(t *testing.T) (b *Bucket, hangs <-chan struct{}, letGo func()) {
	t.Helper()
	began := make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(t.Context())
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead:
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(r.URL.Path, "slow"):
			began <- struct{}{}
			<-ctx.Done()
		}
	}))
	t.Cleanup(func() { cancel(); store.Close() })
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	return open(t, "s3://b?region=us-east-1&use_path_style=true&endpoint="+store.URL, newKeys(t)), began, cancel
}

// A hanging write blocks only writes of its own key, and each caller only until the deadline of the caller.
func TestHangingWriteBlocksNoOtherKey(t *testing.T) {
	b, hangs, letGo := slowly(t)
	ended := make(chan error, 3)
	go func() { ended <- b.PutOnce(t.Context(), "plans/slow", []byte("x")) }()
	<-hangs
	go func() {
		for i := range 300 {
			if err := b.PutOnce(t.Context(), fmt.Sprint("states/", i), []byte("x")); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	hasty, cancel := context.WithCancel(t.Context())
	cancel()
	go func() { ended <- b.PutOnce(hasty, "plans/slow", []byte("x")) }()
	for range 2 {
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Error("it waits for what hangs")
		}
	}
	letGo()
	<-ended
}

// From the check of an object until the write that depends on it no other caller changes the object.
func TestKeyIsLockedByOneCaller(t *testing.T) {
	b, path := aged(t, 49*time.Hour)
	letGo, err := b.young.hold(t.Context(), "sources/a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	before := modified(t, path)
	_, deleted := b.DeleteOlder(ctx, "sources/a", time.Now().Add(-48*time.Hour))
	for name, err := range map[string]error{"deleted": deleted, "renewed": b.Renew(ctx, "sources/a"),
		"put": b.PutOnce(ctx, "sources/a", []byte("x"))} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if modified(t, path) != before {
		t.Error("it was written")
	}
	letGo()
	if gone, err := b.DeleteOlder(t.Context(), "sources/a", time.Now().Add(-48*time.Hour)); !gone || err != nil {
		t.Error(gone, err)
	}
}
