package server

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"cairn.dev/cairn/internal/bucket"
)

func memoryBucket(t *testing.T) *bucket.Bucket {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(t.Context(), "mem://", bucket.Keys{Recipient: id.Recipient(), Identities: []age.Identity{id}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFitChunk(t *testing.T) {
	tests := map[string]struct {
		next, offset, n int64
		want            fit
	}{
		"the first bytes fit":                  {0, 0, 10, fitsAtEnd},
		"the next bytes fit":                   {10, 10, 5, fitsAtEnd},
		"nothing at the end fits":              {10, 10, 0, fitsAtEnd},
		"the last bytes again are there":       {10, 5, 5, isThere},
		"older bytes again are there":          {10, 0, 5, isThere},
		"bytes past the end leave a gap":       {10, 11, 5, leavesGap},
		"bytes over the end are to be cut":     {10, 5, 10, leavesGap},
		"the first bytes must begin the log":   {0, 5, 5, leavesGap},
		"nothing past the end leaves a gap":    {10, 11, 0, leavesGap},
		"nothing before the end is there also": {10, 4, 0, isThere},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fitChunk(test.next, test.offset, test.n); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestALogGrowsOverManyServers(t *testing.T) {
	b := memoryBucket(t)
	servers := []*Logs{NewLogs(b), NewLogs(b), NewLogs(b)}
	text := strings.Repeat("0123456789", 100)
	const folder = "logs/ns/uid/1"
	offset := int64(0)
	for i := 0; offset < int64(len(text)); i++ {
		end := min(offset+int64(1+i*7%50), int64(len(text)))
		for range 1 + i%2 { // every second answer is lost
			next, ok, err := servers[i%3].append(t.Context(), folder, offset, []byte(text[offset:end]))
			if err != nil || !ok || next != end {
				t.Fatalf("append [%d, %d): next %d, %v, %v", offset, end, next, ok, err)
			}
		}
		offset = end
	}
	next, ok, err := servers[0].append(t.Context(), folder, offset+1, []byte("x"))
	if err != nil || ok || next != offset {
		t.Fatalf("a gap: next %d, %v, %v", next, ok, err)
	}
	got, err := io.ReadAll(servers[1].Reader(t.Context(), "ns", "uid", 1))
	if err != nil || string(got) != text {
		t.Fatalf("read %d bytes of %d: %v", len(got), len(text), err)
	}
	if got, err := io.ReadAll(servers[1].Reader(t.Context(), "ns", "uid", 2)); err != nil || len(got) > 0 {
		t.Fatalf("another attempt's log: %q, %v", got, err)
	}
}

func TestChunksThatOverlapAreReadOnce(t *testing.T) {
	b := memoryBucket(t)
	for key, data := range map[string]string{"000000000000": "abcd", "000000000002": "cd", "000000000003": "defg", "000000000007": "h"} {
		if err := b.Put(t.Context(), "logs/ns/uid/1/"+key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := io.ReadAll(NewLogs(b).Reader(t.Context(), "ns", "uid", 1))
	if err != nil || string(got) != "abcdefgh" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestALogIsBounded(t *testing.T) {
	b := memoryBucket(t)
	logs := NewLogs(b)
	if err := b.Put(t.Context(), chunkKey("logs/ns/uid/1", largestLog-10), make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := logs.append(t.Context(), "logs/ns/uid/1", largestLog-5, make([]byte, 5)); err != nil || !ok {
		t.Fatalf("up to the end: %v", err)
	}
	_, _, err := logs.append(t.Context(), "logs/ns/uid/1", largestLog, bytes.Repeat([]byte("x"), 1))
	if code, _ := answerTo(err); code != 413 {
		t.Fatalf("past the end: %d, %v", code, err)
	}
}
