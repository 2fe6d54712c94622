package inputs

import (
	"context"
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/weightedlru"
)

// Bucket keeps bytes under a key.
type Bucket interface {
	PutOnce(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	// Renew ensures that what is stored under a key stays until it is named: bucket.ErrNotFound when it does not
	// exist.
	Renew(ctx context.Context, key string) error
}

const (
	// MaxSize of a document. A Stack has at most an object of the API server, and the rest is the text of scripts
	// and policies.
	MaxSize = 8 << 20
	// atHand is how much of documents is kept in memory: of ten thousand Stacks the last ones, as most documents
	// are of a kilobyte.
	atHand = 16 << 20
)

// ErrTooLarge is a document that is larger than MaxSize.
var ErrTooLarge = errors.New("the inputs are too large")

// Store keeps documents in the bucket, under their digest.
type Store struct {
	bucket Bucket
	known  *weightedlru.Cache[string, Document]
}

// NewStore keeps documents in the bucket, and those that were used last at hand.
func NewStore(bucket Bucket) *Store {
	return &Store{bucket: bucket, known: weightedlru.New[string, Document](atHand, weightedlru.EntryOverhead)}
}

// Put stores a document and returns its digest.
func (s *Store) Put(ctx context.Context, d Document) (string, error) {
	data, digest, err := d.Encode()
	if err != nil {
		return "", err
	}
	if _, ok := s.known.Get(digest); ok {
		if err := s.bucket.Renew(ctx, "inputs/"+digest); !errors.Is(err, bucket.ErrNotFound) {
			return digest, err
		}
	}
	if len(data) > MaxSize {
		return "", fmt.Errorf("keep inputs %s of %d bytes: %w", digest, len(data), ErrTooLarge)
	}
	if err := s.bucket.PutOnce(ctx, "inputs/"+digest, data); err != nil {
		return "", fmt.Errorf("keep inputs %s: %w", digest, err)
	}
	s.known.Add(digest, d, len(data))
	return digest, nil
}

// Get returns the document of a digest.
func (s *Store) Get(ctx context.Context, digest string) (Document, error) {
	if d, ok := s.known.Get(digest); ok {
		return d, nil
	}
	data, err := s.bucket.Get(ctx, "inputs/"+digest, MaxSize)
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
	s.known.Add(digest, d, len(data))
	return d, nil
}
