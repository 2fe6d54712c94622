package state

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/fence"
	"cairn.dev/cairn/internal/state/storage"
)

// Delete deletes a state permanently once its resources are destroyed. It rejects a state that still has resources.
// What was cut off is finished by calling it again.
func (s *Store) Delete(ctx context.Context, key types.NamespacedName) error {
	return s.end(ctx, key, false)
}

// Purge deletes a state whatever it still holds, for a user who requested that explicitly. It does not interrupt an
// apply.
func (s *Store) Purge(ctx context.Context, key types.NamespacedName) error {
	return s.end(ctx, key, true)
}

// end first takes the lock, so that no Run begins, then deletes the bytes, then the State.
func (s *Store) end(ctx context.Context, key types.NamespacedName, force bool) error {
	there := true
	err := s.fence.Update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		if there = st.ResourceVersion != ""; !there {
			return nil, nil
		}
		w := decision.Snapshot{Stack: key.Name, Status: st.Status}
		if lock := st.Status.Lock; lock != nil {
			var err error
			if w.Over, err = s.fence.IsOver(ctx, key.Namespace, lock); err != nil {
				return nil, err
			}
			if decision.IsEnding(st.Status) {
				return nil, nil
			}
		}
		if err := decision.AdmitDelete(w, force); err != nil {
			return nil, err
		}
		next := st.Status.DeepCopy()
		next.Lock = &v1alpha1.Lock{ID: decision.DeletionLock, Who: "cairn", Since: metav1.NewTime(s.fence.Now())}
		return next, nil
	})
	if err != nil || !there {
		return err
	}
	return s.deleteContents(ctx, key)
}

// resumeEnd completes a deletion that has begun, and reports whether one had. A Stack that claims the State by then
// gets neither its bytes nor its lock.
func (s *Store) resumeEnd(ctx context.Context, key types.NamespacedName) (begun bool, err error) {
	if begun, err = s.isEnding(ctx, key); err != nil || !begun {
		return begun, err
	}
	return true, s.deleteContents(ctx, key)
}

// deleteContents deletes the bytes of a State whose deletion has begun, and then the State. A process that was
// suspended in here may find that another one has completed the deletion, and that a new Stack of that name has a
// State. So it checks again before each step.
func (s *Store) deleteContents(ctx context.Context, key types.NamespacedName) error {
	names, err := s.fence.Versions.ListSecrets(ctx, key, false)
	if err != nil {
		return err
	}
	st, err := s.fence.Get(ctx, key)
	if err != nil || !decision.IsEnding(st.Status) {
		return err
	}
	kept, err := s.keptInBucket(ctx, key, st.Status)
	if err != nil {
		return err
	}
	if err := s.fence.Versions.DeleteSecrets(ctx, key.Namespace, names); err != nil {
		return err
	}
	if kept {
		return s.remove(ctx, key)
	}
	for _, folder := range []string{storage.BucketFolder(key), rescueFolder(key), inputsFolder(key),
		journalFolder(key)} {
		if ending, err := s.isEnding(ctx, key); err != nil || !ending {
			return err
		}
		if err := s.bucket.DeletePrefix(ctx, folder); err != nil {
			return err
		}
	}
	return s.remove(ctx, key)
}

// keptInBucket reports whether what the bucket has of a State stays, after it wrote the backup of the current version:
// the State has content and goes with its namespace, in which nothing can destroy its resources any more. A Stack of
// that name in a namespace of that name does not take it without a user.
func (s *Store) keptInBucket(ctx context.Context, key types.NamespacedName, now v1alpha1.StateStatus) (bool, error) {
	if now.Resources == 0 && len(now.Outputs) == 0 && now.Rescued == nil {
		return false, nil
	}
	ends, err := s.namespaceEnds(ctx, key.Namespace)
	if err != nil || !ends {
		return false, err
	}
	b, body, err := s.openBackup(ctx, key)
	if err != nil {
		return false, err
	}
	_ = body.Close() // only its head was read
	if b == nil || decision.CompareBackup(now, *b, b.Stack) == decision.Older {
		err = s.backUpCurrent(ctx, key, now)
	}
	if decision.ReasonOf(err) == decision.Damaged { // then a backup cannot be written
		err = nil
	}
	return true, err
}

// namespaceEnds reports whether a namespace is being deleted.
func (s *Store) namespaceEnds(ctx context.Context, namespace string) (bool, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := s.fence.Live.Get(ctx, types.NamespacedName{Name: namespace}, meta)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("metadata of Namespace %s: %w", namespace, err)
	}
	return err == nil && meta.DeletionTimestamp != nil, nil
}

// isEnding reports whether the deletion of the State of that name has begun.
func (s *Store) isEnding(ctx context.Context, key types.NamespacedName) (bool, error) {
	st, err := s.fence.Get(ctx, key)
	return err == nil && decision.IsEnding(st.Status), err
}

// remove takes the State itself away.
func (s *Store) remove(ctx context.Context, key types.NamespacedName) error {
	st, err := s.fence.Get(ctx, key)
	if err != nil || !decision.IsEnding(st.Status) {
		return err
	}
	if controllerutil.RemoveFinalizer(st, v1alpha1.Finalizer) {
		if err := s.fence.Client.Update(ctx, st); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(s.fence.Client.Delete(ctx, st,
		client.Preconditions{UID: &st.UID, ResourceVersion: &st.ResourceVersion}))
}

// Orphan marks a State whose Stack is deleted and leaves it. With the mark users may delete the State; it is
// removed when a Stack of that name writes to it again.
func (s *Store) Orphan(ctx context.Context, key types.NamespacedName) error {
	st, err := s.fence.Get(ctx, key)
	if err != nil || st.ResourceVersion == "" {
		return err
	}
	if decision.IsEnding(st.Status) { // there is nothing to leave any more
		return s.deleteContents(ctx, key)
	}
	ends := false
	if st.DeletionTimestamp != nil { // its end leaves what the bucket has if it goes with its namespace
		if ends, err = s.namespaceEnds(ctx, key.Namespace); err != nil {
			return err
		}
	}
	if st.DeletionTimestamp != nil && !ends {
		return fmt.Errorf("the State %s is being deleted, so it would be deleted with the Stack that is to leave it: "+
			"set spec.deletionPolicy to Destroy, or save it and remove its finalizer", key.Name)
	}
	before := st.DeepCopy()
	if st.Labels == nil {
		st.Labels = map[string]string{}
	}
	st.Labels[fence.OrphanedLabel] = "true"
	return s.fence.Client.Patch(ctx, st, client.MergeFrom(before))
}
