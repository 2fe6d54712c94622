// Package state stores the Stacks' states: their versions, their lock, and what could not be written. It is the
// fence: whatever a late, frozen or duplicated runner requests, only the pod that the Run names, with its lock and
// the next serial, changes a state.
//
// The bytes are stored first, in Secrets or in the bucket, under names that contain their digest. Then one
// compare-and-swap on the State object declares them the current version. A crash between the two leaves garbage.
//
// The rules are in package decision, the bytes in package storage, and what is known of an engine's file in package
// document.
package state

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
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/state/storage"
)

// MaxSize of a state in bytes.
const MaxSize = document.MaxSize

// Options of a Store.
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

// Store keeps states. Its methods may be called at the same time, also by other processes.
type Store struct {
	client client.Client
	live   client.Reader
	bucket storage.Bucket
	// versions has the bytes.
	versions *storage.Versions
	recent   *recent
	Options
}

// New returns a Store that writes through c and reads through live, which must not be a cache.
func New(c client.Client, live client.Reader, b storage.Bucket, o Options) *Store {
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
	return &Store{client: c, live: live, bucket: b, versions: versions, recent: newRecent(), Options: o}
}

// get reads a State; one that does not exist is returned without a resourceVersion.
func (s *Store) get(ctx context.Context, key types.NamespacedName) (*v1alpha1.State, error) {
	st := &v1alpha1.State{}
	if err := s.live.Get(ctx, key, st); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read State %s: %w", key, err)
	}
	st.Namespace, st.Name = key.Namespace, key.Name
	s.recent.add(st)
	return st, nil
}

// run reads a Run; nil when it is gone.
func (s *Store) run(ctx context.Context, namespace, name string) (*v1alpha1.Run, error) {
	run := &v1alpha1.Run{}
	err := s.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, run)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Run %s/%s: %w", namespace, name, err)
	}
	return run, nil
}

// snapshot gathers the facts for a decision about a caller. A user has no Run.
func (s *Store) snapshot(ctx context.Context, st *v1alpha1.State, by decision.Holder) (decision.Snapshot, error) {
	if by.User != "" {
		return decision.Snapshot{Stack: st.Name, Status: st.Status, Now: metav1.NewTime(s.Now())}, nil
	}
	run, err := s.run(ctx, st.Namespace, by.Run)
	if err != nil {
		return decision.Snapshot{}, err
	}
	if run != nil && run.Spec.Stack.Name != st.Name {
		return decision.Snapshot{}, decision.Reject(decision.NotCurrent, "Run %s is of Stack %s",
			run.Name, run.Spec.Stack.Name)
	}
	return decision.Snapshot{Stack: st.Name, Status: st.Status, Run: run, Now: metav1.NewTime(s.Now())}, nil
}

// tries is how often a compare-and-swap that lost to another is decided again.
const tries = 8

// decider decides on a State. It returns the status to write, nil to change nothing, or why it is rejected.
type decider func(*v1alpha1.State) (*v1alpha1.StateStatus, error)

// update is the one way a State changes: read it, decide, swap. After a conflict it is read and decided again.
func (s *Store) update(ctx context.Context, key types.NamespacedName, decide decider) error {
	return s.updateFrom(ctx, key, nil, decide)
}

// updateRecent is update for an attempt. It first decides on the State that this process read or wrote last, and saves
// the read if the swap succeeds, which proves that it was still the current one (decision 81).
func (s *Store) updateRecent(ctx context.Context, key types.NamespacedName, decide decider) error {
	return s.updateFrom(ctx, key, s.recent.get(key), decide)
}

// updateFrom is update that first decides on a remembered State, if it is not nil. Only a swap shows that such a State is
// the current one: after any error, and if nothing has to change, it is decided again on what the API server has.
func (s *Store) updateFrom(
	ctx context.Context, key types.NamespacedName, remembered *v1alpha1.State, decide decider,
) error {
	for try := range tries {
		st, live := remembered, remembered == nil
		remembered = nil
		if live {
			var err error
			if st, err = s.get(ctx, key); err != nil {
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
		err = s.swap(ctx, st, *next)
		switch {
		case err == nil:
			return nil
		case !live:
			continue
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("write State %s: %w", key, err)
		}
		if err := s.Pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("write State %s: %d others were faster", key, tries)
}

// swap writes a status if the State is still as it was read.
func (s *Store) swap(ctx context.Context, st *v1alpha1.State, next v1alpha1.StateStatus) error {
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
		err = s.client.Create(ctx, st)
	} else {
		err = s.client.Update(ctx, st)
	}
	if err == nil {
		s.recent.add(st)
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
