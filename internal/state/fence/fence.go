// Package fence is the only code that changes a State, and so decides which version of a state counts: whatever a late,
// frozen or duplicated process requests, what it decided on is what the API server still has when it is written.
//
// The bytes of a version are stored first, in Secrets or in the bucket, under names that contain their digest (package
// storage). Then one compare-and-swap on the State object declares them the current version. A crash between the two
// leaves garbage. Whether a version may follow is decided by those who request it (package decision), on the State that
// is swapped.
package fence

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
)

// OrphanedLabel is on a State whose Stack is deleted and left it: the State may be deleted by hand.
const OrphanedLabel = "cairn.dev/orphaned"

// Options of a Fence.
type Options struct {
	// Keep is how many versions of a state are kept; 0 means 30.
	Keep int
	// Storage of the bytes; empty means Secrets.
	Storage v1alpha1.StateStorage
	// SecretLimit is the compressed size past which the bucket is the home; 0 means 8 MiB.
	SecretLimit int
	// Fingerprint returns a short text for a message, which cannot be computed without the installation's key; nil
	// stores no fingerprints of outputs, and no Stack can use another's.
	Fingerprint func(message []byte) string
	// Now is the clock; nil means the real one.
	Now func() time.Time
	// Log; nil means slog's default.
	Log *slog.Logger
	// Pause waits before a compare-and-swap that lost is decided again; nil waits a few milliseconds, more each
	// time.
	Pause func(ctx context.Context, try int) error
}

// Fence changes States. Its methods may be called at the same time, also by other processes.
type Fence struct {
	Client client.Client
	// Live reads without a cache.
	Live client.Reader
	// Versions has the bytes.
	Versions *storage.Versions
	// Written is called with each version once it is the current one, and the UID of the Stack it is of, if that is
	// known.
	Written func(ctx context.Context, key types.NamespacedName, stack types.UID, now v1alpha1.StateStatus, data []byte)
	recent  *recent
	Options
}

// New returns a Fence that writes through c and reads through live, which must not be a cache.
func New(c client.Client, live client.Reader, b storage.Bucket, o Options) *Fence {
	o.Keep = cmp.Or(o.Keep, 30)
	o.SecretLimit = cmp.Or(o.SecretLimit, 8<<20)
	o.Storage = cmp.Or(o.Storage, v1alpha1.StateStorageSecret)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	versions := &storage.Versions{
		Client: c, Live: live, Bucket: b, Storage: o.Storage, SecretLimit: o.SecretLimit, Log: o.Log,
	}
	return &Fence{Client: c, Live: live, Versions: versions, recent: newRecent(), Options: o}
}

// Get reads a State; one that does not exist is returned without a resourceVersion.
func (f *Fence) Get(ctx context.Context, key types.NamespacedName) (*v1alpha1.State, error) {
	st := &v1alpha1.State{}
	if err := f.Live.Get(ctx, key, st); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read State %s: %w", key, err)
	}
	st.Namespace, st.Name = key.Namespace, key.Name
	f.recent.add(st)
	return st, nil
}

// Run reads a Run; nil when it is gone.
func (f *Fence) Run(ctx context.Context, namespace, name string) (*v1alpha1.Run, error) {
	run := &v1alpha1.Run{}
	err := f.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, run)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Run %s/%s: %w", namespace, name, err)
	}
	return run, nil
}

// Snapshot gathers the facts for a decision about a caller. A user has no Run.
func (f *Fence) Snapshot(ctx context.Context, st *v1alpha1.State, by decision.Holder) (decision.Snapshot, error) {
	if by.User != "" {
		return decision.Snapshot{Stack: st.Name, Status: st.Status, Now: metav1.NewTime(f.Now())}, nil
	}
	run, err := f.Run(ctx, st.Namespace, by.Run)
	if err != nil {
		return decision.Snapshot{}, err
	}
	if run != nil && run.Spec.Stack.Name != st.Name {
		return decision.Snapshot{}, decision.Reject(decision.NotCurrent, "Run %s is of Stack %s",
			run.Name, run.Spec.Stack.Name)
	}
	return decision.Snapshot{Stack: st.Name, Status: st.Status, Run: run, Now: metav1.NewTime(f.Now())}, nil
}

// Tries is how often a compare-and-swap that lost to another is decided again.
const Tries = 8

// A Decider decides on a State. It returns the status to write, nil to change nothing, or why it is rejected.
type Decider func(*v1alpha1.State) (*v1alpha1.StateStatus, error)

// Update is the one way a State changes: read it, decide, swap. After a conflict it is read and decided again.
func (f *Fence) Update(ctx context.Context, key types.NamespacedName, decide Decider) error {
	return f.UpdateFrom(ctx, key, nil, decide)
}

// UpdateRecent is Update for an attempt. It first decides on the State that this process read or wrote last, and saves
// the read if the swap succeeds, which proves that it was still the current one (decision 81).
func (f *Fence) UpdateRecent(ctx context.Context, key types.NamespacedName, decide Decider) error {
	return f.UpdateFrom(ctx, key, f.Recent(key), decide)
}

// UpdateFrom is Update that first decides on a remembered State, if it is not nil. Only a swap shows that such a State
// is the current one: after any error, and if nothing has to change, it is decided again on what the API server has.
func (f *Fence) UpdateFrom(
	ctx context.Context, key types.NamespacedName, remembered *v1alpha1.State, decide Decider,
) error {
	for try := range Tries {
		st, live := remembered, remembered == nil
		remembered = nil
		if live {
			var err error
			if st, err = f.Get(ctx, key); err != nil {
				return err
			}
		}
		next, err := decide(st)
		switch {
		case (err != nil || next == nil) && !live:
			continue
		case err != nil || next == nil:
			return err
		}
		err = f.swap(ctx, st, *next)
		switch {
		case err == nil:
			return nil
		case !live:
			continue
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("write State %s: %w", key, err)
		}
		if err := f.Pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("write State %s: %d others were faster", key, Tries)
}

// swap writes a status if the State is still as it was read.
func (f *Fence) swap(ctx context.Context, st *v1alpha1.State, next v1alpha1.StateStatus) error {
	st.Status = next
	if next.Version > 0 { // without one the status may have been lost
		st.Spec.Version = next.Version
	}
	delete(st.Labels, OrphanedLabel)
	if st.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(st, v1alpha1.Finalizer)
	}
	var err error
	if st.ResourceVersion == "" {
		err = f.Client.Create(ctx, st)
	} else {
		err = f.Client.Update(ctx, st)
	}
	if err == nil {
		f.recent.add(st)
	}
	return err
}

func pause(ctx context.Context, try int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(5 * time.Millisecond << try)): //nolint:gosec // jitter
		return nil
	}
}
