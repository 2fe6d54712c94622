package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// contract is what Cairn needs of a bucket, wherever it is. at gives the URL of an empty one.
func contract(t *testing.T, at func(t *testing.T) string) {
	for name, holds := range map[string]func(*testing.T, string){
		"a stored object is read":                                objectIsRead,
		"an unknown key is not found":                            unknownKeyIsNotFound,
		"the last write wins":                                    lastWriteWins,
		"PutOnce keeps an existing object":                       putOnceKeepsTheObject,
		"concurrent PutOnce stores one object":                   concurrentPutOnce,
		"bytes are named by their digest":                        hashed,
		"an interrupted write stores nothing":                    interruptedWriteStoresNothing,
		"an interrupted write keeps the former object":           interruptedWriteKeepsTheObject,
		"a folder does not include a sibling with a longer name": siblingIsNotIncluded,
		"lists of several pages are complete and sorted":         longLists,
		"another key cannot read, and the error says so":         anotherKey,
		"First needs no keys":                                    firstNeedsNoKeys,
		"an object is encrypted again":                           reencrypted,
		"a change during re-encryption stays":                    changedDuringReencryption,
		"re-encryption overwrites nothing newer":                 concurrentReencryption,
	} {
		t.Run(name, func(t *testing.T) { holds(t, at(t)) })
	}
}

func TestContractOfAFolder(t *testing.T) {
	contract(t, func(t *testing.T) string { return "file://" + t.TempDir() })
}

func objectIsRead(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	for _, data := range [][]byte{{}, []byte("x"), bytes.Repeat([]byte("0123456789"), 2_000_000)} {
		if err := b.Put(t.Context(), "states/ns/net/1-a.b:c", data); err != nil {
			t.Fatal(err)
		}
		got, err := b.Get(t.Context(), "states/ns/net/1-a.b:c", int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back as %d: %v", len(data), len(got), err)
		}
		if _, err := b.Get(t.Context(), "states/ns/net/1-a.b:c", int64(len(data))-1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("more than was allowed: %v", err)
		}
	}
}

func unknownKeyIsNotFound(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	if _, err := b.Get(t.Context(), "a/b", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if there, err := b.Exists(t.Context(), "a/b"); there || err != nil {
		t.Errorf("Exists: %v %v", there, err)
	}
	if err := b.Delete(t.Context(), "a/b"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if keys, err := b.List(t.Context(), "a"); err != nil || len(keys) > 0 {
		t.Errorf("List: %v %v", keys, err)
	}
	if err := b.Reachable(t.Context()); err != nil {
		t.Errorf("Reachable: %v", err)
	}
}

func lastWriteWins(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	for _, data := range []string{"first", "second"} {
		if err := errors.Join(b.Put(t.Context(), "a/b", []byte(data)),
			b.PutLoose(t.Context(), "a/c", []byte(data))); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a/b", "a/c"} {
		if got, err := b.Get(t.Context(), key, 10); err != nil || string(got) != "second" {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	if err := b.Delete(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	if there, err := b.Exists(t.Context(), "a/b"); there || err != nil {
		t.Errorf("after it was deleted: %v %v", there, err)
	}
}

// sealed is what is kept under a key as it is kept: no two writes of the same bytes are encrypted to the same.
func sealed(t *testing.T, b *Bucket, key string) []byte {
	t.Helper()
	data, err := b.blobs.ReadAll(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func putOnceKeepsTheObject(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	var stored [2][]byte
	for i := range stored {
		if err := b.PutOnce(t.Context(), "sources/sha256:1", []byte("x")); err != nil {
			t.Fatal(err)
		}
		stored[i] = sealed(t, b, "sources/sha256:1")
	}
	if !bytes.Equal(stored[0], stored[1]) {
		t.Fatal("written again")
	}
}

func concurrentPutOnce(t *testing.T, url string) {
	keys := newKeys(t)
	data := bytes.Repeat([]byte("z"), 200_000)
	var all sync.WaitGroup
	for range 8 {
		b := open(t, url, keys) // as several servers have it
		all.Go(func() {
			if err := b.PutOnce(t.Context(), "sources/sha256:1", data); err != nil {
				t.Error(err)
			}
			if got, err := b.Get(t.Context(), "sources/sha256:1", 1<<20); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes came back as %d: %v", len(data), len(got), err)
			}
		})
	}
	all.Wait()
}

func hashed(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	want := map[int]string{
		0:       "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		5 << 20: "sha256:c036cbb7553a909f8b8877d4461924307f27ecb66cff928eeeafd569c3887e29",
	}
	for size, want := range want {
		digest, err := b.PutHashed(t.Context(), "plans", bytes.NewReader(make([]byte, size)), 1<<30)
		if err != nil || digest != want {
			t.Fatalf("%d bytes: %s, %v", size, digest, err)
		}
		got, err := b.Get(t.Context(), "plans/"+digest, 1<<30)
		if err != nil || len(got) != size {
			t.Fatalf("%d bytes came back as %d: %v", size, len(got), err)
		}
	}
	kept, err := b.List(t.Context(), "plans")
	if diff := cmp.Diff([]string{"plans/" + want[5<<20], "plans/" + want[0]}, kept); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func interruptedWriteStoresNothing(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	cut := errors.New("cable pulled")
	long := func() io.Reader { return io.MultiReader(bytes.NewReader(make([]byte, 12<<20)), iotest.ErrReader(cut)) }
	if err := b.PutFrom(t.Context(), "a/b", long()); !errors.Is(err, cut) {
		t.Errorf("got %v", err)
	}
	if _, err := b.PutHashed(t.Context(), "a", long(), 1<<30); !errors.Is(err, cut) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Put(ctx, "a/c", []byte("x")); err == nil {
		t.Error("a canceled write was kept")
	}
	if left, err := b.List(t.Context(), "a"); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func interruptedWriteKeepsTheObject(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	if err := b.Put(t.Context(), "a/b", []byte("old")); err != nil {
		t.Fatal(err)
	}
	for _, sent := range []int{0, 12 << 20} {
		if err := b.PutFrom(t.Context(), "a/b", io.MultiReader(bytes.NewReader(make([]byte, sent)),
			iotest.ErrReader(io.ErrUnexpectedEOF))); err == nil {
			t.Fatal("no error")
		}
		if got, err := b.Get(t.Context(), "a/b", 10); err != nil || string(got) != "old" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

func siblingIsNotIncluded(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	for _, key := range []string{"logs/ns/a/1/000", "logs/ns/a/1/100", "logs/ns/ab/1/000"} {
		if err := b.Put(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := b.List(t.Context(), "logs/ns/a")
	if diff := cmp.Diff([]string{"logs/ns/a/1/000", "logs/ns/a/1/100"}, keys); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if err := b.DeletePrefix(t.Context(), "logs/ns/a"); err != nil {
		t.Fatal(err)
	}
	keys, err = b.List(t.Context(), "logs")
	if diff := cmp.Diff([]string{"logs/ns/ab/1/000"}, keys); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func longLists(t *testing.T, url string) {
	b := open(t, url, newKeys(t))
	var want []string
	for i := range 1100 { // a page has 1,000
		want = append(want, "logs/ns/a/1/"+strings.Repeat("0", i%3)+"x"+
			string(rune('a'+i%26))+strings.Repeat("z", i/26))
	}
	var all sync.WaitGroup
	for part := range slices.Chunk(want, 100) {
		all.Go(func() {
			for _, key := range part {
				if err := b.PutLoose(t.Context(), key, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	slices.Sort(want)
	got, err := b.List(t.Context(), "logs/ns")
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func anotherKey(t *testing.T, url string) {
	if err := open(t, url, newKeys(t)).Put(t.Context(), "a/b", []byte("x")); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, url, newKeys(t)).Get(t.Context(), "a/b", 10)
	if !errors.Is(err, ErrWrongKey) || !strings.Contains(err.Error(), "a/b") {
		t.Fatalf("got %v", err)
	}
}

func firstNeedsNoKeys(t *testing.T, url string) {
	first := func(want string) {
		t.Helper()
		if got, err := First(t.Context(), url); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	first("")
	if err := open(t, url, newKeys(t)).Put(t.Context(), "sources/sha256:1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	first("sources/sha256:1")
}
