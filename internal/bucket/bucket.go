// Package bucket keeps bytes under names, in a folder or an object store. All of them are encrypted to the install's
// key before they leave the process, so that no plan, state or log lies anywhere in clear. It knows nothing of
// Kubernetes and nothing of what the bytes mean.
//
// A bucket only holds bytes. That they count is said by a Kubernetes object which names them by digest: a crash
// between the two leaves garbage, never a loss.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"filippo.io/age"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file://
	_ "gocloud.dev/blob/memblob"  // mem://, for tests
	"gocloud.dev/gcerrors"
)

var (
	// ErrNotFound says that nothing is kept under a key.
	ErrNotFound = errors.New("not found")
	// ErrWrongKey says that the bytes were encrypted to another key than this install's.
	ErrWrongKey = errors.New("encrypted to another key than this install's")
	// ErrTooLarge says that there are more bytes than the caller allows.
	ErrTooLarge = errors.New("too large")
)

// Keys encrypt what goes into a bucket and decrypt what comes out.
type Keys struct {
	// Recipient is who everything is encrypted to.
	Recipient age.Recipient
	// Identities are tried in order, so that what was written before a change of keys can still be read.
	Identities []age.Identity
}

// Bucket keeps bytes under keys. Its methods may be called at the same time.
type Bucket struct {
	blobs *blob.Bucket
	keys  Keys
}

// Open opens the bucket at a URL: file:///var/lib/cairn, mem://, or any other whose driver the program imports.
func Open(ctx context.Context, rawURL string, keys Keys) (*Bucket, error) {
	if keys.Recipient == nil || len(keys.Identities) == 0 {
		return nil, errors.New("open bucket: no keys: a bucket is never written in clear")
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	blobs, err := blob.OpenBucket(ctx, withDefaults(u).String())
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", u.Redacted(), err)
	}
	return &Bucket{blobs: blobs, keys: keys}, nil
}

// Close lets go of the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

// withDefaults makes a folder behave: made when missing, closed to other users, temporary files beside the final ones
// (so that the rename is atomic on any mount) and no second file for metadata that nobody reads.
func withDefaults(u *url.URL) *url.URL {
	if u.Scheme != "file" {
		return u
	}
	q := u.Query()
	for name, value := range map[string]string{
		"create_dir": "true", "no_tmp_dir": "true", "metadata": "skip", "dir_file_mode": "0700",
	} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	v := *u
	v.RawQuery = q.Encode()
	return &v
}

// explain turns a driver's error into ours.
func explain(what, key string, err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%s %s: %w", what, key, ErrNotFound)
	}
	return fmt.Errorf("%s %s: %w", what, key, err)
}
