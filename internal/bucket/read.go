package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// Get returns what is kept under a key: ErrNotFound when there is nothing, ErrTooLarge when it has more than limit
// bytes, ErrWrongKey when it was encrypted to another key.
func (b *Bucket) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := b.Read(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var data bytes.Buffer
	if _, err := data.ReadFrom(&capped{r: r, left: limit}); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return data.Bytes(), nil
}

// Read is Get for bytes that need not be in memory. A reader that ends without an error gave all bytes as they were
// written.
func (b *Bucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	sealed, err := b.blobs.NewReader(ctx, key, nil)
	if err != nil {
		return nil, explain("read", key, err)
	}
	clear, err := age.Decrypt(sealed, b.keys.Identities...)
	if err == nil {
		return opened{clear, sealed}, nil
	}
	var mismatch *age.NoIdentityMatchError
	if errors.As(err, &mismatch) {
		err = ErrWrongKey
	}
	return nil, errors.Join(fmt.Errorf("read %s: %w", key, err), sealed.Close())
}

// opened reads in clear and closes what is below.
type opened struct {
	io.Reader
	io.Closer
}

// Exists says whether something is kept under a key.
func (b *Bucket) Exists(ctx context.Context, key string) (bool, error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	there, err := b.blobs.Exists(ctx, key)
	if err != nil {
		return false, explain("look for", key, err)
	}
	return there, nil
}
