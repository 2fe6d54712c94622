package decision

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/approval"
)

// LockRequest is an engine's request for the lock.
type LockRequest struct {
	ID  string
	Who string
	// Backend is the type of the engine's own backend that the Run's inputs name; empty when they name none.
	Backend string
}

// AdmitLock decides who gets the lock. A request that is sent again, because its response was lost, gets the lock
// that it has.
//
//	free ──► held ──► free
//	          │ ▲
//	          └─┘ taken over, once the holder is known to be over
func AdmitLock(w Snapshot, by Holder, want LockRequest) (*v1alpha1.StateStatus, error) {
	if w.Run == nil {
		return nil, Reject(NotCurrent, "Run %s is gone", by.Run)
	}
	attempt, rejection := mayChange(CurrentAttempt, w.Run, by)
	if rejection != nil {
		return nil, rejection
	}
	lock := w.Status.Lock
	switch {
	case !lockable(want.ID):
		return nil, rejectLockID(want.ID)
	case Holds(lock, by) && lock.ID == want.ID:
		return nil, nil
	case lock != nil && !w.Over:
		return nil, RejectLocked(w.Stack, lock)
	case w.Status.Rescued != nil:
		return nil, rejectOutdatedPlan(w.Status.Rescued)
	case w.Status.Backend != nil && want.Backend == "":
		return nil, rejectElsewhere(w)
	case attempt.Phase == v1alpha1.AttemptApply && w.Status.TakenOverBy(StackOf(w.Run)) &&
		approval.Of(w.Run, false) != approval.Valid:
		return nil, Reject(Stale, "Stack %s never applied this state, so a user has to approve the plan of Run %s: "+
			"plan again with cairn apply %[1]s", w.Stack, w.Run.Name)
	}
	next := w.Status.DeepCopy()
	next.Lock = &v1alpha1.Lock{
		ID: want.ID, Run: by.Run, Attempt: by.Attempt, PodUID: by.PodUID, Who: want.Who, Since: w.Now,
	}
	if want.Backend != "" && w.Status.Version == 0 { // what its engine cannot write there is put there by the next plan
		next.Backend = &v1alpha1.StateBackend{Type: want.Backend}
	}
	if attempt.Phase == v1alpha1.AttemptApply { // what a user does in a shell is no apply of the Stack's inputs
		next.InputsDigest = w.Run.Spec.InputsDigest
		if w.Run.Spec.Operation != v1alpha1.OperationDestroy { // its code is that of the last apply
			next.Revision = w.Run.Spec.Revision
		}
		recordStack(next, w.Run)
	}
	return next, nil
}

// recordStack records the Stack of a Run that applies, and spec.preventSelfApproval as the Run has it. The apply of a
// Run that another user approved ends a rule that the Stack no longer has.
func recordStack(next *v1alpha1.StateStatus, run *v1alpha1.Run) {
	if stack := StackOf(run); stack != "" {
		next.StackUID = stack
	}
	switch {
	case run.Spec.SelfApprovalRemovedBy != "":
		next.SelfApproval = nil
	case run.Spec.PreventSelfApproval && next.SelfApproval == nil:
		next.SelfApproval = &v1alpha1.KeptSelfApproval{}
	}
}

// StackOf returns the UID of the Stack that created a Run; empty where it is not known.
func StackOf(run *v1alpha1.Run) types.UID {
	if run == nil {
		return ""
	}
	if stack := metav1.GetControllerOf(run); stack != nil {
		return stack.UID
	}
	return ""
}

// disown forgets which Stack applied the state if another state replaces it, and an apply did not write that: a user
// did, or a plan found it in a backend. No Stack has applied that one yet.
func disown(next *v1alpha1.StateStatus, lineage string) {
	if next.Lineage != lineage {
		next.StackUID = ""
	}
}

// lockable reports whether an engine may lock under that ID. The ID of a deletion means that the bytes are being
// deleted.
func lockable(id string) bool { return id != "" && id != DeletionLock }

func rejectLockID(id string) *Rejection {
	return Reject(Invalid, "a lock needs an ID, and %q is none: an engine creates one by itself", id)
}

// AdmitUnlock decides whether the lock is released. The holder may do so even when its attempt is over.
func AdmitUnlock(w Snapshot, by Holder, id string) (*v1alpha1.StateStatus, error) {
	if w.Status.Lock == nil {
		return nil, nil
	}
	if rejection := checkLock(w.Status.Lock, by, id); rejection != nil {
		return nil, rejection
	}
	next := w.Status.DeepCopy()
	next.Lock = nil
	return next, nil
}

// checkLock is the fence: the lock's ID and its pod have to match.
func checkLock(lock *v1alpha1.Lock, by Holder, id string) *Rejection {
	switch {
	case lock == nil:
		return Reject(NotHolder, "the state is not locked: take the lock first")
	case lock.ID != id:
		return Reject(NotHolder, "the state is locked under ID %s, not %q", lock.ID, id)
	case !Holds(lock, by) && lock.By != "":
		return Reject(NotHolder, "the lock %s is held by %s", lock.ID, holderName(lock))
	case !Holds(lock, by):
		return Reject(NotHolder, "the lock %s is held by attempt %d of Run %s in another pod",
			lock.ID, lock.Attempt, lock.Run)
	}
	return nil
}

// RejectLocked names who has the lock and, for a user's lock, how it ends. The lock of an attempt ends by itself.
func RejectLocked(stack string, lock *v1alpha1.Lock) *Rejection {
	r := Reject(Locked, "the state is locked by %s since %s", holderName(lock), clock(lock.Since))
	if lock.By != "" {
		r.Message += fmt.Sprintf(". The lock ends with the engine that took it, which runs outside of the cluster, "+
			"and does not expire. If that engine does not run any more: cairn state unlock %s %s", stack, lock.ID)
	}
	r.Lock = lock.DeepCopy()
	return r
}

// rejectOutdatedPlan stops an apply whose plan lacks a newer state: it would create everything twice.
func rejectOutdatedPlan(rescued *v1alpha1.RescuedState) *Rejection {
	r := Reject(Locked, "attempt %d of Run %s left a newer state (serial %d) that this plan does not know: plan again",
		rescued.Attempt, rescued.Run, rescued.Serial)
	r.Lock = &v1alpha1.Lock{ID: "rescued", Run: rescued.Run, Attempt: rescued.Attempt, Since: rescued.At}
	return r
}

func holderName(lock *v1alpha1.Lock) string {
	switch {
	case lock.By != "" && lock.Who != "":
		return fmt.Sprintf("user %s (%s)", lock.By, lock.Who)
	case lock.By != "":
		return "user " + lock.By
	case lock.Run == "":
		return lock.Who
	}
	return fmt.Sprintf("attempt %d of Run %s", lock.Attempt, lock.Run)
}

// AdmitUserLock decides whether a user's engine gets the lock. A Run that works on the state, or was planned for
// it, comes first, as it does before a push: the user's engine would otherwise change real resources, and could not
// write the state afterwards.
func AdmitUserLock(w Snapshot, by Holder, want LockRequest) (*v1alpha1.StateStatus, error) {
	now := w.Status
	if !lockable(want.ID) {
		return nil, rejectLockID(want.ID)
	}
	if Holds(now.Lock, by) && now.Lock.ID == want.ID { // sent again
		return nil, nil
	}
	if rejection := CheckIdle(w); rejection != nil {
		return nil, rejection
	}
	switch {
	case w.Backend != "" || now.Backend != nil:
		return nil, RejectInBackend(w)
	case now.Rescued != nil:
		return nil, rejectBeforeRescue(w)
	case isLost(w):
		return nil, rejectLost(w, "push by force")
	case len(w.Unsaved) > 0:
		return nil, rejectUnsaved(w)
	}
	next := now.DeepCopy()
	next.Lock = &v1alpha1.Lock{ID: want.ID, By: by.User, Who: want.Who, Since: w.Now}
	return next, nil
}

// RejectInBackend rejects an engine that would work with Cairn's copy of a state that is in another backend.
func RejectInBackend(w Snapshot) *Rejection {
	if w.Backend == "" {
		return Reject(Stale, "the state is still in backend %s, and Cairn has a copy: move it to Cairn first with "+
			"cairn state migrate %s", w.Status.Backend.Type, w.Stack)
	}
	return Reject(Stale, "the engine keeps the state in its own backend (%s), as spec.backend of the Stack sets it: "+
		"use that backend in place of Cairn's", w.Backend)
}

// rejectUnsaved rejects an engine that would create again what a killed apply created.
func rejectUnsaved(w Snapshot) *Rejection {
	return Reject(Stale, "an apply that was killed created %s, which is not in the state: let a Run import it first "+
		"with cairn apply %[2]s (cairn state journal %[2]s shows it)", shorten.List(w.Unsaved, 1), w.Stack)
}

// Holder is who asks: one attempt of a Run, in one pod; or a user, whose engine runs outside of the cluster.
type Holder struct {
	Run     string
	Attempt int32
	PodUID  types.UID
	// User is the name that the API server has for the user; empty for an attempt.
	User string
}

// CurrentAttempt is the caller's attempt when the Run is at it: the last one, of the same pod, and not finished. An
// attempt that was replaced, given up or never named is rejected.
func CurrentAttempt(run *v1alpha1.Run, by Holder) (*v1alpha1.Attempt, *Rejection) {
	attempts := run.Status.Attempts
	if len(attempts) == 0 {
		return nil, Reject(NotCurrent, "Run %s has no attempt yet", run.Name)
	}
	last := &attempts[len(attempts)-1]
	switch {
	case last.Number != by.Attempt:
		return nil, Reject(NotCurrent, "attempt %d is not the current one of Run %s, which is at attempt %d",
			by.Attempt, run.Name, last.Number)
	case last.PodUID != by.PodUID:
		return nil, Reject(NotCurrent, "attempt %d of Run %s is another pod's", by.Attempt, run.Name)
	case last.FinishedAt != nil:
		return nil, Reject(NotCurrent, "attempt %d of Run %s is finished", by.Attempt, run.Name)
	}
	return last, nil
}

// NamedAttempt is the caller's attempt when the Run names it as that pod's, even if it is over. It is enough to
// send what would be lost otherwise, and to release a lock that the caller holds.
func NamedAttempt(run *v1alpha1.Run, by Holder) (*v1alpha1.Attempt, *Rejection) {
	for i := range run.Status.Attempts {
		if a := &run.Status.Attempts[i]; a.Number == by.Attempt {
			if a.PodUID != by.PodUID {
				break
			}
			return a, nil
		}
	}
	return nil, Reject(NotCurrent, "Run %s names no attempt %d of this pod", run.Name, by.Attempt)
}

// mayChange returns the caller's attempt, as CurrentAttempt or NamedAttempt finds it, unless it only plans. A plan
// needs no lock, since the version that it reads does not change, and has no state to send; its code may come from any
// user who can open a pull request. A user in a shell may apply: the Stack runs nothing else then.
func mayChange(
	find func(*v1alpha1.Run, Holder) (*v1alpha1.Attempt, *Rejection), run *v1alpha1.Run, by Holder,
) (*v1alpha1.Attempt, *Rejection) {
	a, rejection := find(run, by)
	if rejection == nil && a.Phase != v1alpha1.AttemptApply && a.Phase != v1alpha1.AttemptShell {
		rejection = Reject(NotCurrent, "attempt %d of Run %s plans, and a plan neither locks nor writes the state",
			a.Number, run.Name)
	}
	return a, rejection
}

// Holds reports whether the lock is the caller's. The ID alone is not enough: the pod's log has it, and so has the
// State. The lock of a deletion has no holder.
func Holds(lock *v1alpha1.Lock, by Holder) bool {
	return lock != nil && lock.ID != DeletionLock &&
		lock.PodUID == by.PodUID && lock.Run == by.Run && lock.Attempt == by.Attempt && lock.By == by.User
}

// IsOver reports whether the attempt that holds a lock can do nothing anymore: its Run is deleted, or reports the
// attempt as finished, or no longer has it, and its pod is known to be gone. A lock without a pod is never over.
func IsOver(lock *v1alpha1.Lock, run *v1alpha1.Run, podGone bool) bool {
	return podGone && lock.PodUID != "" && IsFinished(lock, run)
}

// IsFinished reports whether the attempt of a lock is finished, or no longer known.
func IsFinished(lock *v1alpha1.Lock, run *v1alpha1.Run) bool {
	if run == nil {
		return true
	}
	by := Holder{Run: lock.Run, Attempt: lock.Attempt, PodUID: lock.PodUID}
	a, rejection := NamedAttempt(run, by)
	return rejection != nil || a.FinishedAt != nil
}

// logGrace is how long after the end of its attempt the rest of a log is accepted. A runner sends it for ten seconds.
const logGrace = time.Minute

// LogAttempt is the caller's attempt when it may append to its log: as for the journal, and for a moment after its end.
func LogAttempt(run *v1alpha1.Run, by Holder, now time.Time) (*v1alpha1.Attempt, *Rejection) {
	if a, rejection := JournalAttempt(run, by); rejection == nil {
		return a, nil
	}
	a, rejection := NamedAttempt(run, by)
	if rejection == nil && a.FinishedAt != nil && now.Sub(a.FinishedAt.Time) > logGrace {
		rejection = Reject(NotCurrent, "attempt %d of Run %s ended at %s, and so did its log", a.Number, run.Name,
			clock(metav1.Time{Time: a.FinishedAt.Time}))
	}
	return a, rejection
}

// JournalAttempt is the caller's attempt when it may write to the journal. That is the current one, and one that
// was given up as lost, as long as nothing followed it: neither a plan nor an apply can have missed its entries.
func JournalAttempt(run *v1alpha1.Run, by Holder) (*v1alpha1.Attempt, *Rejection) {
	attempt, rejection := CurrentAttempt(run, by)
	if rejection == nil || run.Status.Phase.Finished() {
		return attempt, rejection
	}
	named, unnamed := NamedAttempt(run, by)
	if unnamed != nil || named != &run.Status.Attempts[len(run.Status.Attempts)-1] ||
		named.Failure == nil || named.Failure.Class != v1alpha1.FailurePodLost {
		return nil, rejection
	}
	return named, nil
}
