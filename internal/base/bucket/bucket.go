// Package bucket stores bytes under names, in a folder or an object store. All of them are encrypted with the
// installation's key before they leave the process, so that no plan, state or log is stored in clear. Each object is
// bound to its name: under another one it is damaged. It knows nothing of Kubernetes and nothing of what the bytes
// mean.
//
// A bucket only has bytes. They count once a Kubernetes object names them by digest: a crash between the two leaves
// garbage, never a loss.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://, for tests
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

var (
	// ErrNotFound means that nothing is stored under a key.
	ErrNotFound = errors.New("not found")
	// ErrWrongKey means that the bytes were not encrypted with a key of this installation.
	ErrWrongKey = errors.New("not encrypted with a key of this installation")
	// ErrNoBucket means that the bucket itself does not exist.
	ErrNoBucket = errors.New("the bucket was not found: create it, or correct its URL")
	// ErrDenied means that the bucket exists, but denies these credentials.
	ErrDenied = errors.New("the bucket denies access: check the credentials and what they allow")
	// ErrDamaged means that the bytes are not as they were written, or were written under another name.
	ErrDamaged = errors.New("damaged")
	// ErrTooLarge means that there are more bytes than the caller allows.
	ErrTooLarge = errors.New("too large")
)

// IsLost reports whether an object is not stored as it was written. It stays so until a user restores it: a retry
// does not help.
func IsLost(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrWrongKey)
}

// Bucket keeps bytes under keys. Its methods may be called at the same time.
type Bucket struct {
	blobs   *blob.Bucket
	keys    func() Keys
	reread  func(context.Context) error
	metrics *Metrics
	// listed is when a list last showed that the bucket is there, in nanoseconds.
	listed atomic.Int64
	young  *young
	// sync waits until the disk has a file, or the names in a folder.
	sync func(*os.File) error
	// lockFile orders the changes when the bucket is a folder: see claim.
	lockFile string
}

// Open opens the bucket at a URL: file:///var/lib/cairn, mem://, or any other whose driver the program imports.
func Open(ctx context.Context, rawURL string, keys Keys) (*Bucket, error) {
	if len(keys.secrets) == 0 {
		return nil, errors.New("open bucket: no keys: a bucket is never written in clear")
	}
	blobs, err := openBlobs(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	return &Bucket{
		blobs: blobs, keys: func() Keys { return keys }, young: newYoung(), sync: (*os.File).Sync,
		lockFile: lockFile(rawURL),
	}, nil
}

// lockFile is a file in the folder at a URL that lists leave out; empty for an object store.
func lockFile(rawURL string) string {
	if u, err := url.Parse(rawURL); err == nil && u.Scheme == "file" {
		return filepath.Join(u.Host, u.Path, "lock.tmp")
	}
	return ""
}

// First is a key of the bucket at a URL, empty when the bucket is. It reads no bytes, so it needs no keys of the
// installation and can be called before there are any. Names that Cairn never uses do not count, such as the folder
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

// Close releases the bucket.
func (b *Bucket) Close() error { return b.blobs.Close() }

// defaults of parameters of a URL, by its scheme.
//
// A folder is created when missing, closed to other users, with temporary files beside the final ones (so that the
// rename is atomic on any mount) and without a second file for metadata, which is never read. S3's own checksum of
// what is read adds nothing to the encryption, and an object that was written in parts has none, of which the
// driver warns each time.
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
func explain(operation, key string, err error) error {
	var apiError interface{ ErrorCode() string } // as S3 answers
	code := ""
	if errors.As(err, &apiError) {
		code = apiError.ErrorCode()
	}
	what := operation
	if operation == opExists {
		what = "find"
	}
	switch kind := gcerrors.Code(err); {
	case code == "NoSuchBucket", kind == gcerrors.NotFound && (what == opWrite || what == opList):
		return fmt.Errorf("%s %s: %w", what, key, ErrNoBucket)
	case kind == gcerrors.FailedPrecondition, code == "ConditionalRequestConflict":
		return fmt.Errorf("%s %s: %w", what, key, ErrChanged)
	case kind == gcerrors.NotFound:
		return fmt.Errorf("%s %s: %w", what, key, ErrNotFound)
	case kind == gcerrors.PermissionDenied,
		code == "SignatureDoesNotMatch", code == "InvalidAccessKeyId", code == "ExpiredToken":
		return fmt.Errorf("%s %s: %w: %w", what, key, ErrDenied, err)
	default:
		return fmt.Errorf("%s %s: %w", what, key, err)
	}
}
