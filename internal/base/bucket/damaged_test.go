package bucket

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestDamagedObjectIsWrittenAgain checks that an object which cannot be read is not left alone by who has its bytes.
func TestDamagedObjectIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	const key = "sources/a"
	if err := b.PutOnce(t.Context(), key, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := b.Renew(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"its head": []byte("not age"), "its end": nil} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "sources", "a")
			if damaged == nil {
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				damaged = whole[:len(whole)-1]
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Get(t.Context(), key, 10); !IsLost(err) {
				t.Fatal(err)
			}
			if err := b.Renew(t.Context(), key); !errors.Is(err, ErrNotFound) {
				t.Errorf("renewed: %v", err)
			}
			if err := b.PutOnce(t.Context(), key, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if data, err := b.Get(t.Context(), key, 10); err != nil || string(data) != "x" {
				t.Errorf("%q, %v", data, err)
			}
			if err := b.Renew(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	}
}
