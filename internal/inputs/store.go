package inputs

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Bucket keeps bytes under a key.
type Bucket interface {
	PutOnce(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
}

// maxSize of a document; an object of the API server is no larger.
const maxSize = 4 << 20

// Store keeps documents in the bucket, under their digest.
type Store struct {
	bucket Bucket
	known  *lru.Cache[string, Document]
}

// NewStore keeps documents in the bucket and up to 1,000 of them at hand.
func NewStore(bucket Bucket) *Store {
	known, err := lru.New[string, Document](1000)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &Store{bucket: bucket, known: known}
}

// Put keeps a document and gives its digest.
func (s *Store) Put(ctx context.Context, d Document) (string, error) {
	data, digest, err := d.Encode()
	if err != nil {
		return "", err
	}
	if s.known.Contains(digest) {
		return digest, nil
	}
	if err := s.bucket.PutOnce(ctx, "inputs/"+digest, data); err != nil {
		return "", fmt.Errorf("keep inputs %s: %w", digest, err)
	}
	s.known.Add(digest, d)
	return digest, nil
}

// Get gives the document of a digest.
func (s *Store) Get(ctx context.Context, digest string) (Document, error) {
	if d, ok := s.known.Get(digest); ok {
		return d, nil
	}
	data, err := s.bucket.Get(ctx, "inputs/"+digest, maxSize)
	if err != nil {
		return Document{}, fmt.Errorf("inputs %s: %w", digest, err)
	}
	if Digest(data) != digest {
		return Document{}, fmt.Errorf("inputs %s: the bucket has other bytes under this name", digest)
	}
	d, err := Decode(data)
	if err != nil {
		return Document{}, fmt.Errorf("inputs %s: %w", digest, err)
	}
	s.known.Add(digest, d)
	return d, nil
}
