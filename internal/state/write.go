package state

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Write makes data the next version of a state, for the holder of its lock. When it returns nil the version counts and
// is durable; when it returns an error that is no Refusal it may count or not, and sending it again finds out.
func (s *Store) Write(ctx context.Context, key types.NamespacedName, by Holder, id string, data []byte) error {
	summary, err := s.summarize(key, data)
	if err != nil {
		return refuse(Invalid, "%v", err)
	}
	return s.commit(ctx, key, summary, data, by, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.look(ctx, st, by)
		if err != nil {
			return nil, err
		}
		v := AdmitWrite(w, by, id, summary)
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		return v.Status, nil
	})
}

// commit keeps the bytes first and then makes them count, if admit still says so of the State that they are swapped
// into. Bytes are kept anew only when the version's number changed in between.
func (s *Store) commit(
	ctx context.Context, key types.NamespacedName, summary Summary, data []byte, by Holder,
	admit func(*v1alpha1.State) (*v1alpha1.StateStatus, error),
) error {
	var version v1alpha1.StateVersion
	var now v1alpha1.StateStatus
	var dropped []v1alpha1.StateVersion
	err := s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		dropped = nil
		admitted, err := admit(st)
		if err != nil || admitted == nil {
			return nil, err
		}
		if next := admitted.Version + 1; version.Version != next {
			at := metav1.NewTime(s.Now())
			version, err = s.keep(ctx, key, summary.version(next, by.Run, by.Attempt, at), data)
			if err != nil {
				return nil, err
			}
		}
		now, dropped = accept(*admitted, summary, version, s.Keep)
		return &now, nil
	})
	if err == nil && len(dropped) > 0 {
		s.sweep(ctx, key, now, dropped)
	}
	return err
}
