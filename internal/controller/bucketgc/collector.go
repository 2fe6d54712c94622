package bucketgc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
)

const (
	// MinAfter is the shortest Collector.After: what is about to be named is as old as half of it and an hour.
	MinAfter = 24 * time.Hour

	// every is how often garbage is collected, and soon when it is for the first time, so that nothing happens while a
	// process starts. Both are spread.
	every = 12 * time.Hour
	soon  = 30 * time.Minute
	// longest is how long a garbage collection may take. What it does not get to is the next one's.
	longest = 2 * time.Hour
	// most is how many objects a garbage collection deletes in a folder.
	most = 20_000
	// pace is the time that a request to the bucket takes at least, lists apart.
	pace = 20 * time.Millisecond
)

// RenewAfter is how old what is named may be, for a Collector.After.
func RenewAfter(after time.Duration) time.Duration { return after / 2 }

// CheckAfter rejects times that are too short to be safe; 0 disables garbage collection.
func CheckAfter(after time.Duration) error {
	if after != 0 && after < MinAfter {
		return fmt.Errorf("garbage collection of the bucket needs at least %s, or 0 to disable it: it is %s",
			MinAfter, after)
	}
	return nil
}

// Collector deletes the garbage of the bucket: objects to which nothing refers. It runs in the process that creates
// these objects: the leader of the operators.
type Collector struct {
	// Live reads all Stacks, Runs and States, those of other operators on the same bucket too.
	Live client.Reader
	// Bucket whose garbage is collected. It has RenewAfter.
	Bucket *bucket.Bucket
	// After is how long an object stays after nothing refers to it.
	After time.Duration
	// Log and Metrics record each garbage collection.
	Log     *slog.Logger
	Metrics *Metrics
}

// Collected is the result of a garbage collection.
type Collected struct {
	// Skipped is true when nothing was checked, see used.blind.
	Skipped bool
	// Folders by name.
	Folders map[string]Folder
}

// Folder is the result of a garbage collection in a folder: the objects that are left, and those that were deleted.
type Folder struct {
	Objects, Bytes, Deleted, DeletedBytes int64
}

// Start collects garbage periodically until ctx is done.
func (c *Collector) Start(ctx context.Context) error {
	wait := spread(soon)
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		c.once(ctx)
		wait = spread(every)
	}
}

// spread returns a time that is longer by up to half.
func spread(d time.Duration) time.Duration {
	return d + rand.N(d/2) //nolint:gosec // it only keeps installs apart
}

func (c *Collector) once(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	began := time.Now()
	collected, err := c.Collect(ctx, began)
	if errors.Is(err, context.Canceled) {
		return
	}
	c.Metrics.count(collected, err)
	log := c.Log.With("took", time.Since(began).Round(time.Millisecond).String())
	for name, f := range collected.Folders {
		log = log.With(name, slog.GroupValue(slog.Int64("objects", f.Objects), slog.Int64("bytes", f.Bytes),
			slog.Int64("deleted", f.Deleted), slog.Int64("deletedBytes", f.DeletedBytes)))
	}
	switch {
	case err != nil:
		log.Warn("garbage collection of the bucket failed; it is retried", "error", err)
	case collected.Skipped:
		log.Info("garbage collection of the bucket skipped: there is no Stack, Run or State")
	default:
		log.Info("garbage collection of the bucket succeeded")
	}
}

// Collect deletes what nothing refers to and nothing has written, or been about to name, for After before now. When
// what is named cannot be determined nothing is deleted.
func (c *Collector) Collect(ctx context.Context, now time.Time) (Collected, error) {
	u, err := c.gather(ctx)
	if err != nil {
		return Collected{}, fmt.Errorf("find what is in use: %w", err)
	}
	if u.blind() {
		return Collected{Skipped: true}, nil
	}
	collected := Collected{Folders: map[string]Folder{}}
	for _, folder := range []string{folderClosures, folderInputs, folderSources} {
		var f Folder
		err := c.Bucket.Walk(ctx, folder, func(o bucket.Object) error {
			f.Objects, f.Bytes = f.Objects+1, f.Bytes+o.Size
			if f.Deleted >= most {
				return nil
			}
			gone, err := c.act(ctx, u, o, now.Add(-c.After))
			if gone {
				f.Objects, f.Bytes, f.Deleted, f.DeletedBytes = f.Objects-1, f.Bytes-o.Size, f.Deleted+
					1, f.DeletedBytes+o.Size
			}
			return err
		})
		collected.Folders[folder] = f
		if err != nil {
			return collected, fmt.Errorf("collect garbage in %s: %w", folder, err)
		}
	}
	return collected, nil
}

// act carries out the decision on an object, and returns whether it was deleted.
func (c *Collector) act(ctx context.Context, u used, o bucket.Object, before time.Time) (gone bool, err error) {
	do := u.decide(o, before)
	if do == ask {
		if err := rest(ctx); err != nil {
			return false, err
		}
		source, err := c.Bucket.Get(ctx, o.Key, largestDigest)
		switch {
		case errors.Is(err, bucket.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		}
		do = u.asked(string(source))
	}
	if do == keep {
		return false, nil
	}
	if err := rest(ctx); err != nil {
		return false, err
	}
	if do == renew {
		err := c.Bucket.Renew(ctx, o.Key)
		if errors.Is(err, bucket.ErrNotFound) {
			return false, nil
		}
		return false, err
	}
	return c.Bucket.DeleteOlder(ctx, o.Key, before)
}

// largestDigest is more than a digest has.
const largestDigest = 100

// rest keeps the pace.
func rest(ctx context.Context) error {
	timer := time.NewTimer(pace)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// gather finds out what is named.
func (c *Collector) gather(ctx context.Context) (used, error) {
	u := used{inputs: map[string]bool{}, sources: map[string]bool{}}
	// Runs first: from there names move to Stacks and States, and the Run goes. What moves the other way is young.
	for _, list := range []client.ObjectList{&v1alpha1.RunList{}, &v1alpha1.StackList{}, &v1alpha1.StateList{}} {
		if err := c.name(ctx, list, &u); err != nil {
			return u, err
		}
	}
	err := c.Bucket.Walk(ctx, folderVariables, func(o bucket.Object) error {
		u.variables(o.Key)
		return nil
	})
	if err != nil {
		return u, err
	}
	for digest := range u.inputs {
		if err := rest(ctx); err != nil {
			return u, err
		}
		doc, err := c.document(ctx, digest)
		if errors.Is(err, bucket.ErrNotFound) {
			continue // a Stack names its inputs before there is a Run; its code is young then
		}
		if err != nil {
			return u, err
		}
		u.sources[doc.Source] = true
		if doc.Build != nil {
			u.sources[doc.Build.Source] = true
		}
	}
	return u, nil
}

// page is how many objects are read at once: there may be a hundred thousand.
const page = 500

// name adds what all objects of a kind name.
func (c *Collector) name(ctx context.Context, list client.ObjectList, u *used) error {
	for {
		if err := c.Live.List(ctx, list, client.Limit(page), client.Continue(list.GetContinue())); err != nil {
			return err
		}
		u.name(list)
		if list.GetContinue() == "" {
			return nil
		}
		if err := rest(ctx); err != nil {
			return err
		}
	}
}

// document reads one past the memory of those that are in use.
func (c *Collector) document(ctx context.Context, digest string) (inputs.Document, error) {
	data, err := c.Bucket.Get(ctx, folderInputs+"/"+digest, inputs.MaxSize)
	if err != nil {
		return inputs.Document{}, err
	}
	doc, err := inputs.Decode(data)
	if err != nil {
		return inputs.Document{}, fmt.Errorf("inputs %s: %w", digest, err)
	}
	return doc, nil
}
