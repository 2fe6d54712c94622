package state

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/state/fence"
	"cairn.dev/cairn/internal/state/storage"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// Users are the requests of users.
type Users struct {
	fence    *fence.Fence
	bucket   storage.Bucket
	backups  *Backups
	journals *Journals
}

// Push writes data as the current version of a state, for a user. Force replaces a state that it does not follow. shown
// is the version that the user saw as the current one; 0 accepts any. A push that stored its bytes and failed before
// the State named them succeeds when it is repeated.
func (s *Users) Push(
	ctx context.Context, key types.NamespacedName, by string, data []byte, force bool, shown int64,
) (fence.Outcome, error) {
	if !force { // what is pushed by force replaces the backup too
		c, err := s.backups.compare(ctx, key)
		if err != nil {
			return fence.Outcome{}, err
		}
		defer c.body.Close()
		if c.Relation == decision.Unnamed && c.unnamed.Has(data) {
			made, err := s.restoreUnnamed(ctx, key, by, c.unnamed)
			return fence.Outcome{StateStatus: made}, err
		}
		if _, err := s.backups.restoreFrom(ctx, key, c); err != nil {
			return fence.Outcome{}, err
		}
	}
	return s.push(ctx, key, by, data, force, shown)
}

func (s *Users) push(
	ctx context.Context, key types.NamespacedName, by string, data []byte, force bool, shown int64,
) (fence.Outcome, error) {
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return fence.Outcome{}, decision.Reject(decision.Invalid, "%v", err)
	}
	next := &fence.Candidate{Summary: summary, Data: data, From: fence.Origin{By: by}}
	return s.commitForUser(ctx, key, next, shown, func(w decision.Snapshot) (*v1alpha1.StateStatus, int64, error) {
		if w.Stranded != nil {
			next.From.After = w.Stranded.At.Time
		}
		return decision.AdmitPush(w, summary, force)
	})
}

// Rollback creates a new version with the content of an older one, for a user. shown is as for Push.
func (s *Users) Rollback(
	ctx context.Context, key types.NamespacedName, by string, version, shown int64,
) (v1alpha1.StateStatus, error) {
	if _, err := s.backups.restore(ctx, key); err != nil {
		return v1alpha1.StateStatus{}, err
	}
	data, err := s.backups.ReadVersion(ctx, key, version)
	if errors.Is(err, ErrNone) {
		return v1alpha1.StateStatus{}, decision.Reject(decision.Missing, "version %d of state %s is not kept",
			version, key.Name)
	}
	if err != nil {
		return v1alpha1.StateStatus{}, err
	}
	content, err := document.Parse(data)
	if err != nil {
		return v1alpha1.StateStatus{}, decision.Reject(decision.Damaged, "version %d of state %s: %v", version,
			key.Name, err)
	}
	next := &fence.Candidate{Data: data, From: fence.Origin{By: by}}
	made, err := s.commitForUser(ctx, key, next, shown, func(w decision.Snapshot) (*v1alpha1.StateStatus,
		int64, error) {
		return decision.AdmitRollback(w, version, content)
	})
	return made.StateStatus, err
}

// commitForUser commits what a user requests, as long as the version that they saw is the current one.
func (s *Users) commitForUser(
	ctx context.Context, key types.NamespacedName, next *fence.Candidate, shown int64,
	admit func(decision.Snapshot) (*v1alpha1.StateStatus, int64, error),
) (fence.Outcome, error) {
	return s.fence.Commit(ctx, key, next, func(st *v1alpha1.State) (*v1alpha1.StateStatus, int64, error) {
		w, err := s.snapshotForUser(ctx, st, shown)
		if err != nil {
			return nil, 0, err
		}
		status, serial, err := admit(w)
		if status != nil {
			err = s.journals.recordHeld(ctx, key, st.Status)
		}
		return status, serial, err
	})
}

// Recover puts the state back that a user found in the log of a pod which could send it nowhere. A state that forked is
// kept as the one that was rescued.
func (s *Users) Recover(
	ctx context.Context, key types.NamespacedName, by string, from decision.Printed, data []byte,
) (fence.Outcome, error) {
	summary, err := s.fence.Summarize(key, data)
	if err != nil {
		return fence.Outcome{}, decision.Reject(decision.Invalid, "what is in the log is %v", err)
	}
	if _, err := s.backups.restore(ctx, key); err != nil {
		return fence.Outcome{}, err
	}
	next := &fence.Candidate{Summary: summary, Data: data, From: fence.Origin{By: by}}
	r := v1alpha1.RescuedState{
		SHA256: summary.SHA256, Serial: summary.Serial, Lineage: summary.Lineage,
		Run: from.Run, Attempt: from.Attempt, Base: from.Base, At: metav1.NewTime(s.fence.Now()),
	}
	made, err := s.commitForUser(ctx, key, next, 0, func(w decision.Snapshot) (*v1alpha1.StateStatus, int64, error) {
		if w.Over { // a pod that could send its state nowhere could not unlock it either
			w.Status.Lock = nil
		}
		if w.Stranded != nil {
			next.From.After = w.Stranded.At.Time
		}
		return decision.AdmitRecover(w, summary, from)
	})
	if decision.ReasonOf(err) == decision.Diverged {
		if kept := s.keepFork(ctx, key, r, data); kept != nil {
			return made, kept
		}
	}
	return made, err
}

// keepFork keeps a state beside the current version, unless another one waits already.
func (s *Users) keepFork(ctx context.Context, key types.NamespacedName, r v1alpha1.RescuedState, data []byte) error {
	if err := s.bucket.PutOnce(ctx, rescueKey(key, r.SHA256), data); err != nil {
		return fmt.Errorf("keep state %s: %w", key, err)
	}
	return s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if waiting := st.Status.Rescued; waiting != nil {
			if waiting.SHA256 == r.SHA256 {
				return nil, nil
			}
			return nil, decision.RejectSecondRescue(*waiting, r)
		}
		next := st.Status.DeepCopy()
		next.Rescued = &r
		return next, nil
	})
}

// Release ends the lock of that ID for a user, if its holder is known to be over.
func (s *Users) Release(ctx context.Context, key types.NamespacedName, id string) error {
	return s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.snapshotForUser(ctx, st, 0)
		if err != nil {
			return nil, err
		}
		next, err := decision.AdmitRelease(w, id)
		if decision.ReasonOf(err) == decision.Locked {
			return nil, s.whyHeld(ctx, key, st.Status.Lock)
		}
		return next, err
	})
}

// snapshotForUser gathers the facts for a decision about a user's request, and rejects one for another version than
// the current one; shown as for Push.
func (s *Users) snapshotForUser(ctx context.Context, st *v1alpha1.State, shown int64) (decision.Snapshot, error) {
	w := decision.Snapshot{Stack: st.Name, Status: *st.Status.DeepCopy(), Now: metav1.NewTime(s.fence.Now())}
	key := client.ObjectKeyFromObject(st)
	stack, err := s.stack(ctx, key)
	if err != nil {
		return w, err
	}
	w.Backend = decision.BackendName(stack.Spec.Backend)
	if lock := w.Status.Lock; lock != nil {
		if w.Over, err = s.fence.IsOver(ctx, key.Namespace, lock); err != nil {
			return w, err
		}
	}
	if err := s.addRuns(ctx, key, &w); err != nil {
		return w, err
	}
	return w, decision.CheckShown(st, shown)
}

// addRuns finds the Stack's Run that is at work, and where a state was lost last.
func (s *Users) addRuns(ctx context.Context, key types.NamespacedName, w *decision.Snapshot) error {
	runs := &v1alpha1.RunList{}
	for {
		err := s.fence.Live.List(ctx, runs, client.InNamespace(key.Namespace), client.Limit(fence.Page),
			client.Continue(runs.Continue))
		if err != nil {
			return fmt.Errorf("list Runs in %s: %w", key.Namespace, err)
		}
		for i := range runs.Items {
			if run := &runs.Items[i]; run.Spec.Stack.Name == key.Name {
				w.AddRun(run)
			}
		}
		if runs.Continue == "" {
			return nil
		}
	}
}

// whyHeld explains why the holder of a lock is not known to be over, and what to do.
func (s *Users) whyHeld(ctx context.Context, key types.NamespacedName, lock *v1alpha1.Lock) error {
	rejection := decision.RejectLocked(key.Name, lock)
	if lock.PodUID == "" {
		return rejection
	}
	run, err := s.fence.Run(ctx, key.Namespace, lock.Run)
	if err != nil {
		return err
	}
	pod, err := s.fence.PodOf(ctx, key.Namespace, lock, run)
	if err != nil {
		return err
	}
	gone, err := s.fence.PodGone(ctx, key.Namespace, pod, lock.PodUID)
	if err != nil {
		return err
	}
	rejection.Message = decision.DescribeHolder(lock, run, pod, gone)
	return rejection
}

// LockForUser locks a state for a user's engine.
func (s *Users) LockForUser(
	ctx context.Context, key types.NamespacedName, by decision.Holder, want decision.LockRequest,
) error {
	if _, err := s.backups.restore(ctx, key); err != nil { // the engine continues from what it reads next
		return err
	}
	return s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.snapshotForUser(ctx, st, 0)
		if err != nil {
			return nil, err
		}
		if w.Unsaved, err = s.unsaved(ctx, key); err != nil {
			return nil, err
		}
		return decision.AdmitUserLock(w, by, want)
	})
}

// ReadForUser returns the current version for a user's engine: ErrNone before the first. A Stack that does not
// exist, or whose state is in another backend, does not count as one without a state: an engine would create
// everything again.
func (s *Users) ReadForUser(ctx context.Context, key types.NamespacedName) ([]byte, error) {
	stack, err := s.stack(ctx, key)
	if err != nil {
		return nil, err
	}
	data, st, err := s.backups.read(ctx, key, decision.Current)
	w := decision.Snapshot{Stack: key.Name, Backend: decision.BackendName(stack.Spec.Backend)}
	if st != nil {
		w.Status = st.Status
	}
	if w.Backend != "" || w.Status.Backend != nil {
		return nil, decision.RejectInBackend(w)
	}
	return data, err
}

// unsaved are the addresses of what the journal has and the state does not, nor ever had.
func (s *Users) unsaved(ctx context.Context, key types.NamespacedName) ([]string, error) {
	resources, err := s.journals.JournalResources(ctx, key)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, r := range resources {
		if r.How == engine.NotInState {
			addresses = append(addresses, r.Address)
		}
	}
	return addresses, nil
}

// stack reads the Stack of a state; a Rejection when there is none.
func (s *Users) stack(ctx context.Context, key types.NamespacedName) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	err := s.fence.Live.Get(ctx, key, stack)
	if apierrors.IsNotFound(err) {
		return nil, decision.Reject(decision.Missing,
			"there is no Stack %s in namespace %s: create it first, suspended "+
				"if it is not to run yet",
			key.Name, key.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read Stack %s: %w", key, err)
	}
	return stack, nil
}
