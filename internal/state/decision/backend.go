package decision

import (
	"fmt"

	"cairn.dev/cairn/api/v1alpha1"
)

// Observed is what an attempt found in an engine's own backend.
type Observed struct {
	// Type of the backend. Example: s3.
	Type string
	// State that it has; nil when it has none.
	State *Summary
	// Equal: this is the current version's content, whatever the serial and the lineage.
	Equal bool
	// Unmoved: this is, by lineage, serial and content, what the backend had when it was read last.
	Unmoved bool
}

// FollowAction is what is to be done about a backend and the State that follows it.
type FollowAction string

// What is to be done.
const (
	// FollowNothing: both have the same, or nothing.
	FollowNothing FollowAction = "Nothing"
	// FollowMark: both have the same, and the State is to record it.
	FollowMark FollowAction = "Mark"
	// FollowWrite: what the backend has becomes the next version.
	FollowWrite FollowAction = "Write"
	// FollowPush: the current version is to be put into the backend.
	FollowPush FollowAction = "Push"
)

// FollowResult is the decision about what an attempt found in a backend. It has a Status for Mark and Write.
type FollowResult struct {
	Action FollowAction
	// Force is for a Push over an empty state, or over a copy of the current version: an engine assigns its own
	// lineage to the first state of a backend, and accepts another one only by force.
	Force  bool
	Status *v1alpha1.StateStatus
}

// AdmitFollow compares the backend with the current version. What the backend has counts, as long as it follows
// what was read from it last; where it does not, only a user can decide, and nothing is planned or written.
//
//	backend has                       current version           then
//	nothing                           none                      nothing
//	nothing, or an empty state        some                      the version is written there if a user requested it; otherwise rejected
//	a state                           none, or an empty one     it becomes the first version: adopted
//	the same                          the same                  nothing
//	a newer serial                    as the backend had it     it becomes the next version
//	what it had                       newer, as after a rescue  the version is written there
//	the same, of another lineage      just written there        it is written there once more, by force: see FollowResult
//	an older serial                   as the backend had it     the version is written there if a user requested it; otherwise rejected
//	another lineage, or both changed                            rejected
func AdmitFollow(w Snapshot, by Holder, seen Observed) (FollowResult, error) {
	if w.Run == nil {
		return FollowResult{}, Reject(NotCurrent, "Run %s is gone", by.Run)
	}
	attempt, rejection := CurrentAttempt(w.Run, by)
	if rejection != nil {
		return FollowResult{}, rejection
	}
	plans := attempt.Phase == v1alpha1.AttemptPlan
	v, err := compareBackend(w.Stack, w.Status, seen)
	switch {
	case err != nil || v.Action == FollowNothing:
		return v, err
	case v.Action == FollowPush && !plans:
		return FollowResult{}, Reject(Stale, "the state is newer than what backend %s has: plan again", seen.Type)
	case !plans && !Holds(w.Status.Lock, by):
		return FollowResult{}, Reject(NotHolder, "attempt %d of Run %s does not hold the state's lock: take it first",
			by.Attempt, by.Run)
	case plans && w.Status.Lock != nil && !w.Over:
		return FollowResult{}, RejectLocked(w.Stack, w.Status.Lock)
	case plans && v.Action == FollowWrite && !isFirstOfApply(w):
		disown(v.Status, seen.State.Lineage)
	}
	return v, nil
}

// isFirstOfApply reports whether an apply of these inputs, which named this backend, ended in the middle before there
// was a version: it holds the lock still, so that the first state in the backend is what it wrote.
func isFirstOfApply(w Snapshot) bool {
	now := w.Status
	return now.Version == 0 && now.Lock != nil && now.Lock.By == "" && now.InputsDigest == w.Run.Spec.InputsDigest
}

// compareBackend is AdmitFollow without the check of the caller.
func compareBackend(stack string, now v1alpha1.StateStatus, seen Observed) (FollowResult, error) {
	had, said := now.Backend, now.Move != nil && now.Move.Version == now.Version
	ahead := had != nil && had.Version < now.Version
	has, force := seen.State, false
	if has != nil && has.Lineage != now.Lineage && isEmpty(*has) && !isNothing(now) {
		has, force = nil, true // some backends begin with an empty state, before the first write
	}
	switch {
	case has == nil && now.Version == 0:
		return FollowResult{Action: FollowNothing}, nil
	case has == nil && (said || had != nil && had.Version == 0):
		return FollowResult{Action: FollowPush, Force: force}, nil
	case has == nil:
		return rejectFollow("%s has no state there, and Cairn has one: %s. %s",
			backendOf(seen), describeVersion(now), vanished(stack, now))
	case has.Lineage != now.Lineage && isNothing(now):
		return writeNext(now, seen), nil
	case has.Lineage != now.Lineage && seen.Equal && (said || had != nil && had.Version == 0):
		return FollowResult{Action: FollowPush, Force: true}, nil
	case has.Lineage != now.Lineage:
		return rejectFollow("%s has a state of lineage %s (serial %d), and Cairn has another one: %s. One of the two "+
			"is another Stack's, or was recreated. If the backend is the wrong one, correct spec.backend; if what it "+
			"has is right, push it to Cairn: cairn state push --force %s FILE",
			backendOf(seen), has.Lineage, has.Serial, describeVersion(now), stack)
	case has.SHA256 == now.SHA256 || seen.Equal && has.Serial == now.Serial:
		return mark(now, seen), nil
	case seen.Equal && has.Serial > now.Serial:
		return writeNext(now, seen), nil
	case ahead && seen.Unmoved:
		return FollowResult{Action: FollowPush}, nil
	case has.Serial <= now.Serial && said:
		return FollowResult{Action: FollowPush}, nil
	case ahead || has.Serial == now.Serial:
		return rejectFollow("%s has a state (serial %d), and Cairn has another one of the same lineage: %s. Both "+
			"follow an earlier one. To continue with what the backend has, push it to Cairn: cairn state push "+
			"--force %s FILE%s",
			backendOf(seen), has.Serial, describeVersion(now), stack, orMove(stack, has.Serial <= now.Serial))
	case has.Serial < now.Serial:
		return rejectFollow("%s has an older state (serial %d) than Cairn has seen: %s. If an older one was restored "+
			"there, choose which one counts: cairn state migrate %[4]s puts Cairn's there, and cairn state push "+
			"--force %[4]s FILE takes the backend's", backendOf(seen), has.Serial, describeVersion(now), stack)
	}
	return writeNext(now, seen), nil
}

func orMove(stack string, may bool) string {
	if !may {
		return ""
	}
	return "; to put Cairn's there: cairn state migrate " + stack
}

func vanished(stack string, now v1alpha1.StateStatus) string {
	if now.Backend == nil {
		return "cairn state migrate " + stack + " lets the next plan put it there"
	}
	return fmt.Sprintf("Backend %s had serial %d when it was last seen. If spec.backend names the wrong place, "+
		"correct it; if the place is new, or was lost, cairn state migrate %s lets the next plan put Cairn's there",
		now.Backend.Type, now.Backend.Serial, stack)
}

func backendOf(seen Observed) string { return "backend " + seen.Type }

func describeVersion(now v1alpha1.StateStatus) string {
	what := fmt.Sprintf("serial %d of lineage %s", now.Serial, now.Lineage)
	switch {
	case now.Resources == 1:
		what += ", 1 resource"
	case now.Resources >= 0:
		what += fmt.Sprintf(", %d resources", now.Resources)
	}
	return what
}

// isNothing reports whether a current version has nothing that could be lost.
func isNothing(now v1alpha1.StateStatus) bool {
	return now.Version == 0 || now.Resources == 0 && len(now.Outputs) == 0 && now.Rescued == nil
}

// isEmpty is isNothing for a state of a backend.
func isEmpty(s Summary) bool { return s.Resources == 0 && len(s.Outputs) == 0 }

func rejectFollow(format string, args ...any) (FollowResult, error) {
	return FollowResult{}, Reject(Stale, format, args...)
}

// writeNext admits the backend's state as the next version.
func writeNext(now v1alpha1.StateStatus, seen Observed) FollowResult {
	next := now.DeepCopy()
	next.Backend = &v1alpha1.StateBackend{Type: seen.Type, Version: now.Version + 1, Serial: seen.State.Serial}
	next.Move = nil
	return FollowResult{Action: FollowWrite, Status: next}
}

// mark notes that the backend has the current version.
func mark(now v1alpha1.StateStatus, seen Observed) FollowResult {
	has := v1alpha1.StateBackend{Type: seen.Type, Version: now.Version, Serial: seen.State.Serial}
	if now.Backend != nil && *now.Backend == has && now.Move == nil {
		return FollowResult{Action: FollowNothing}
	}
	next := now.DeepCopy()
	next.Backend, next.Move = &has, nil
	return FollowResult{Action: FollowMark, Status: next}
}

// AdmitMove records where a user wants the state to be: in the backend that the Stack names now, to which the next
// plan writes it; or in Cairn when it names none. That is so at once, since Cairn has a copy.
func AdmitMove(w Snapshot, toBackend bool, by string) (*v1alpha1.StateStatus, error) {
	if rejection := CheckIdle(w); rejection != nil {
		return nil, rejection
	}
	now := w.Status
	next := now.DeepCopy()
	switch {
	case now.Rescued != nil:
		return nil, rejectBeforeRescue(w)
	case isLost(w):
		return nil, rejectLost(w, "push by force")
	case toBackend && now.Version == 0:
		return nil, Reject(Missing, "there is no state to move: what the Stack's backend has is adopted by "+
			"the next plan")
	case toBackend:
		next.Move = &v1alpha1.StateMove{Version: now.Version, By: by, At: w.Now}
	case now.Backend == nil:
		return nil, Reject(Invalid, "Cairn keeps this state already, and the Stack names no other place: "+
			"set spec.backend first")
	default:
		next.Backend, next.Move = nil, nil
	}
	return next, nil
}

// rejectElsewhere rejects a Run that names no backend while the state is in one: what it was planned for may be
// outdated.
func rejectElsewhere(w Snapshot) *Rejection {
	r := Reject(Locked, "the state is in backend %s, and the Stack names no backend: name it, or let Cairn keep the "+
		"state with cairn state migrate %s", w.Status.Backend.Type, w.Stack)
	r.Lock = &v1alpha1.Lock{ID: "backend"}
	return r
}

// BackendName is the name of a Stack's backend in messages; empty when Cairn has the state.
func BackendName(b *v1alpha1.Backend) string {
	switch {
	case b == nil:
		return ""
	case b.FromCode:
		return "of the code"
	}
	return b.Type
}
