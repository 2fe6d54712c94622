// Package buckettest opens buckets for tests.
package buckettest

import (
	"testing"

	"filippo.io/age"

	"cairn.dev/cairn/internal/base/bucket"
)

// New opens an empty bucket in memory, with keys of its own. It is closed at the end of the test.
func New(t testing.TB) *bucket.Bucket {
	t.Helper()
	return Open(t, "mem://")
}

// Open opens the bucket at a URL, with keys of its own. It is closed at the end of the test.
func Open(t testing.TB, url string) *bucket.Bucket {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keys, err := bucket.NewKeys(id.String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(t.Context(), url, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
