package state

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// World is what a decision is made from. All of it is read past every cache.
type World struct {
	// Status of the State; the zero one when there is no State.
	Status v1alpha1.StateStatus
	// Run of the caller; nil when it is gone.
	Run *v1alpha1.Run
	// Over: the holder of the lock is known to be over.
	Over bool
	// Busy is a Run of the Stack that has an attempt under way or waits for an approval, for what people ask; nil when none is. What
	// waits was planned, and is read, for the state as it is.
	Busy *v1alpha1.Run
	// Stranded is where the last state was lost that could be sent nowhere; nil when none was.
	Stranded *Stranded
	// Unsaved are addresses of what an apply that was killed created and that is in no state, for a user's engine.
	Unsaved []string
	// Backend is the engine's own that the Stack names, for what users ask; empty when Cairn keeps the state.
	Backend string
	// Now, for what is written down.
	Now metav1.Time
}

// Verdict is what becomes of a request: a Refusal, or a Status to write, or neither when all is as it should be.
type Verdict struct {
	Refusal *Refusal
	Status  *v1alpha1.StateStatus
}

// LockRequest is what an engine says when it asks for the lock.
type LockRequest struct {
	ID  string
	Who string
	// Backend is the type of the engine's own backend that the Run's inputs name; empty when they name none.
	Backend string
}

// AdmitLock says who gets the lock. A request that is sent again, because its answer was lost, gets the lock it has.
//
//	free ──► held ──► free
//	          │ ▲
//	          └─┘ taken over, once the holder is known to be over
func AdmitLock(w World, by Holder, want LockRequest) Verdict {
	if w.Run == nil {
		return Verdict{Refusal: refuse(NotCurrent, "Run %s is gone", by.Run)}
	}
	attempt, refusal := CurrentAttempt(w.Run, by)
	if refusal == nil {
		refusal = applies(attempt, w.Run)
	}
	if refusal != nil {
		return Verdict{Refusal: refusal}
	}
	lock := w.Status.Lock
	switch {
	case !lockable(want.ID):
		return Verdict{Refusal: badLockID(want.ID)}
	case holds(lock, by) && lock.ID == want.ID:
		return Verdict{}
	case lock != nil && !w.Over:
		return Verdict{Refusal: lockedBy(lock)}
	case w.Status.Rescued != nil:
		return Verdict{Refusal: rescueWaits(w.Status.Rescued)}
	case w.Status.Backend != nil && want.Backend == "":
		return Verdict{Refusal: elsewhere(w.Status)}
	}
	next := w.Status.DeepCopy()
	next.Lock = &v1alpha1.Lock{
		ID: want.ID, Run: by.Run, Attempt: by.Attempt, PodUID: by.PodUID, Who: want.Who, Since: w.Now,
	}
	if want.Backend != "" && w.Status.Version == 0 { // what its engine cannot write there is put there by the next plan
		next.Backend = &v1alpha1.StateBackend{Type: want.Backend}
	}
	if attempt.Phase == v1alpha1.AttemptApply { // what a person does in a shell is no apply of what is declared
		next.InputsDigest = w.Run.Spec.InputsDigest
	}
	return Verdict{Status: next}
}

// lockable says that an engine may lock under that ID. That of a deletion means that the bytes go.
func lockable(id string) bool { return id != "" && id != deletion }

func badLockID(id string) *Refusal {
	return refuse(Invalid, "a lock needs an ID, and %q is none: an engine creates one by itself", id)
}

// AdmitWrite says whether a state may follow the one that is there. The Status of its Verdict is for the caller to
// finish, once the bytes are kept.
//
// A Run that is gone does not matter as long as the lock is there: it says that nobody else can have begun since, and
// to lose what the engine just did would be worse. So it is with a user, who has no Run: what works on the Stack meanwhile was
// let in to plan only, and a plan that is older than a state is found to be.
func AdmitWrite(w World, by Holder, id string, next Summary) Verdict {
	if w.Run != nil {
		attempt, refusal := CurrentAttempt(w.Run, by)
		if refusal == nil {
			refusal = applies(attempt, w.Run)
		}
		if refusal != nil {
			return Verdict{Refusal: refusal}
		}
	}
	if refusal := holdsLock(w.Status.Lock, by, id); refusal != nil {
		return Verdict{Refusal: refusal}
	}
	switch now := w.Status; {
	case now.Version == 0:
	case next.Lineage != now.Lineage:
		return Verdict{Refusal: refuse(Stale, "the state has lineage %s, this one %s: it is another Stack's, or one made anew",
			now.Lineage, next.Lineage)}
	case next.Serial == now.Serial && next.SHA256 == now.SHA256:
		return Verdict{}
	case next.Serial <= now.Serial:
		return Verdict{Refusal: refuse(Stale, "the state is at serial %d, this one has %d: it does not follow", now.Serial, next.Serial)}
	}
	return Verdict{Status: w.Status.DeepCopy()}
}

// AdmitUnlock says whether the lock is given back. The holder may do so even when its attempt is over: whoever says that
// it is done cannot harm.
func AdmitUnlock(w World, by Holder, id string) Verdict {
	if w.Status.Lock == nil {
		return Verdict{}
	}
	if refusal := holdsLock(w.Status.Lock, by, id); refusal != nil {
		return Verdict{Refusal: refusal}
	}
	next := w.Status.DeepCopy()
	next.Lock = nil
	return Verdict{Status: next}
}

// holdsLock is the fence: the ID that the engine was given and the pod it was given to.
func holdsLock(lock *v1alpha1.Lock, by Holder, id string) *Refusal {
	switch {
	case lock == nil:
		return refuse(NotHolder, "nobody holds the state's lock: take it first")
	case lock.ID != id:
		return refuse(NotHolder, "the state is locked under ID %s, not %q", lock.ID, id)
	case !holds(lock, by) && lock.By != "":
		return refuse(NotHolder, "the lock %s is held by %s", lock.ID, holderName(lock))
	case !holds(lock, by):
		return refuse(NotHolder, "the lock %s is held by attempt %d of Run %s in another pod", lock.ID, lock.Attempt, lock.Run)
	}
	return nil
}

// lockedBy says who has the lock and, of a user's lock, how it ends. That of an attempt ends by itself.
func lockedBy(lock *v1alpha1.Lock) *Refusal {
	r := refuse(Locked, "the state is locked by %s since %s", holderName(lock), clock(lock.Since))
	if lock.By != "" {
		r.Message += fmt.Sprintf(". The lock ends with the engine that took it, which runs outside of the cluster, and does not expire. "+
			"If that engine does not run any more: cairn state unlock <stack> %s", lock.ID)
	}
	r.Lock = lock.DeepCopy()
	return r
}

// rescueWaits stops an apply whose plan was made without a state that is newer: it would make everything twice.
func rescueWaits(rescued *v1alpha1.RescuedState) *Refusal {
	r := refuse(Locked, "attempt %d of Run %s left a newer state (serial %d) that this plan does not know: plan again",
		rescued.Attempt, rescued.Run, rescued.Serial)
	r.Lock = &v1alpha1.Lock{ID: "rescued", Run: rescued.Run, Attempt: rescued.Attempt, Since: rescued.At}
	return r
}
