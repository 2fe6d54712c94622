package state

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Write makes data the next version of a state, for the holder of its lock. When it returns nil the version counts and
// is durable; when it returns an error that is no Refusal it may count or not, and sending it again finds out.
func (s *Store) Write(ctx context.Context, key types.NamespacedName, by Holder, id string, data []byte) error {
	_, err := s.WriteVersion(ctx, key, by, id, data)
	return err
}

// WriteVersion is Write, and gives what there is afterwards.
func (s *Store) WriteVersion(ctx context.Context, key types.NamespacedName, by Holder, id string, data []byte) (Outcome, error) {
	summary, err := s.summarize(key, data)
	if err != nil {
		return Outcome{}, refuse(Invalid, "%v", err)
	}
	unchanged := false
	now, err := s.commit(ctx, key, &candidate{summary, data, by.origin()}, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.look(ctx, st, by)
		if err != nil {
			return nil, err
		}
		v := AdmitWrite(w, by, id, summary)
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		if unchanged = v.Status == nil; !unchanged && by.User != "" { // what a user took out of the state is not taken back
			err = s.noteHeld(ctx, key, st.Status)
		}
		return v.Status, err
	})
	return Outcome{now, unchanged}, err
}

// candidate is a state that is to become a version.
type candidate struct {
	Summary
	data []byte
	from origin
}

// commit keeps the bytes first and then makes them count, if admit still says so of the State that they are swapped
// into; admit may also change what is to be kept. Bytes are kept anew only when they or the version's number changed in
// between. It gives the status that is there then.
func (s *Store) commit(
	ctx context.Context, key types.NamespacedName, next *candidate,
	admit func(*v1alpha1.State) (*v1alpha1.StateStatus, error),
) (v1alpha1.StateStatus, error) {
	var version v1alpha1.StateVersion
	var now v1alpha1.StateStatus
	var dropped []v1alpha1.StateVersion
	counts := false
	err := s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		now, dropped, counts = st.Status, nil, false
		admitted, err := admit(st)
		if err != nil || admitted == nil {
			return nil, err
		}
		if number := admitted.Version + 1; version.Version != number || version.SHA256 != next.SHA256 {
			version, err = s.keep(ctx, key, next.version(number, next.from, s.date(next.from)), next.data)
			if err != nil {
				return nil, err
			}
		}
		now, dropped = accept(*admitted, next.Summary, version, s.Keep)
		counts = true
		return &now, nil
	})
	if err == nil && counts {
		if err := s.backUp(ctx, key, now, next.data); err != nil {
			s.Log.Warn("a state has no backup for now", "namespace", key.Namespace, "stack", key.Name, "version", now.Version, "error", err)
		}
	}
	if err == nil && len(dropped) > 0 {
		s.sweep(ctx, key, now, dropped)
	}
	return now, err
}

// date is when a version counts as written. Of it whole seconds are kept.
func (s *Store) date(from origin) metav1.Time {
	at := s.Now()
	if !at.Truncate(time.Second).After(from.after) {
		at = from.after.Add(time.Second)
	}
	return metav1.NewTime(at)
}
