package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cairn.dev/cairn/internal/base/weightedlru"
)

// What several objects of Kubernetes may name by its content belongs to none of them: it is deleted when none names
// it anymore and none did for a time (DeleteOlder). So code that is about to name it, or to rely on it, ensures
// that it is young, by PutOnce or Renew: then it stays until the name is written.
//
//	put ──── renewed ──── named ............ no longer named ──── older than the collector's time ──── deleted
//	   ◄ never older than RenewAfter and an hour ►
//
// Of one key, an object is not renewed and deleted at the same time, where both are done by one process.

const (
	// lookedFor is how long it is remembered that an object is there and young.
	lookedFor = time.Hour
	// mostLooked is of how many objects.
	mostLooked = 50_000
)

// young knows which objects are.
type young struct {
	after  time.Duration
	looked *lru.Cache[string, time.Time]
	// lost are keys under which this process read something that cannot be read, until they are written again.
	lost *lru.Cache[string, struct{}]

	mu sync.Mutex
	// held are the keys that one caller has to itself. The channel is closed when it releases the key.
	held map[string]chan struct{}
}

func newYoung() *young {
	return &young{
		looked: weightedlru.Sized[string, time.Time](mostLooked), lost: weightedlru.Sized[string, struct{}](mostLooked),
		held: map[string]chan struct{}{},
	}
}

// hold reserves a key for the caller until it calls the function that is returned. It waits for one key only, and
// no longer than ctx: a request to an object store may hang.
func (y *young) hold(ctx context.Context, key string) (letGo func(), err error) {
	for {
		y.mu.Lock()
		busy, ok := y.held[key]
		if !ok {
			free := make(chan struct{})
			y.held[key] = free
			y.mu.Unlock()
			return func() {
				y.mu.Lock()
				defer y.mu.Unlock()
				delete(y.held, key)
				close(free)
			}, nil
		}
		y.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// old reports whether an object is to be written again.
func (y *young) old(o Object) bool { return y.after > 0 && time.Since(o.At) > y.after }

// lose records that what is stored under a key cannot be read.
func (y *young) lose(key string) {
	y.looked.Remove(key)
	y.lost.Add(key, struct{}{})
}

func (y *young) known(key string) bool {
	at, ok := y.looked.Get(key)
	return ok && time.Since(at) < lookedFor
}

// RenewAfter has PutOnce and Renew write objects again that are older. It is called before the bucket is used;
// without it none is.
func (b *Bucket) RenewAfter(age time.Duration) { b.young.after = age }

// Renew ensures that what is stored under a key exists and is young: ErrNotFound when it does not exist, or when this
// process could not read it, so that the caller writes it again. Within an hour the bucket is not asked again, so it is
// for what DeleteOlder of this process alone deletes.
func (b *Bucket) Renew(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if b.young.known(key) {
		return nil
	}
	letGo, err := b.young.hold(ctx, key)
	if err != nil {
		return err
	}
	defer letGo()
	if b.young.lost.Contains(key) {
		return fmt.Errorf("renew %s: it cannot be read: %w", key, ErrNotFound)
	}
	object, err := b.stat(ctx, key)
	if err != nil {
		return err
	}
	if b.young.old(object) {
		if err := b.again(ctx, key); err != nil {
			return err
		}
	}
	b.young.looked.Add(key, time.Now())
	return nil
}

// stat returns the metadata of an object.
func (b *Bucket) stat(ctx context.Context, key string) (Object, error) {
	began := time.Now()
	found, err := b.blobs.Attributes(ctx, key)
	if err := b.result(opExists, key, began, err); err != nil {
		return Object{}, err
	}
	return Object{Key: key, Size: found.Size, At: found.ModTime}, nil
}

// again writes what is kept under a key once more, as it is.
func (b *Bucket) again(ctx context.Context, key string) (err error) {
	source, sealed, err := b.sealed(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sealed.Close()) }()
	return b.write(ctx, key, nil, source, true, func(w io.Writer) error {
		_, err := io.Copy(w, source)
		return err
	})
}

// DeleteOlder deletes what is stored under a key when it was last written before a time, and reports whether it
// did.
func (b *Bucket) DeleteOlder(ctx context.Context, key string, before time.Time) (bool, error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	letGo, err := b.young.hold(ctx, key)
	if err != nil {
		return false, err
	}
	defer letGo()
	object, err := b.stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil || !object.At.Before(before) {
		return false, err
	}
	err = b.remove(ctx, key)
	return err == nil, err
}
