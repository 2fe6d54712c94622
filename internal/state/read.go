package state

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// ErrNone says that there is no state, or not the version that was asked for.
var ErrNone = errors.New("no state")

// Read gives the current version of a state: ErrNone before the first, a Refusal when its bytes are damaged.
func (s *Store) Read(ctx context.Context, key types.NamespacedName) ([]byte, error) {
	return s.read(ctx, key, func(st v1alpha1.StateStatus) (v1alpha1.StateVersion, bool) { return current(st) })
}

// ReadVersion gives a version that is kept.
func (s *Store) ReadVersion(ctx context.Context, key types.NamespacedName, version int64) ([]byte, error) {
	return s.read(ctx, key, func(st v1alpha1.StateStatus) (v1alpha1.StateVersion, bool) {
		for _, v := range st.Versions {
			if v.Version == version {
				return v, true
			}
		}
		return v1alpha1.StateVersion{}, false
	})
}

// read fetches the version that pick chooses. A version may be dropped while it is read; so damage counts only when a
// second look chooses the same one.
func (s *Store) read(
	ctx context.Context, key types.NamespacedName, pick func(v1alpha1.StateStatus) (v1alpha1.StateVersion, bool),
) ([]byte, error) {
	var seen int64
	var damage error
	for {
		st, err := s.get(ctx, key)
		if err != nil {
			return nil, err
		}
		v, ok := pick(st.Status)
		switch {
		case !ok && st.Status.Version > 0 && seen == 0 && len(st.Status.Versions) == 0:
			return nil, refuse(Damaged, "state %s is at version %d but lists no versions", key, st.Status.Version)
		case !ok:
			return nil, ErrNone
		case v.Version == seen:
			return nil, damage
		}
		data, err := s.fetch(ctx, key, v)
		var refusal *Refusal
		if err == nil || !errors.As(err, &refusal) {
			return data, err
		}
		seen, damage = v.Version, err
	}
}
