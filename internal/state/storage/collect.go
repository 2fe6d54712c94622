package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// CollectTime limits a garbage collection: the write that it follows is complete and waits for its response.
const CollectTime = 5 * time.Second

// Collect removes the bytes of versions that are no longer kept and of tries that never counted. What it does not
// manage is garbage, and left for the next one.
func (s *Versions) Collect(
	ctx context.Context, key types.NamespacedName, st v1alpha1.StateStatus, dropped []v1alpha1.StateVersion,
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CollectTime)
	defer cancel()
	kept := keptNames(key, st)
	// What is newer than the current version may be another's that is about to count.
	goes := func(name string, version int64) bool { return version <= st.Version && !kept[name] }
	err := errors.Join(s.sweepSecrets(ctx, key, dropped, goes), s.sweepBucket(ctx, key, goes))
	if err != nil {
		s.Log.Warn("old versions of a state stay for now", "namespace", key.Namespace, "stack", key.Name, "error", err)
	}
}

// keptNames are the names of everything that holds a version which is kept.
func keptNames(key types.NamespacedName, st v1alpha1.StateStatus) map[string]bool {
	kept := map[string]bool{}
	for _, v := range st.Versions {
		if v.Storage == v1alpha1.StateStorageBucket {
			kept[bucketKey(key, v)] = true
			continue
		}
		for _, name := range secretNames(key.Name, v) {
			kept[name] = true
		}
	}
	return kept
}

func (s *Versions) sweepSecrets(
	ctx context.Context, key types.NamespacedName, dropped []v1alpha1.StateVersion, goes func(string, int64) bool,
) error {
	listed, err := s.ListSecrets(ctx, key, true)
	if err != nil {
		return err
	}
	var names []string
	for _, v := range dropped {
		names = append(names, secretNames(key.Name, v)...)
	}
	for _, name := range listed {
		if version, _ := versionOf(key.Name, name); goes(name, version) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return s.DeleteSecrets(ctx, key.Namespace, names)
}

func (s *Versions) sweepBucket(ctx context.Context, key types.NamespacedName, goes func(string, int64) bool) error {
	names, err := s.Bucket.List(ctx, BucketFolder(key))
	if err != nil {
		return err
	}
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, BucketFolder(key)+"/"), "-")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !goes(name, version) {
			continue
		}
		if err := s.Bucket.Delete(ctx, name); err != nil {
			return fmt.Errorf("sweep state %s: %w", key, err)
		}
	}
	return nil
}
