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

// CurrentAttempt is the caller's attempt when it is the one that the Run is at: the last one, of that very pod, and not
// finished. Whoever was replaced, given up or never named is rejected, whatever it believes.
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

// NamedAttempt is the caller's attempt when the Run names it as that pod's, even if it is over. It is enough to hand in
// what would be lost otherwise, and to give back what one holds.
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

// applies rejects an attempt that only plans. It needs no lock, since the version that it reads does not change, and has
// no state to hand in; the code it runs may be anybody's. In a shell a person may apply: it has the Stack's one place as an
// apply has it.
func checkApplies(a *v1alpha1.Attempt, run *v1alpha1.Run) *Rejection {
	if a.Phase != v1alpha1.AttemptApply && a.Phase != v1alpha1.AttemptShell {
		return Reject(NotCurrent, "attempt %d of Run %s plans, and a plan neither locks nor writes the state", a.Number, run.Name)
	}
	return nil
}

// holds says whether the lock is the caller's. The ID alone is not enough: it is in the pod's log, and every user who may read the State
// reads it there. The lock of a deletion has no holder.
func Holds(lock *v1alpha1.Lock, by Holder) bool {
	return lock != nil && lock.ID != DeletionLock &&
		lock.PodUID == by.PodUID && lock.Run == by.Run && lock.Attempt == by.Attempt && lock.By == by.User
}

// over says whether the attempt that holds a lock can do nothing any more: its Run says that it is finished, or is gone,
// or has forgotten it, and its pod is known to be gone. A lock that no pod holds is over for nobody.
func IsOver(lock *v1alpha1.Lock, run *v1alpha1.Run, podGone bool) bool {
	return podGone && lock.PodUID != "" && IsFinished(lock, run)
}

func IsFinished(lock *v1alpha1.Lock, run *v1alpha1.Run) bool {
	if run == nil {
		return true
	}
	by := Holder{Run: lock.Run, Attempt: lock.Attempt, PodUID: lock.PodUID}
	a, rejection := NamedAttempt(run, by)
	return rejection != nil || a.FinishedAt != nil
}

// tellingAttempt is the caller's attempt when it may tell the journal of what it has done. That is the current one, and one that
// was given up as lost, as long as nothing came after it: no plan was made without what it tells, and no apply was saved since.
func JournalAttempt(run *v1alpha1.Run, by Holder) (*v1alpha1.Attempt, *Rejection) {
	attempt, rejection := CurrentAttempt(run, by)
	if rejection == nil || run.Status.Phase.Finished() {
		return attempt, rejection
	}
	named, unnamed := NamedAttempt(run, by)
	if unnamed != nil || named != &run.Status.Attempts[len(run.Status.Attempts)-1] || named.Failure == nil || named.Failure.Class != v1alpha1.FailurePodLost {
		return nil, rejection
	}
	return named, nil
}
