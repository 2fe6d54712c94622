package bucketgc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn.dev/cairn/internal/base/bucket"
)

const (
	// checkKeys is how often it is checked whether objects have to be encrypted again.
	checkKeys = time.Minute
	// settled is how long after a new key all processes write with it: several times as long as they need to read it.
	settled = 10 * time.Minute
	// reencryptions is how many objects are checked or written at a time, and large is the size of those of which only
	// one is, in bytes.
	reencryptions = 8
	large         = 4 << 20
	// progress is how often a pass is logged, in objects.
	progress = 10_000
	// mostNamed is how many objects a log line names.
	mostNamed = 20
)

// Reencrypter encrypts all objects of the bucket again after the installation got a new key, and ends the use of the
// old ones. It runs in one process; the others write meanwhile.
//
//	new key ──► pass ──► pass ... ──► pass that found no object of an old key, and began when all wrote with the new one ──► Retire
type Reencrypter struct {
	Bucket *bucket.Bucket
	// Retire ends the use of all keys but the first, if these are the current ones.
	Retire  func(context.Context, bucket.Keys) error
	Log     *slog.Logger
	Metrics *Metrics

	// keys are the ones of the last pass, and since when they are current.
	keys  bucket.Keys
	since time.Time
	// conditional is whether the bucket was found to have conditional writes.
	conditional bool
}

// Reencrypted is the result of a pass: objects by what became of them.
type Reencrypted struct {
	// Current objects had the current key already, and Written ones have it now.
	Current, Written int
	// Left are encrypted with an old key still, since another process changed them, or the bucket failed.
	Left int
	// Unreadable objects cannot be read: they are damaged, or encrypted with a key that the installation does not have.
	Unreadable int
	// Named are some of the objects that are left or unreadable, and Err is the first reason why one is left.
	Named []string
	Err   error
}

// Start encrypts objects again when there is a new key, until ctx is done.
func (r *Reencrypter) Start(ctx context.Context) error {
	tick := time.NewTicker(checkKeys)
	defer tick.Stop()
	for {
		r.Step(ctx, time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Step does one pass if objects may be encrypted with an old key, and ends its use if none is.
func (r *Reencrypter) Step(ctx context.Context, now time.Time) {
	keys := r.Bucket.Keys()
	if !keys.Equal(r.keys) {
		r.keys, r.since = keys, now
	}
	old := keys.Old()
	r.Metrics.oldKeys(len(old))
	if len(old) == 0 {
		return
	}
	result, err := r.Pass(ctx, old)
	if errors.Is(err, context.Canceled) {
		return
	}
	r.Metrics.reencrypted(result, err)
	log := r.Log.With("current", result.Current+result.Written, "written", result.Written, "left", result.Left,
		"unreadable", result.Unreadable)
	if len(result.Named) > 0 {
		log = log.With("objects", result.Named)
	}
	switch {
	case err != nil || result.Err != nil:
		log.Warn("not all objects of the bucket were encrypted again; it is retried", "error",
			errors.Join(err, result.Err))
	case result.Left+result.Written > 0 || now.Sub(r.since) < settled:
		log.Info("objects of the bucket were encrypted again; they are checked once more")
	default:
		if err := r.Retire(ctx, keys); err != nil {
			log.Warn("the old identity is not used any more, and that could not be recorded; it is retried",
				"error", err)
			return
		}
		log.Info("no object of the bucket is encrypted with an old identity: it was removed from bucket-recipients")
	}
}

// Pass encrypts all objects again that have one of these old keys. Its error means that it did not see all objects.
func (r *Reencrypter) Pass(ctx context.Context, old []string) (result Reencrypted, err error) {
	if !r.conditional {
		if err := r.Bucket.CheckConditions(ctx); err != nil {
			return result, fmt.Errorf("check whether objects can be encrypted again: %w", err)
		}
		r.conditional = true
	}
	var mu, big sync.Mutex
	group, workers := errgroup.WithContext(ctx)
	group.SetLimit(reencryptions)
	seen := 0
	err = r.Bucket.WalkAll(workers, func(o bucket.Object) error {
		if seen++; seen%progress == 0 {
			mu.Lock()
			r.Log.Info("objects of the bucket are encrypted again", "checked", seen, "written", result.Written, "left",
				result.Left)
			mu.Unlock()
		}
		group.Go(func() error {
			if o.Size > large {
				big.Lock()
				defer big.Unlock()
			}
			written, err := r.object(workers, o.Key, old)
			if workers.Err() != nil {
				return workers.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			result.count(o.Key, written, err)
			return nil
		})
		return workers.Err()
	})
	return result, errors.Join(group.Wait(), err)
}

// object encrypts one object again if it has an old key, and returns whether it did.
func (r *Reencrypter) object(ctx context.Context, key string, old []string) (written bool, err error) {
	id, err := r.Bucket.KeyID(ctx, key)
	switch {
	case err != nil:
		return false, err
	case slices.Contains(old, id):
		err = r.Bucket.Reencrypt(ctx, key)
		return err == nil, err
	case id != r.Bucket.Keys().ID(): // damaged, or of a key that this process does not have yet, which a read finds out
		o, err := r.Bucket.Read(ctx, key)
		if err != nil {
			return false, err
		}
		return false, o.Close()
	}
	return false, nil
}

func (r *Reencrypted) count(key string, written bool, err error) {
	switch {
	case errors.Is(err, bucket.ErrNotFound): // deleted
		return
	case errors.Is(err, bucket.ErrDamaged), errors.Is(err, bucket.ErrWrongKey):
		r.Unreadable++
	case err != nil:
		r.Left++
		if r.Err == nil && !errors.Is(err, bucket.ErrChanged) {
			r.Err = err
		}
	case written:
		r.Written++
		return
	default:
		r.Current++
		return
	}
	if len(r.Named) < mostNamed {
		r.Named = append(r.Named, key)
	}
}
