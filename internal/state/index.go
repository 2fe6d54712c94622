package state

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/state/storage"
)

// The bucket has an index of each State beside its versions: the addresses of the resources in the current version
// (decision 84). Nothing is decided on it. It is written once its version is the current one, and names that by its
// SHA256. If that write failed, or an older one overtook it, the next reader writes it again.

// largestIndex is more than a compressed index.
const largestIndex = 8 * document.MaxIndex

// Index returns the index of the version of a state with that SHA256; ErrNone if the bucket has none of it.
func (s *Backups) Index(ctx context.Context, key types.NamespacedName, sha256 string) (document.Index, error) {
	var index document.Index
	packed, err := s.bucket.Get(ctx, indexKey(key), largestIndex)
	if bucket.IsLost(err) {
		return index, ErrNone
	}
	if err != nil {
		return index, fmt.Errorf("read the index of state %s: %w", key, err)
	}
	text, err := storage.Decompress(packed, largestIndex)
	if err != nil || json.Unmarshal(text, &index) != nil || index.SHA256 != sha256 {
		return document.Index{}, ErrNone
	}
	return index, nil
}

// Reindex writes the index of the current version, and returns it. It reads the whole state. The error is ErrNone if
// there is no state.
func (s *Backups) Reindex(ctx context.Context, key types.NamespacedName) (document.Index, error) {
	data, _, err := s.read(ctx, key, decision.Current)
	if err != nil {
		return document.Index{}, err
	}
	return s.writeIndex(ctx, key, data)
}

// writeIndex writes the index of a state that is the current version.
func (s *Backups) writeIndex(ctx context.Context, key types.NamespacedName, data []byte) (document.Index, error) {
	index, err := document.NewIndex(data)
	if err != nil {
		return index, err
	}
	text, err := json.Marshal(index)
	if err != nil {
		return index, err
	}
	packed, err := storage.Pack(text)
	if err != nil {
		return index, err
	}
	return index, s.bucket.Put(ctx, indexKey(key), packed)
}

// indexKey is the index of a state, among its versions: what deletes them deletes it.
func indexKey(key types.NamespacedName) string { return storage.BucketFolder(key) + "/index" }
