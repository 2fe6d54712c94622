package inputs

import (
	"context"
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/weightedlru"
)

// Bucket keeps bytes under a key.
type Bucket interface {
	PutOnce(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	// Renew ensures that what is stored under a key stays until it is named: bucket.ErrNotFound when it does not
	// exist.
	Renew(ctx context.Context, key string) error
	// Verify reads what is stored under a key, which Renew reports as not found if it is lost.
	Verify(ctx context.Context, key string) error
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

// Verify reads the document of a digest, and the code that it names, from the bucket and not from memory: of what a
// server could not read, this process knows nothing else. What is lost is an error (bucket.IsLost), and is then written
// again by Put, or where the code is kept.
func (s *Store) Verify(ctx context.Context, digest string) error {
	s.known.Remove(digest)
	d, err := s.Get(ctx, digest)
	if err != nil {
		return err
	}
	sources := []string{d.Source}
	if d.Build != nil {
		sources = append(sources, d.Build.Source)
	}
	for _, source := range sources {
		if source == "" {
			continue
		}
		if err := s.bucket.Verify(ctx, "sources/"+source); err != nil {
			return fmt.Errorf("source %s: %w", source, err)
		}
	}
	return nil
}
