package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob"
)

// Get returns what is kept under a key: ErrNotFound when there is nothing, ErrTooLarge when it has more than limit
// bytes, ErrWrongKey when it was encrypted with another key, ErrDamaged when it is not what was written under this key.
func (b *Bucket) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := b.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // only read
	var data bytes.Buffer
	data.Grow(int(min(r.size, limit)) + bytes.MinRead) // one piece of memory: encrypted bytes are a few more
	if _, err := data.ReadFrom(&capped{r: r, left: limit}); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return data.Bytes(), nil
}

// Read is Get for bytes that need not be in memory. A reader that ends without an error returned all bytes as they
// were written.
func (b *Bucket) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := b.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (b *Bucket) open(ctx context.Context, key string) (*opened, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	o, err := b.decrypted(ctx, key)
	if errors.Is(err, ErrWrongKey) && b.reread != nil {
		if failed := b.reread(ctx); failed != nil { // it may be of a key that was not read yet
			return nil, fmt.Errorf("read %s: %w", key, failed)
		}
		o, err = b.decrypted(ctx, key)
	}
	if !errors.Is(err, ErrNotFound) {
		b.damaged(key, err)
	}
	return o, err
}

func (b *Bucket) decrypted(ctx context.Context, key string) (*opened, error) {
	source, sealed, err := b.sealed(ctx, key)
	if err != nil {
		return nil, err
	}
	clear, err := age.Decrypt(source, named{b.keys(), key})
	if err == nil {
		return &opened{clear, source, b, key, sealed.Size(), sealed}, nil
	}
	if _, ok := errors.AsType[*age.NoIdentityMatchError](err); ok {
		err = ErrWrongKey
	} else {
		err = source.blame(err)
	}
	return nil, errors.Join(fmt.Errorf("read %s: %w", key, err), sealed.Close())
}

// sealed begins to read what is kept under a key, as it is.
func (b *Bucket) sealed(ctx context.Context, key string) (*failing, *blob.Reader, error) {
	began := time.Now()
	sealed, err := b.blobs.NewReader(ctx, key, nil)
	if err := b.result(opRead, key, began, err); err != nil {
		return nil, nil, err
	}
	return &failing{r: sealed}, sealed, nil
}

// opened reads in clear and closes what is below.
type opened struct {
	clear  io.Reader
	source *failing
	bucket *Bucket
	key    string
	// size is that of the encrypted bytes.
	size int64
	io.Closer
}

func (o *opened) Read(p []byte) (int, error) {
	n, err := o.clear.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = o.source.blame(err)
		o.bucket.damaged(o.key, err)
	}
	return n, err
}

// damaged counts that an object cannot be read, unless the bucket itself failed, and remembers it.
func (b *Bucket) damaged(key string, err error) {
	b.metrics.countDamaged(err)
	if IsLost(err) {
		b.young.lose(key)
	}
}

// blame finds the cause of a decryption error: the bytes themselves, when they could all be read.
func (f *failing) blame(err error) error {
	if f.err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Exists reports whether an object is stored under a key.
func (b *Bucket) Exists(ctx context.Context, key string) (bool, error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	began := time.Now()
	there, err := b.blobs.Exists(ctx, key)
	return there, b.result(opExists, key, began, err)
}

// listEvery is how often Reachable lists, since stores charge for a list as for a write.
const listEvery = time.Minute

// Reachable returns an error when the bucket cannot be read from. For an object, an object store answers the same
// whether the object or the bucket does not exist, so now and then it is asked for a list.
func (b *Bucket) Reachable(ctx context.Context) error {
	const nothing = "reachable" // nothing is kept there
	if _, err := b.Exists(ctx, nothing); err != nil {
		return err
	}
	began := time.Now()
	if began.UnixNano()-b.listed.Load() < int64(listEvery) {
		return nil
	}
	_, _, err := b.blobs.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: nothing + "/"})
	if err == nil {
		b.listed.Store(began.UnixNano())
	}
	return b.result(opList, nothing, began, err)
}
