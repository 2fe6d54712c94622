package decision

import (
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

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
