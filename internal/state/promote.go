package state

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Promote makes a rescued state the current version, if there is one and it is newer, and before that the state of the backup, if Kubernetes has
// gone back in time. It has to be called before anybody plans or applies: a plan that does not know what was made would make it again. When it
// returns an error, nobody may.
func (s *Store) Promote(ctx context.Context, key types.NamespacedName) error {
	now, err := s.restore(ctx, key)
	if err != nil || now.Rescued == nil {
		return err
	}
	r := *now.Rescued
	data, err := s.readRescued(ctx, key, r)
	if err != nil {
		return err
	}
	summary, err := s.summarize(key, data)
	if err != nil {
		return refuse(Damaged, "the state that attempt %d of Run %s rescued: %v", r.Attempt, r.Run, err)
	}
	by := Holder{Run: r.Run, Attempt: r.Attempt}
	older := false
	next := &candidate{summary, data, by.origin()}
	_, err = s.commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		older = false
		if st.Status.Rescued == nil || st.Status.Rescued.SHA256 != r.SHA256 {
			return nil, nil
		}
		switch standing(st.Status, r) {
		case Forked:
			return nil, forked(key, st.Status, r)
		case Same, Older:
			older = true
			return nil, nil
		}
		status, err := s.unlocked(ctx, st)
		if err != nil {
			return nil, err
		}
		status.Rescued = nil
		return status, s.number(key, next, summary, data, firstSerial(st.Status, summary))
	})
	if err != nil || !older {
		return err
	}
	return s.dropRescued(ctx, key, r)
}

// unlocked is the status without the lock of a holder that is over. While anybody else holds it nothing is promoted.
func (s *Store) unlocked(ctx context.Context, st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
	next := st.Status.DeepCopy()
	if next.Lock == nil {
		return next, nil
	}
	gone, err := s.over(ctx, st.Namespace, next.Lock)
	if err != nil {
		return nil, err
	}
	if !gone {
		return nil, lockedBy(next.Lock)
	}
	next.Lock = nil
	return next, nil
}

func (s *Store) dropRescued(ctx context.Context, key types.NamespacedName, r v1alpha1.RescuedState) error {
	err := s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if st.Status.Rescued == nil || st.Status.Rescued.SHA256 != r.SHA256 {
			return nil, nil
		}
		next := st.Status.DeepCopy()
		next.Rescued = nil
		return next, nil
	})
	if err == nil {
		s.Log.Warn("a rescued state is not newer than the current one; it stays in the bucket",
			"namespace", key.Namespace, "stack", key.Name, "run", r.Run, "attempt", r.Attempt, "serial", r.Serial, "object", rescueKey(key, r.SHA256))
	}
	return err
}

func forked(key types.NamespacedName, now v1alpha1.StateStatus, r v1alpha1.RescuedState) *Refusal {
	return refuse(Diverged, "attempt %d of Run %s could not save its state (serial %d, lineage %s), and version %d (serial %d, lineage %s), "+
		"which is current now, is not the one that it started from. Nothing is planned until you have merged the two. Read both: cairn state "+
		"pull %[8]s; cairn state pull %[8]s --rescued. Then cairn state push %[8]s FILE --force, and cairn apply %[8]s",
		r.Attempt, r.Run, r.Serial, r.Lineage, now.Version, now.Serial, now.Lineage, key.Name)
}

// rescuedFirst refuses what a user asks for while a rescued state waits.
func rescuedFirst(now v1alpha1.StateStatus) *Refusal {
	r := now.Rescued
	if standing(now, *r) == Forked {
		return refuse(Stale, "attempt %d of Run %s left a state (serial %d) that does not follow the current version: merge the two (cairn "+
			"state pull <stack> --rescued has it), and push the result by force", r.Attempt, r.Run, r.Serial)
	}
	return refuse(Stale, "attempt %d of Run %s left a newer state (serial %d), which becomes a version before the next plan: let that be "+
		"made first, or push by force to leave it behind", r.Attempt, r.Run, r.Serial)
}
