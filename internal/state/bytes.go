package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
)

// keep stores the bytes of a version that does not count yet, and says where. A Secret that cannot be had, for want of
// quota or in a namespace that is going away, is no reason to lose a state: then the bucket is the home.
func (s *Store) keep(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion, data []byte) (v1alpha1.StateVersion, error) {
	packed, err := pack(data)
	if err != nil {
		return v, fmt.Errorf("compress state %s: %w", key, err)
	}
	if s.Storage == v1alpha1.StateStorageSecret && len(packed) <= s.SecretLimit {
		chunks := split(packed, s.ChunkSize)
		v.Storage, v.Chunks = v1alpha1.StateStorageSecret, int32(len(chunks))
		err := s.putSecrets(ctx, key, v, chunks)
		if err == nil || !noPlace(err) {
			return v, err
		}
		s.Log.Warn("a state goes to the bucket, as its Secrets cannot be written", "namespace", key.Namespace, "stack", key.Name, "error", err)
	}
	v.Storage, v.Chunks = v1alpha1.StateStorageBucket, 0
	return v, s.bucket.PutOnce(ctx, bucketKey(key, v), packed)
}

// noPlace says that Secrets are refused for a reason that another try does not change.
func noPlace(err error) bool {
	return errors.Is(err, errInTheWay) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// fetch reads the bytes of a version and makes sure that they are the ones that counted when it was written.
func (s *Store) fetch(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion) ([]byte, error) {
	var packed []byte
	var err error
	if v.Storage == v1alpha1.StateStorageBucket {
		packed, err = s.bucket.Get(ctx, bucketKey(key, v), MaxSize+1<<20)
	} else {
		packed, err = s.getSecrets(ctx, key, v)
	}
	if apierrors.IsNotFound(err) || errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrWrongKey) {
		return nil, damaged(key, v, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read version %d of state %s: %w", v.Version, key, err)
	}
	data, err := unpack(packed, v)
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
	return refuse(Damaged, "version %d of state %s is damaged (%s): %v. Put it back from a backup, or go back to an older "+
		"version", v.Version, key, place, err)
}
