package state

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/state/decision"
)

// ErrNone means that there is no state, or not the requested version.
var ErrNone = errors.New("no state")

// Read returns the current version of a state: ErrNone before the first, a Rejection when its bytes are damaged.
func (s *Backups) Read(ctx context.Context, key types.NamespacedName) ([]byte, error) {
	data, _, err := s.read(ctx, key, decision.Current)
	return data, err
}

// ReadPlanned is Read for an attempt. During a plan it returns the version that the plan began with, if this process
// knows it: a plan of an older version than the current one is not applied, whenever the State changed.
func (s *Attempts) ReadPlanned(ctx context.Context, key types.NamespacedName, by decision.Holder) ([]byte, error) {
	if version, ok := s.fence.BegunPlan(key, by); ok {
		if data, err := s.fence.Versions.Get(ctx, key, version); err == nil {
			return data, nil
		}
	}
	return s.backups.Read(ctx, key)
}

// ReadVersion returns a version that is kept.
func (s *Backups) ReadVersion(ctx context.Context, key types.NamespacedName, version int64) ([]byte, error) {
	data, _, err := s.read(ctx, key, func(st v1alpha1.StateStatus) (v1alpha1.StateVersion, bool) {
		for _, v := range st.Versions {
			if v.Version == version {
				return v, true
			}
		}
		return v1alpha1.StateVersion{}, false
	})
	return data, err
}

// ReadRescued returns the state that an attempt could not save, while it is no version: ErrNone when there is none.
func (s *Backups) ReadRescued(ctx context.Context, key types.NamespacedName) ([]byte, error) {
	st, err := s.fence.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if st.Status.Rescued == nil {
		return nil, ErrNone
	}
	return s.readRescued(ctx, key, *st.Status.Rescued)
}

// readRescued reads the bytes of a rescued state.
func (s *Backups) readRescued(ctx context.Context, key types.NamespacedName, r v1alpha1.RescuedState) ([]byte, error) {
	data, err := s.bucket.Get(ctx, rescueKey(key, r.SHA256), MaxSize)
	if bucket.IsLost(err) {
		return nil, decision.Reject(decision.Damaged,
			"the state that attempt %d of Run %s rescued cannot be read: %v. "+
				"To continue without it, push one by force: "+
				"cairn state push %s FILE --force", r.Attempt, r.Run, err, key.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the rescued state of %s: %w", key, err)
	}
	return data, nil
}

// read returns the version that pick chooses, and the State that it was chosen from. A version may be deleted while
// it is read, so damage counts only when a second read chooses the same one, and only if no backup has its bytes.
func (s *Backups) read(
	ctx context.Context, key types.NamespacedName, pick func(v1alpha1.StateStatus) (v1alpha1.StateVersion, bool),
) ([]byte, *v1alpha1.State, error) {
	var seen int64
	var damage error
	for {
		st, err := s.fence.Get(ctx, key)
		if err != nil {
			return nil, nil, err
		}
		v, ok := pick(st.Status)
		switch {
		case !ok && st.Status.Version > 0 && seen == 0 && len(st.Status.Versions) == 0:
			return nil, nil, decision.Reject(decision.Damaged, "state %s is at version %d but lists no versions",
				key, st.Status.Version)
		case !ok:
			return nil, nil, ErrNone
		case v.Version == seen:
			data, err := s.readBackup(ctx, key, v)
			if err == nil && data == nil {
				err = damage
			} else if err == nil {
				s.fence.Log.Warn("a damaged version of a state was read from its backup",
					"namespace", key.Namespace, "stack", key.Name, "version", v.Version, "error", damage)
			}
			return data, st, err
		}
		data, err := s.fence.Versions.Get(ctx, key, v)
		if decision.ReasonOf(err) == "" {
			return data, st, err
		}
		seen, damage = v.Version, err
	}
}
