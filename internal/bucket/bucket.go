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
	"io"
	"io/fs"
	"net/url"
	"os"
	"sync/atomic"

	"filippo.io/age"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://, for tests
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

var (
	// ErrNotFound says that nothing is kept under a key.
	ErrNotFound = errors.New("not found")
	// ErrWrongKey says that the bytes were encrypted to another key than this install's.
	ErrWrongKey = errors.New("encrypted to another key than this install's")
	// ErrNoBucket says that there is no bucket to look in.
	ErrNoBucket = errors.New("the bucket is not there: make it, or correct its URL")
	// ErrDenied says that the bucket is there, and is not for these credentials.
	ErrDenied = errors.New("the bucket may not be used so: look at the credentials and at what they allow")
	// ErrDamaged says that the bytes are not as they were written.
	ErrDamaged = errors.New("damaged")
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
	blobs   *blob.Bucket
	keys    Keys
	metrics *Metrics
	// listed is when a list last showed that the bucket is there, in nanoseconds.
	listed atomic.Int64
	young  *young
	// sync waits until the disk has a file, or the names in a folder.
	sync func(*os.File) error
}

// Open opens the bucket at a URL: file:///var/lib/cairn, mem://, or any other whose driver the program imports.
func Open(ctx context.Context, rawURL string, keys Keys) (*Bucket, error) {
	if keys.Recipient == nil || len(keys.Identities) == 0 {
		return nil, errors.New("open bucket: no keys: a bucket is never written in clear")
	}
	blobs, err := openBlobs(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	young, err := newYoung()
	if err != nil {
		return nil, errors.Join(err, blobs.Close())
	}
	return &Bucket{blobs: blobs, keys: keys, young: young, sync: (*os.File).Sync}, nil
}

// First is a key of the bucket at a URL, empty when the bucket is. It reads nothing, so it needs no keys of the install and
// can be asked before there are any. What is there under a name that Cairn gives nothing is not counted, such as the folder
// lost+found of a volume.
func First(ctx context.Context, rawURL string) (key string, err error) {
	blobs, err := openBlobs(ctx, rawURL)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, blobs.Close()) }()
	all := blobs.List(nil)
	for tries := 1; ; {
		obj, err := all.Next(ctx)
		if errors.Is(err, fs.ErrNotExist) && tries < listTries { // as in page
			all = blobs.List(nil)
			tries++
			continue
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", explain("list", "the bucket", err)
		}
		if checkKey(obj.Key) == nil {
			return obj.Key, nil
		}
	}
}

func openBlobs(ctx context.Context, rawURL string) (*blob.Bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	blobs, err := blob.OpenBucket(ctx, withDefaults(u).String())
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", u.Redacted(), err)
	}
	return blobs, nil
}

// Close lets go of the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

// defaults of parameters of a URL, by its scheme.
//
// They make a folder behave: made when missing, closed to other users, temporary files beside the final ones (so that the
// rename is atomic on any mount) and no second file for metadata that nobody reads. S3's own checksum of what is read says
// nothing that the encryption does not, and where an object was written in parts there is none, which the driver warns of
// each time.
var defaults = map[string]map[string]string{
	"file": {"create_dir": "true", "no_tmp_dir": "true", "metadata": "skip", "dir_file_mode": "0700"},
	"s3":   {"response_checksum_validation": "when_required"},
}

func withDefaults(u *url.URL) *url.URL {
	q := u.Query()
	for name, value := range defaults[u.Scheme] {
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
	var told interface{ ErrorCode() string } // as S3 answers
	code := ""
	if errors.As(err, &told) {
		code = told.ErrorCode()
	}
	switch kind := gcerrors.Code(err); {
	case code == "NoSuchBucket", kind == gcerrors.NotFound && (what == opWrite || what == opList):
		return fmt.Errorf("%s %s: %w", what, key, ErrNoBucket)
	case kind == gcerrors.NotFound:
		return fmt.Errorf("%s %s: %w", what, key, ErrNotFound)
	case kind == gcerrors.PermissionDenied, code == "SignatureDoesNotMatch", code == "InvalidAccessKeyId", code == "ExpiredToken":
		return fmt.Errorf("%s %s: %w: %w", what, key, ErrDenied, err)
	default:
		return fmt.Errorf("%s %s: %w", what, key, err)
	}
}
