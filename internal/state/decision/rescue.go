package decision

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Relation is how a rescued state, or a backup, relates to the current version.
type Relation string

// The relations of a rescued state to the current version.
const (
	// Newer: it has to become the current version before the next plan.
	Newer Relation = "Newer"
	// Same: it is the current version.
	Same Relation = "Same"
	// Older: the current version is past it.
	Older Relation = "Older"
	// Forked: both follow a common one, or have none in common. Only a user can decide.
	Forked Relation = "Forked"
	// Unnamed: the State names no version, and Secrets have one that is later than the backup. Only a user can decide.
	Unnamed Relation = "Unnamed"
	// Lost: the State lost its status, and neither the bucket nor Secrets have a version. Only a user can decide.
	Lost Relation = "Lost"
)

// CompareRescued compares a rescued state with the current version. It has to follow the very version that it came
// from, by its content: serials and times do not show which of the two contains the other. That version is its
// base, or one that the same attempt wrote, since the rescued state is the attempt's last one; the response to that
// write may have been lost, so that the base is older.
func CompareRescued(st v1alpha1.StateStatus, r v1alpha1.RescuedState) Relation {
	last, _ := Current(st)
	switch {
	case st.Version == 0:
		return Newer
	case r.SHA256 == st.SHA256:
		return Same
	case arrived(st, r):
		return Older
	case r.Lineage != st.Lineage:
		return Forked
	case r.Base == st.SHA256, wroteItself(st, r, last):
		return Newer
	}
	return Forked
}

// arrived reports whether a rescued state was a version, or a later one of the same attempt was: nothing of it is
// lost, whatever followed. That is so when it is sent again because its response was lost.
func arrived(st v1alpha1.StateStatus, r v1alpha1.RescuedState) bool {
	return slices.ContainsFunc(st.Versions, func(v v1alpha1.StateVersion) bool {
		return v.SHA256 == r.SHA256 || wroteItself(st, r, v) && v.Serial > r.Serial
	})
}

// wroteItself reports whether the attempt of a rescued state wrote a version. Where the state is in an engine's own
// backend, the attempt only read the version there, and others may have written it.
func wroteItself(st v1alpha1.StateStatus, r v1alpha1.RescuedState, v v1alpha1.StateVersion) bool {
	return st.Backend == nil && r.Run != "" && v.Run == r.Run && v.Attempt == r.Attempt
}

// RescueOutcome is the decision on a state that its attempt could not write.
type RescueOutcome string

// What becomes of a rescued state.
const (
	// RescueKeep: it waits in status.rescued until the next plan.
	RescueKeep RescueOutcome = "Keep"
	// RescueCommit: it becomes a version at once.
	RescueCommit RescueOutcome = "Commit"
	// RescueDone: there is nothing to do; the current version is this one or past it.
	RescueDone RescueOutcome = "Done"
	// RescueFork: it waits in status.rescued until a user has merged it with the current version.
	RescueFork RescueOutcome = "Fork"
)

// AdmitRescue decides about a rescued state whose bytes are in the bucket already. Any attempt that the Run names
// may send it, over or not, and the holder of the lock when the Run is gone.
func AdmitRescue(w Snapshot, by Holder, r v1alpha1.RescuedState) (RescueOutcome, error) {
	if rejection := CheckRescuer(w, by); rejection != nil {
		return "", rejection
	}
	relation := CompareRescued(w.Status, r)
	if relation == Same || relation == Older {
		return RescueDone, nil
	}
	if waiting := w.Status.Rescued; waiting != nil && waiting.SHA256 != r.SHA256 &&
		(waiting.Lineage != r.Lineage || waiting.Serial > r.Serial) {
		return "", RejectSecondRescue(*waiting, r)
	}
	if relation == Forked {
		return RescueFork, nil
	}
	if w.Status.Lock == nil || Holds(w.Status.Lock, by) {
		return RescueCommit, nil
	}
	return RescueKeep, nil
}

// RejectSecondRescue rejects a rescued state while another one waits that does not contain it.
func RejectSecondRescue(waiting, r v1alpha1.RescuedState) *Rejection {
	return Reject(Stale, "attempt %d of Run %s left a rescued state already (serial %d); this one (serial %d) is kept "+
		"in the bucket, for a user to merge", waiting.Attempt, waiting.Run, waiting.Serial, r.Serial)
}

// CheckRescuer rejects a caller that never was an apply. It need not be the current attempt.
func CheckRescuer(w Snapshot, by Holder) *Rejection {
	if Holds(w.Status.Lock, by) {
		return nil
	}
	if w.Run == nil {
		return Reject(NotCurrent, "Run %s is gone, and attempt %d does not hold the lock", by.Run, by.Attempt)
	}
	_, rejection := mayChange(NamedAttempt, w.Run, by)
	return rejection
}

// RejectFork rejects plans until a user has merged a rescued state with the current version.
func RejectFork(key types.NamespacedName, now v1alpha1.StateStatus, r v1alpha1.RescuedState) *Rejection {
	return Reject(Diverged, "attempt %d of Run %s could not save its state (serial %d, lineage %s), and version %d "+
		"(serial %d, lineage %s), which is current now, is not the one that it started from. Nothing is planned "+
		"until you have merged the two. Read both: cairn state pull %[8]s; cairn state pull %[8]s --rescued. Then "+
		"cairn state push %[8]s FILE --force, and cairn apply %[8]s",
		r.Attempt, r.Run, r.Serial, r.Lineage, now.Version, now.Serial, now.Lineage, key.Name)
}

// rejectBeforeRescue rejects a user's request while a rescued state waits.
func rejectBeforeRescue(w Snapshot) *Rejection {
	r := w.Status.Rescued
	if CompareRescued(w.Status, *r) == Forked {
		return Reject(Stale, "attempt %d of Run %s left a state (serial %d) that does not follow the current version: "+
			"merge the two (cairn state pull %s --rescued has it), and push the result by force",
			r.Attempt, r.Run, r.Serial, w.Stack)
	}
	return Reject(Stale, "attempt %d of Run %s left a newer state (serial %d), which becomes a version before the "+
		"next plan: wait for that plan, or push by force to leave it behind", r.Attempt, r.Run, r.Serial)
}

// Backup is what the bucket knows of the version that counts, beside its bytes.
type Backup struct {
	// Stack is the UID of the one that had the State; empty when there was none.
	Stack types.UID `json:"stack,omitempty"`
	// AppliedBy is the UID of the Stack of the last apply that started.
	AppliedBy types.UID `json:"appliedBy,omitempty"`
	// Inputs that were applied last, which a destroy needs.
	Inputs string `json:"inputs,omitempty"`
	// Lineage of the version.
	Lineage string `json:"lineage"`
	// StateVersion is the version as it was. Its Chunks are the Secrets' and mean nothing here.
	v1alpha1.StateVersion `json:",inline"`
}

// CompareBackup compares a backup with a State: Newer when the State has gone back in time, Older when the backup
// is behind.
func CompareBackup(st v1alpha1.StateStatus, b Backup, stack types.UID) Relation {
	last, _ := Current(st)
	switch {
	case st.Version == 0 && b.Stack == stack:
		return Newer
	case st.Version == 0:
		return Forked
	case b.SHA256 == st.SHA256:
		return Same
	case b.Lineage != st.Lineage && last.At.After(b.At.Time):
		return Older
	case b.Lineage != st.Lineage:
		return Forked
	case b.Serial > st.Serial, b.Serial == st.Serial && b.Version > st.Version:
		return Newer
	}
	return Older
}

// MayBeRestored reports whether a State may have lost its status, as when a backup tool restored the object: no version
// was written to it, and no apply started.
func MayBeRestored(st v1alpha1.StateStatus) bool { return st.Version == 0 && st.InputsDigest == "" }

// RejectUnnamed rejects plans while Secrets have a version of a State that names none.
func RejectUnnamed(key types.NamespacedName, version int64) *Rejection {
	return Reject(Stale, "Secrets in namespace %s have version %d of state %s, and the State names no "+
		"version, as when a backup tool restored the objects without their status. An administrator of the "+
		"installation restores that version with cairn state restore %s, or deletes these Secrets with cairn state "+
		"restore %[4]s --forget",
		key.Namespace, version, key.Name, key.Name)
}

// RejectLost rejects plans while a State has lost its status, and nothing has its versions.
func RejectLost(key types.NamespacedName, version int64) *Rejection {
	return Reject(Stale, "state %s was at version %d and has no status any more, as when a backup tool restored it, "+
		"and neither the bucket nor Secrets have a version of it. Restore the bucket or the Secrets from a backup; "+
		"or push a copy with cairn state push %s FILE --force; or continue without a state, which creates all "+
		"resources again: cairn state restore %[3]s --forget",
		key, version, key.Name)
}

// RejectBackup rejects plans while the bucket has a state, and only a user can decide what to do with it.
func RejectBackup(key types.NamespacedName, b Backup) *Rejection {
	resources := "unknown"
	if b.Resources != nil {
		resources = strconv.Itoa(int(*b.Resources))
	}
	return Reject(Stale, "the bucket has a state (serial %d, lineage %s, resources: %s, written %s) of which State %s "+
		"knows nothing: it is of another Stack of that name, or both went their own ways since etcd was restored. An "+
		"administrator of the installation takes it with cairn state restore %s, or forgets it with cairn state "+
		"restore %s --forget", b.Serial, b.Lineage, resources, clock(b.At), key, key.Name, key.Name)
}
