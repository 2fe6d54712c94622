package decision

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// rejectLost rejects a request that would replace the state that a stranded attempt lost.
func rejectLost(w Snapshot, otherwise string) *Rejection {
	return Reject(Stale, "attempt %d of Run %s lost a newer state, which comes first: put it back with cairn state "+
		"recover %s, or %s to leave it behind", w.Stranded.Attempt, w.Stranded.Run, w.Stack, otherwise)
}

// AdmitPush decides whether a state that a user pushes becomes the current version. Without force it has to follow
// the current one, as engines require it too, unless there is nothing to lose.
//
// A state that replaces the current one gets a serial that no version had: a plan identifies the state that it is
// for by lineage and serial. A first state of serial 0 gets one too, see FirstSerial.
func AdmitPush(w Snapshot, next Summary, force bool) (status *v1alpha1.StateStatus, renumber int64, err error) {
	if rejection := CheckIdle(w); rejection != nil {
		return nil, 0, rejection
	}
	now := w.Status
	follows := now.Version == 0 || next.Lineage == now.Lineage && next.Serial > now.Serial
	empty := now.Resources == 0 && len(now.Outputs) == 0
	switch {
	case next.Outdated > 0:
		return nil, 0, Reject(Invalid, "the state has format %d, which Terraform before 0.12 wrote: name it "+
			"terraform.tfstate in an empty folder, run terraform state pull there, and push what that prints",
			next.Outdated)
	case now.Rescued != nil && !force:
		return nil, 0, rejectBeforeRescue(w)
	case isLost(w) && !force:
		return nil, 0, rejectLost(w, "push by force")
	case now.Version > 0 && next.SHA256 == now.SHA256 && !force: // by force also where its bytes are damaged
		return nil, 0, nil
	case follows || force || empty:
	case next.Lineage != now.Lineage:
		return nil, 0, Reject(Stale, "the state has lineage %s, this one %s: it is another Stack's, or was "+
			"recreated. If it is to replace the current state, push it by force", now.Lineage, next.Lineage)
	default:
		return nil, 0, Reject(Stale, "the state is at serial %d, this one has %d: it does not follow. If it is to "+
			"replace the current state, push it by force", now.Serial, next.Serial)
	}
	if !follows || next.Serial == 0 {
		renumber = unused(now, next.Serial)
	}
	if renumber > 0 && next.Resources == document.Unknown {
		return nil, 0, rejectOpaqueSerial(next.Serial, renumber)
	}
	status = now.DeepCopy()
	status.Rescued = nil
	disown(status, next.Lineage)
	return status, renumber, nil
}

// AdmitRollback decides whether an older version becomes the current one again, as a new version with the next
// serial.
func AdmitRollback(
	w Snapshot, version int64, content document.Document,
) (status *v1alpha1.StateStatus, serial int64, err error) {
	if rejection := CheckIdle(w); rejection != nil {
		return nil, 0, rejection
	}
	now := w.Status
	serial = unused(now, now.Serial)
	switch {
	case version == now.Version:
		return nil, 0, Reject(Invalid, "version %d is the current one", version)
	case now.Rescued != nil:
		return nil, 0, rejectBeforeRescue(w)
	case isLost(w):
		return nil, 0, rejectLost(w, "pull that version and push it by force")
	case content.Lineage != now.Lineage:
		return nil, 0, Reject(Stale, "version %d has lineage %s, the current one %s: it is another state. If it is "+
			"to replace the current state, pull it, and push it by force", version, content.Lineage, now.Lineage)
	case content.Resources == document.Unknown:
		return nil, 0, rejectOpaqueSerial(content.Serial, serial)
	}
	return now.DeepCopy(), serial, nil
}

// AdmitRelease decides whether a user may end the lock of that ID. Cairn finds out whether an attempt is over; only
// users know it of a user's engine.
func AdmitRelease(w Snapshot, id string) (*v1alpha1.StateStatus, error) {
	lock := w.Status.Lock
	switch {
	case lock == nil:
		return nil, Reject(Missing, "the state is not locked")
	case lock.ID == DeletionLock:
		return nil, Reject(Busy, "the state is being deleted; wait until that is complete")
	case lock.ID != id:
		return nil, Reject(NotHolder, "the state is locked under another ID, by %s since %s: read the lock again with "+
			"kubectl get state -o yaml", holderName(lock), clock(lock.Since))
	case !w.Over && lock.By == "":
		return nil, RejectLocked(w.Stack, lock)
	}
	next := w.Status.DeepCopy()
	next.Lock = nil
	return next, nil
}

// Printed is what the log of a pod names of the state in it.
type Printed struct {
	// Run and Attempt that could send it nowhere.
	Run     string
	Attempt int32
	// Base is the SHA256 of the version that it follows; empty when there was none.
	Base string
}

// AdmitRecover decides about a state that a user found in a pod's log, as about one that the Stack's last stranded
// attempt rescues. It is that one, or none: every user can encrypt a state to the installation's key, and a user who
// can recover may not be one who can push.
//
// If it is the current version already, it becomes a version once more: so the Stack knows that it was recovered.
func AdmitRecover(w Snapshot, found Summary, from Printed) (status *v1alpha1.StateStatus, renumber int64, err error) {
	if rejection := CheckIdle(w); rejection != nil {
		return nil, 0, rejection
	}
	r := v1alpha1.RescuedState{
		SHA256: found.SHA256, Serial: found.Serial, Lineage: found.Lineage,
		Run: from.Run, Attempt: from.Attempt, Base: from.Base, At: w.Now,
	}
	now := w.Status
	relation := CompareRescued(now, r)
	lost := w.Stranded
	switch {
	case !isLost(w) && relation == Same:
		return nil, 0, nil
	case !isLost(w):
		return nil, 0, Reject(Stale, "no state of Stack %s is lost (its current version has serial %d), so there "+
			"is nothing to put back. To replace it by another state: cairn state push %[1]s FILE", w.Stack, now.Serial)
	case lost.Run != from.Run || lost.Attempt != from.Attempt:
		return nil, 0, Reject(Stale,
			"the state in this log is of attempt %d of Run %s, and the one that is lost is of "+
				"attempt %d of Run %s: search the log of that attempt's pod", from.Attempt, from.Run, lost.Attempt,
			lost.Run)
	}
	switch relation {
	case Older:
		return nil, 0, Reject(Stale, "the current version (serial %d) is past the state in this log (serial %d): "+
			"there is nothing to put back", now.Serial, found.Serial)
	case Forked:
		return nil, 0, Reject(Diverged, "the state in this log (serial %d, lineage %s) does not follow the current "+
			"version (serial %d, lineage %s), which was written since. It is kept beside that one. Read both (cairn "+
			"state pull %[5]s; cairn state pull %[5]s --rescued), merge them, and push the result with cairn "+
			"state push %[5]s FILE --force",
			found.Serial, found.Lineage, now.Serial, now.Lineage, w.Stack)
	case Newer, Same:
	}
	if waiting := now.Rescued; waiting != nil && waiting.SHA256 != found.SHA256 &&
		(waiting.Lineage != found.Lineage || waiting.Serial > found.Serial) {
		return nil, 0, Reject(Stale, "attempt %d of Run %s left a newer state (serial %d) than the one in this "+
			"log (serial "+
			"%d); it becomes a version before the next plan", waiting.Attempt, waiting.Run, waiting.Serial,
			found.Serial)
	}
	return now.DeepCopy(), FirstSerial(now, found), nil
}

// CheckIdle rejects users' requests for a state that an apply writes or a plan reads. A Run that only waits in the
// queue does not prevent them: its plan becomes stale, which its engine detects, and Cairn plans again.
func CheckIdle(w Snapshot) *Rejection {
	if run := w.Busy; run != nil {
		last := run.Status.Attempts[len(run.Status.Attempts)-1]
		if last.FinishedAt != nil {
			return Reject(Busy, "the plan of Run %s waits for an approval, and is for the state as it is: "+
				"approve it and let it end, or end it with cairn cancel %s",
				run.Name, run.Name)
		}
		return Reject(Busy, "attempt %d of Run %s is at work in pod %s: let it end, or cancel it with cairn cancel %s",
			last.Number, run.Name, last.Pod, run.Name)
	}
	lock := w.Status.Lock
	if lock == nil {
		return nil
	}
	rejection := RejectLocked(w.Stack, lock)
	switch {
	case lock.ID == DeletionLock:
		rejection.Message = "the state is being deleted"
	case w.Over:
		rejection.Message += fmt.Sprintf(", who is over: release it with cairn state unlock %s %s", w.Stack, lock.ID)
	}
	return rejection
}

// unused is the serial for a state that does not follow the ones that are kept; 0 when its own was never used.
func unused(st v1alpha1.StateStatus, serial int64) int64 {
	highest := st.Serial
	for _, v := range st.Versions {
		highest = max(highest, v.Serial)
	}
	if serial > highest {
		return 0
	}
	return highest + 1
}

// FirstSerial is the serial for the very first state when its own is 0; 0 when its own is usable. A plan from
// before there was a state has no lineage, and its engine compares serials alone: it would take a state of serial 0
// for none, and overwrite it. A state whose serial cannot be changed keeps it: it may be the only copy.
func FirstSerial(now v1alpha1.StateStatus, next Summary) int64 {
	if now.Version > 0 || next.Serial > 0 || next.Resources == document.Unknown {
		return 0
	}
	return unused(now, next.Serial)
}

func rejectOpaqueSerial(has, needs int64) *Rejection {
	return Reject(Opaque, "the state has serial %d and would have to get serial %d, and its engine encrypts it, or "+
		"its format is not "+
		"known: Cairn cannot count it up without breaking it. Push it with a higher serial from its engine", has, needs)
}

func clock(at metav1.Time) string { return at.UTC().Format("2006-01-02 15:04:05 MST") }

// CheckShown rejects a request if the current version is not the one that the user saw.
func CheckShown(st *v1alpha1.State, shown int64) error {
	if shown == 0 || st.Status.Version == shown {
		return nil
	}
	return Reject(Stale, "the state is at version %d by now, and the request is for version %d: check it again",
		st.Status.Version, shown)
}

// DescribeHolder is a message about the holder of a lock that is not known to be over, with what to do.
func DescribeHolder(lock *v1alpha1.Lock, run *v1alpha1.Run, pod string, gone bool) string {
	who := fmt.Sprintf("%s holds the lock since %s", holderName(lock), clock(lock.Since))
	switch {
	case gone:
		return fmt.Sprintf("%s. Its pod is gone, but Run %s does not report yet that it is over. The operator does "+
			"that within a moment; check that it runs, and try again", who, lock.Run)
	case IsFinished(lock, run):
		return fmt.Sprintf("%s. It is over, but its pod %s is not known to be gone, and processes in it could still "+
			"run: delete the pod; if its node is lost, check that it is off, and delete the pod by force", who, pod)
	}
	return fmt.Sprintf("%s and works in pod %s: let it end, or cancel it with cairn cancel %s", who, pod, lock.Run)
}
