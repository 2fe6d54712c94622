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
	data, _, err := s.read(ctx, key, current)
	return data, err
}

// ReadVersion gives a version that is kept.
func (s *Store) ReadVersion(ctx context.Context, key types.NamespacedName, version int64) ([]byte, error) {
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

// read fetches the version that pick chooses, and gives the State that it was chosen from. A version may be dropped while it is read; so damage counts only when a
// second look chooses the same one.
func (s *Store) read(
	ctx context.Context, key types.NamespacedName, pick func(v1alpha1.StateStatus) (v1alpha1.StateVersion, bool),
) ([]byte, *v1alpha1.State, error) {
	var seen int64
	var damage error
	for {
		st, err := s.get(ctx, key)
		if err != nil {
			return nil, nil, err
		}
		v, ok := pick(st.Status)
		switch {
		case !ok && st.Status.Version > 0 && seen == 0 && len(st.Status.Versions) == 0:
			return nil, nil, refuse(Damaged, "state %s is at version %d but lists no versions", key, st.Status.Version)
		case !ok:
			return nil, nil, ErrNone
		case v.Version == seen:
			return nil, nil, damage
		}
		data, err := s.fetch(ctx, key, v)
		var refusal *Refusal
		if err == nil || !errors.As(err, &refusal) {
			return data, st, err
		}
		seen, damage = v.Version, err
	}
}
