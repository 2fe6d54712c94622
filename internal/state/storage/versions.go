// Package storage stores the bytes of states' versions, in Secrets or in the bucket. Which version counts is not
// decided here.
package storage

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// chunkSize is how many bytes go into one Secret.
const chunkSize = 900 << 10

// Bucket stores bytes under names; *bucket.Bucket is one.
type Bucket interface {
	Put(ctx context.Context, key string, data []byte) error
	PutOnce(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Read(ctx context.Context, key string) (io.ReadCloser, error)
	List(ctx context.Context, dir string) ([]string, error)
	Delete(ctx context.Context, key string) error
	DeletePrefix(ctx context.Context, dir string) error
}

// Versions stores the bytes of the versions of states, in Secrets or in the bucket.
type Versions struct {
	Client client.Client
	// Live reads without a cache.
	Live   client.Reader
	Bucket Bucket
	// Storage of new versions.
	Storage v1alpha1.StateStorage
	// SecretLimit is the compressed size above which a version is stored in the bucket.
	SecretLimit int
	Log         *slog.Logger
}

// Put stores the bytes of a version that does not count yet, and returns where. If a Secret cannot be written, for
// lack of quota or in a namespace that is being deleted, the bucket stores it, so that no state is lost.
func (s *Versions) Put(
	ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion, data []byte,
) (v1alpha1.StateVersion, error) {
	packed, err := Pack(data)
	if err != nil {
		return v, fmt.Errorf("compress state %s: %w", key, err)
	}
	if s.Storage == v1alpha1.StateStorageSecret && len(packed) <= s.SecretLimit {
		chunks := split(packed, chunkSize)
		v.Storage, v.Chunks = v1alpha1.StateStorageSecret, int32(len(chunks))
		err := s.putSecrets(ctx, key, v, chunks)
		if err == nil || !isPermanent(err) {
			return v, err
		}
		s.Log.Warn("a state goes to the bucket, as its Secrets cannot be written",
			"namespace", key.Namespace, "stack", key.Name, "error", err)
	}
	v.Storage, v.Chunks = v1alpha1.StateStorageBucket, 0
	return v, s.Bucket.PutOnce(ctx, bucketKey(key, v), packed)
}

// isPermanent reports whether Secrets are rejected for a reason that a retry does not change.
func isPermanent(err error) bool {
	return errors.Is(err, errOccupied) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// Get reads the bytes of a version and verifies its digest.
func (s *Versions) Get(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion) ([]byte, error) {
	var packed []byte
	var err error
	if v.Storage == v1alpha1.StateStorageBucket {
		packed, err = s.Bucket.Get(ctx, bucketKey(key, v), document.MaxSize+1<<20)
	} else {
		packed, err = s.getSecrets(ctx, key, v)
	}
	if apierrors.IsNotFound(err) || errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrWrongKey) {
		return nil, damaged(key, v, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read version %d of state %s: %w", v.Version, key, err)
	}
	data, err := Unpack(packed, v)
	if err != nil {
		return nil, damaged(key, v, err)
	}
	return data, nil
}

func damaged(key types.NamespacedName, v v1alpha1.StateVersion, err error) error {
	place := "bucket object " + bucketKey(key, v)
	if v.Storage != v1alpha1.StateStorageBucket {
		place = "Secrets " + strings.Join(secretNames(key.Name, v), ", ")
	}
	return decision.Reject(decision.Damaged, "version %d of state %s is damaged (%s): %v. Put it back from a backup, "+
		"or go back to an older version", v.Version, key, place, err)
}

// packers are kept for the next state, since one takes most of a megabyte.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Pack compresses a state. Equal states result in equal bytes.
func Pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Unpack returns the state of a version. Other bytes are an error.
func Unpack(packed []byte, v v1alpha1.StateVersion) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, v.Size+1))
	if err != nil {
		return nil, err
	}
	if got := document.Digest(data); got != v.SHA256 {
		return nil, fmt.Errorf("the bytes are %s, the version is %s", got, v.SHA256)
	}
	return data, nil
}

// split cuts packed bytes into chunks that fit a Secret each.
func split(packed []byte, size int) [][]byte {
	var chunks [][]byte
	for len(packed) > size {
		chunks, packed = append(chunks, packed[:size]), packed[size:]
	}
	return append(chunks, packed)
}
