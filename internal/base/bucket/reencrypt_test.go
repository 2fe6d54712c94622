package bucket

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"filippo.io/age"
)

// rotated returns the keys before and after a rotation.
func rotated(t *testing.T) (before, during, after Keys) {
	t.Helper()
	var ids []string
	for range 2 {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id.String())
	}
	var errs [3]error
	before, errs[0] = NewKeys(ids[0])
	during, errs[1] = NewKeys(ids[1], ids[0])
	after, errs[2] = NewKeys(ids[1])
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return before, during, after
}

func keyID(t *testing.T, b *Bucket, key string) string {
	t.Helper()
	id, err := b.KeyID(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func reencrypted(t *testing.T, url string) {
	before, during, after := rotated(t)
	b := open(t, url, during)
	if err := b.CheckConditions(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": {}, "small": []byte("x"), "in-parts": make([]byte, 12<<20)} {
		key := "plans/ns/uid/" + name
		if err := open(t, url, before).Put(t.Context(), key, data); err != nil {
			t.Fatal(err)
		}
		if id := keyID(t, b, key); id != before.ID() || during.Old()[0] != id {
			t.Errorf("%s: key %s before", name, id)
		}
		if err := b.Reencrypt(t.Context(), key); err != nil {
			t.Fatal(name, err)
		}
		if id := keyID(t, b, key); id != after.ID() {
			t.Errorf("%s: key %s afterwards", name, id)
		}
		got, err := open(t, url, after).Get(t.Context(), key, 1<<30)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes came back as %d: %v", name, len(data), len(got), err)
		}
	}
	left, err := b.List(t.Context(), "probe")
	if len(left) > 0 || err != nil {
		t.Error(left, err)
	}
}

// Another process changes an object after it was read and before it is written: what it did stays.
func changedDuringReencryption(t *testing.T, url string) {
	before, during, _ := rotated(t)
	other := open(t, url, before)
	small, large := []byte("old"), make([]byte, 12<<20)
	for name, c := range map[string]struct {
		data   []byte
		change func(key string) error
		want   string
	}{
		"written": {small, func(key string) error {
			return other.Put(t.Context(), key, []byte("new"))
		}, "new"},
		"written, in parts": {large, func(key string) error {
			return other.Put(t.Context(), key, []byte("new"))
		}, "new"},
		"deleted":           {small, func(key string) error { return other.Delete(t.Context(), key) }, ""},
		"deleted, in parts": {large, func(key string) error { return other.Delete(t.Context(), key) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			const key = "states/ns/net/backup"
			if err := other.Put(t.Context(), key, c.data); err != nil {
				t.Fatal(err)
			}
			b, asked := open(t, url, during), 0
			b.Follow(func() Keys {
				if asked++; asked == 2 { // the first one is of the read, and this one of the write
					if err := c.change(key); err != nil {
						t.Error(err)
					}
				}
				return during
			}, nil)
			if err := b.Reencrypt(t.Context(), key); !errors.Is(err, ErrChanged) {
				t.Errorf("got %v", err)
			}
			got, err := other.Get(t.Context(), key, 1<<30)
			if c.want == "" && errors.Is(err, ErrNotFound) {
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("%d bytes, %v; want %q", len(got), err, c.want)
			}
		})
	}
}

// Two processes write and encrypt again at the same time: no reader sees an older object after a newer one.
func concurrentReencryption(t *testing.T, url string) {
	before, during, _ := rotated(t)
	writer, b := open(t, url, before), open(t, url, during)
	writer.Follow(func() Keys { return before }, nil)
	const key = "states/ns/net/backup"
	if err := writer.Put(t.Context(), key, []byte("0")); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			if err := b.Reencrypt(ctx, key); err != nil && ctx.Err() == nil && !errors.Is(err, ErrChanged) {
				t.Error(err)
				return
			}
		}
	})
	for i := range 100 {
		want := strconv.Itoa(i)
		if err := writer.Put(t.Context(), key, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(t.Context(), key, 10); err != nil || string(got) != want {
			t.Fatalf("%q, %v; want %s", got, err, want)
		}
	}
	end()
	all.Wait()
}

func TestBucketInMemoryIsNotReencrypted(t *testing.T) {
	b := open(t, "mem://", newKeys(t))
	if err := b.CheckConditions(t.Context()); !errors.Is(err, ErrUnconditional) {
		t.Errorf("got %v", err)
	}
}

func TestFolderWithoutLocksIsNotReencrypted(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lock.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := open(t, "file://"+dir, newKeys(t))
	if err := b.Put(t.Context(), "a/b", nil); err != nil {
		t.Error(err)
	}
	if err := b.Reencrypt(t.Context(), "a/b"); !errors.Is(err, ErrUnconditional) {
		t.Errorf("got %v", err)
	}
}

// An object of a rotation that another process knows, and this one does not yet.
func TestObjectOfANewKeyIsReadAfterTheKeysAreReadAgain(t *testing.T) {
	url := "file://" + t.TempDir()
	before, during, _ := rotated(t)
	if err := open(t, url, during).Put(t.Context(), "a/b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	b, keys := open(t, url, before), before
	failure := errors.New("the API server does not respond")
	b.Follow(func() Keys { return keys }, func(context.Context) error { return failure })
	if _, err := b.Get(t.Context(), "a/b", 10); !errors.Is(err, failure) || IsLost(err) {
		t.Errorf("an object counts as lost: %v", err)
	}
	b.Follow(func() Keys { return keys }, func(context.Context) error { keys = during; return nil })
	if got, err := b.Get(t.Context(), "a/b", 10); err != nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestForeignObjectHasNoKey(t *testing.T) {
	dir := t.TempDir()
	b := open(t, "file://"+dir, newKeys(t))
	for name, data := range map[string]string{"empty": "", "text": "-> cairn.dev/object/v1",
		"other": "age-encryption.org/v1\n-> X25519 abc\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if id := keyID(t, b, name); id != "" {
			t.Errorf("%s: %q", name, id)
		}
	}
}
