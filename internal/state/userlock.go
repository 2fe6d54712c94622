package state

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
)

// A user's engine works with the state of a Stack outside of the cluster, as an attempt does within it: it takes the
// lock, writes versions under it with Write, and gives it back with Unlock. There is no pod by which Cairn could know
// that it is over, so its lock does not expire.

// AdmitUserLock says whether a user's engine gets the lock. What works on the state, or was planned for it, comes
// first, as it does before a push: the user's engine would otherwise change real resources, and could not write the
// state afterwards.
func AdmitUserLock(w World, by Holder, want LockRequest) Verdict {
	now := w.Status
	if !lockable(want.ID) {
		return Verdict{Refusal: badLockID(want.ID)}
	}
	if holds(now.Lock, by) && now.Lock.ID == want.ID { // sent again
		return Verdict{}
	}
	if refusal := atRest(w); refusal != nil {
		return Verdict{Refusal: refusal}
	}
	switch {
	case w.Backend != "" || now.Backend != nil:
		return Verdict{Refusal: keptInBackend(w)}
	case now.Rescued != nil:
		return Verdict{Refusal: rescuedFirst(now)}
	case isLost(w):
		return Verdict{Refusal: lostFirst(w, "push by force")}
	case len(w.Unsaved) > 0:
		return Verdict{Refusal: importedFirst(w.Unsaved)}
	}
	next := now.DeepCopy()
	next.Lock = &v1alpha1.Lock{ID: want.ID, By: by.User, Who: want.Who, Since: w.Now}
	return Verdict{Status: next}
}

// keptInBackend rejects an engine that would work with Cairn's copy of a state that is somewhere else.
func keptInBackend(w World) *Refusal {
	if w.Backend == "" {
		return refuse(Stale, "the state is still in backend %s, and Cairn has a copy: move it to Cairn first with "+
			"cairn state migrate <stack>", w.Status.Backend.Type)
	}
	return refuse(Stale, "spec.backend of the Stack says that the engine keeps the state in its own backend (%s): "+
		"use that backend in place of Cairn's", w.Backend)
}

// importedFirst rejects an engine that would create once more what an apply created that was killed.
func importedFirst(unsaved []string) *Refusal {
	more := ""
	if n := len(unsaved) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return refuse(Stale, "an apply that was killed created %s%s, which is not in the state: let a Run import it first "+
		"with cairn apply <stack> (cairn state journal <stack> shows it)", unsaved[0], more)
}

// LockForUser gives the lock of a state to a user's engine.
func (s *Store) LockForUser(ctx context.Context, key types.NamespacedName, by Holder, want LockRequest) error {
	if _, err := s.restore(ctx, key); err != nil { // the engine goes on from what it reads next
		return err
	}
	return s.update(ctx, key, func(st *v1alpha1.State) (*v1alpha1.StateStatus, error) {
		w, err := s.lookForPerson(ctx, st)
		if err != nil {
			return nil, err
		}
		if w.Unsaved, err = s.unsaved(ctx, key); err != nil {
			return nil, err
		}
		v := AdmitUserLock(w, by, want)
		if v.Refusal != nil {
			return nil, v.Refusal
		}
		return v.Status, nil
	})
}

// ReadForUser gives the current version to a user's engine: ErrNone before the first. A Stack that does not exist, or
// whose state is somewhere else, is no Stack without a state: an engine would create everything again.
func (s *Store) ReadForUser(ctx context.Context, key types.NamespacedName) ([]byte, error) {
	stack, err := s.stack(ctx, key)
	if err != nil {
		return nil, err
	}
	data, st, err := s.read(ctx, key, current)
	w := World{Backend: stack.Spec.Backend.Name()}
	if st != nil {
		w.Status = st.Status
	}
	if w.Backend != "" || w.Status.Backend != nil {
		return nil, keptInBackend(w)
	}
	return data, err
}

// unsaved are the addresses of what the journal has and the state does not, nor ever had.
func (s *Store) unsaved(ctx context.Context, key types.NamespacedName) ([]string, error) {
	told, err := s.Told(ctx, key)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, t := range told {
		if t.How == engine.NotInState {
			addresses = append(addresses, t.Address)
		}
	}
	return addresses, nil
}

// stack reads the Stack that a state is of; a Refusal when there is none.
func (s *Store) stack(ctx context.Context, key types.NamespacedName) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	err := s.live.Get(ctx, key, stack)
	if apierrors.IsNotFound(err) {
		return nil, refuse(Missing, "there is no Stack %s in namespace %s: create it first, suspended if it is not to run yet",
			key.Name, key.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read Stack %s: %w", key, err)
	}
	return stack, nil
}
