package decision

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

var (
	noon = metav1.NewTime(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))
	me   = Holder{Run: "net-7", Attempt: 2, PodUID: "pod-2"}
)

// runOf is Run net-7 with an attempt for each pod. All but the last are finished.
func runOf(phase v1alpha1.AttemptPhase, pods ...types.UID) *v1alpha1.Run {
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-7"},
		Spec: v1alpha1.RunSpec{InputsDigest: "sha256:in"}}
	for i, pod := range pods {
		a := v1alpha1.Attempt{
			Number: int32(i + 1), Phase: phase, Pod: string(pod), PodUID: pod,
			StartedAt: metav1.NewMicroTime(noon.Add(-time.Hour)),
		}
		if i < len(pods)-1 {
			a.FinishedAt = &metav1.MicroTime{Time: noon.Time}
		}
		run.Status.Attempts = append(run.Status.Attempts, a)
	}
	return run
}

// applying returns the Run of me, in the attempt of me.
func applying() *v1alpha1.Run { return runOf(v1alpha1.AttemptApply, "pod-1", "pod-2") }

func done(run *v1alpha1.Run) *v1alpha1.Run {
	run.Status.Attempts[len(run.Status.Attempts)-1].FinishedAt = &metav1.MicroTime{Time: noon.Time}
	return run
}

func lockOf(by Holder, id string) *v1alpha1.Lock {
	return &v1alpha1.Lock{ID: id, Run: by.Run, Attempt: by.Attempt, PodUID: by.PodUID, Since: noon}
}

// lockIn returns the lock in a rejection.
func lockIn(err error) *v1alpha1.Lock {
	rejection, _ := errors.AsType[*Rejection](err)
	return rejection.Lock
}

func TestAdmitLock(t *testing.T) {
	other := Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}
	rescued := &v1alpha1.RescuedState{Run: "net-6", Attempt: 1, Serial: 9}
	tests := map[string]struct {
		snapshot Snapshot
		by       Holder
		id       string
		want     Reason
		acquired bool
	}{
		"a free lock is acquired": {snapshot: Snapshot{Run: applying()}, id: "a",
			acquired: true},
		"a lock without an ID is rejected": {snapshot: Snapshot{Run: applying()}, want: Invalid},
		"the same request again gets the lock it has": {
			snapshot: Snapshot{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, id: "a"},
		"another ID of the same attempt is rejected": {
			snapshot: Snapshot{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, id: "b",
			want: Locked},
		"a held lock is rejected": {
			snapshot: Snapshot{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(other, "a")}}, id: "b",
			want: Locked},
		"a held lock is rejected under its own ID too": {
			snapshot: Snapshot{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(other, "a")}}, id: "a",
			want: Locked},
		"the lock of an ended holder is acquired": {
			snapshot: Snapshot{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(other, "a")}, Over: true},
			id:       "b", acquired: true},
		"an attempt that was replaced gets no lock": {snapshot: Snapshot{Run: applying()},
			by: Holder{Run: "net-7", Attempt: 1, PodUID: "pod-1"}, id: "a", want: NotCurrent},
		"another pod gets no lock": {snapshot: Snapshot{Run: applying()},
			by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", want: NotCurrent},
		"a finished attempt gets no lock": {snapshot: Snapshot{Run: done(applying())}, id: "a",
			want: NotCurrent},
		"a future attempt gets no lock": {snapshot: Snapshot{Run: applying()},
			by: Holder{Run: "net-7", Attempt: 3, PodUID: "pod-2"}, id: "a", want: NotCurrent},
		"a Run without attempts gets no lock": {snapshot: Snapshot{Run: runOf(v1alpha1.AttemptApply)},
			id: "a", want: NotCurrent},
		"a deleted Run gets no lock": {id: "a", want: NotCurrent},
		"an apply waits for a rescued state to be planned": {
			snapshot: Snapshot{Run: applying(), Status: v1alpha1.StateStatus{Rescued: rescued}}, id: "a", want: Locked},
		"a plan gets no lock": {snapshot: Snapshot{Run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2")}, id: "a",
			want: NotCurrent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			test.snapshot.Now = noon
			next, err := AdmitLock(test.snapshot, test.by, LockRequest{ID: test.id, Who: "runner@pod"})
			if ReasonOf(err) != test.want || (next != nil) != test.acquired {
				t.Fatalf("got %+v, %v", next, err)
			}
			if err != nil && ReasonOf(err) == Locked && lockIn(err) == nil {
				t.Error("the rejection does not name the holder of the lock")
			}
			want := &v1alpha1.Lock{ID: test.id, Run: "net-7", Attempt: 2, PodUID: "pod-2", Who: "runner@pod",
				Since: noon}
			if next != nil && !cmp.Equal(want, next.Lock) {
				t.Error(cmp.Diff(want, next.Lock))
			}
		})
	}
}

func TestShellLocksAndWritesLikeAnApply(t *testing.T) {
	run := runOf(v1alpha1.AttemptShell, "pod-1", "pod-2")
	next, err := AdmitLock(Snapshot{Run: run, Status: v1alpha1.StateStatus{InputsDigest: "sha256:old"}}, me,
		LockRequest{ID: "a"})
	// a destroy uses the inputs of the last apply
	if next == nil || next.Lock == nil || next.InputsDigest != "sha256:old" {
		t.Errorf("lock: %+v, %v", next, err)
	}
	if next, err := AdmitLock(
		Snapshot{Run: run, Status: v1alpha1.StateStatus{Lock: lockOf(Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"},
			"b")}}, me, LockRequest{ID: "a"}); ReasonOf(err) != Locked {
		t.Errorf("a held lock: %+v, %v", next, err)
	}
	if next, err := AdmitWrite(Snapshot{Run: run}, me, "a", Summary{Serial: 1, Lineage: "L"}); ReasonOf(err) !=
		NotHolder {
		t.Errorf("without a lock: %+v, %v", next, err)
	}
	if next, err := AdmitWrite(Snapshot{Run: run, Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, me, "a",
		Summary{Serial: 1, Lineage: "L"}); next == nil {
		t.Errorf("write: %+v, %v", next, err)
	}
	if next, err := AdmitWrite(Snapshot{Run: done(run), Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, me, "a",
		Summary{Serial: 1, Lineage: "L"}); ReasonOf(err) != NotCurrent {
		t.Errorf("after its end: %+v, %v", next, err)
	}
	if outcome, rejection := AdmitRescue(Snapshot{Run: run}, me, v1alpha1.RescuedState{Serial: 1, Lineage: "L",
		SHA256: "sha256:1"}); outcome != RescueCommit {
		t.Errorf("rescue: %s, %v", outcome, rejection)
	}
}

func TestLockOfAnApplyRecordsItsInputs(t *testing.T) {
	w := Snapshot{Run: applying(), Status: v1alpha1.StateStatus{InputsDigest: "sha256:old"}}
	if next, err := AdmitLock(w, me, LockRequest{ID: "a"}); next == nil || next.InputsDigest != "sha256:in" {
		t.Errorf("got %+v, %v", next, err)
	}
}

func TestAdmitUnlock(t *testing.T) {
	tests := map[string]struct {
		lock   *v1alpha1.Lock
		by     Holder
		id     string
		want   Reason
		writes bool
	}{
		"the holder releases it": {lock: lockOf(me, "a"), by: me, id: "a", writes: true},
		"a free lock":            {by: me, id: "a"},
		"another ID is rejected": {lock: lockOf(me, "a"), by: me, id: "b", want: NotHolder},
		"no ID is rejected":      {lock: lockOf(me, "a"), by: me, want: NotHolder},
		"another pod is rejected": {lock: lockOf(me, "a"), by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"},
			id: "a", want: NotHolder},
		"another attempt is rejected": {lock: lockOf(me, "a"), by: Holder{Run: "net-7", Attempt: 3, PodUID: "pod-2"},
			id: "a", want: NotHolder},
		"another Run's lock is rejected": {lock: lockOf(Holder{Run: "net-6", Attempt: 2, PodUID: "pod-2"}, "a"), by: me,
			id: "a", want: NotHolder},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, err := AdmitUnlock(Snapshot{Status: v1alpha1.StateStatus{Version: 3, Lock: test.lock}},
				test.by, test.id)
			if ReasonOf(err) != test.want || (next != nil) != test.writes {
				t.Fatalf("got %+v, %v", next, err)
			}
			if next != nil && (next.Lock != nil || next.Version != 3) {
				t.Errorf("left %+v", next)
			}
		})
	}
}

func TestOver(t *testing.T) {
	lock := lockOf(me, "a")
	forgotten := runOf(v1alpha1.AttemptApply, "pod-1")
	tests := map[string]struct {
		lock *v1alpha1.Lock
		run  *v1alpha1.Run
		gone bool
		want bool
	}{
		"a finished attempt without a pod has ended": {lock: lock, run: done(applying()), gone: true,
			want: true},
		"a finished attempt whose pod may exist has not":       {lock: lock, run: done(applying())},
		"a deleted pod does not finish its attempt":            {lock: lock, run: applying(), gone: true},
		"no Run and no pod":                                    {lock: lock, gone: true, want: true},
		"no Run but a pod":                                     {lock: lock},
		"an attempt that the Run does not list, without a pod": {lock: lock, run: forgotten, gone: true, want: true},
		"a lock that no pod holds does not end":                {lock: &v1alpha1.Lock{ID: "a"}, gone: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsOver(test.lock, test.run, test.gone); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}

var (
	alice = Holder{User: "alice@example.com"}
	bob   = Holder{User: "bob@example.com"}
)

// lockedFor sets a lock that a user's engine holds.
func lockedFor(by Holder, id string) func(*v1alpha1.StateStatus) {
	return func(st *v1alpha1.StateStatus) {
		st.Lock = &v1alpha1.Lock{ID: id, By: by.User, Who: "dev@laptop", Since: noon}
	}
}

func inBackend(st *v1alpha1.StateStatus) {
	st.Backend = &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 5}
}

func TestAdmitUserLock(t *testing.T) {
	planning := runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2")
	tests := map[string]struct {
		snapshot Snapshot
		id       string
		want     Reason
		message  string
		keeps    bool // the lock is held already
	}{
		"a free lock is acquired": {
			snapshot: Snapshot{Status: at5()}, id: "a"},
		"a free lock is acquired before the first version": {snapshot: Snapshot{}, id: "a"},
		"the same request again gets the lock it has": {
			snapshot: Snapshot{Status: at5(lockedFor(alice, "a"))}, id: "a", keeps: true},
		"the same request while a Run plans gets the lock": {
			snapshot: Snapshot{Status: at5(lockedFor(alice, "a")), Busy: planning}, id: "a", keeps: true},
		"another engine of the same user waits": {
			snapshot: Snapshot{Status: at5(lockedFor(alice, "a"))}, id: "b", want: Locked,
			message: "cairn state unlock net a"},
		"another user's lock is denied": {
			snapshot: Snapshot{Status: at5(lockedFor(bob, "b"))}, id: "a", want: Locked,
			message: "user bob@example.com (dev@laptop) since"},
		"another user's lock is denied under its own ID": {
			snapshot: Snapshot{Status: at5(lockedFor(bob, "b"))}, id: "b", want: Locked},
		"the lock of an apply is denied": {
			snapshot: Snapshot{Status: at5(locked)}, id: "b", want: Locked, message: "attempt 2 of Run net-7"},
		"the lock of an apply is denied under its own ID, which is in the pod's log": {
			snapshot: Snapshot{Status: at5(locked)}, id: "a", want: Locked},
		"the lock of an ended apply is denied": {
			snapshot: Snapshot{Status: at5(locked), Over: true}, id: "b", want: Locked, message: "state unlock net a"},
		"a Run that applies comes first": {
			snapshot: Snapshot{Status: at5(), Busy: applying()}, id: "a", want: Busy,
			message: "attempt 2 of Run net-7 is at work"},
		"a Run that plans comes first": {
			snapshot: Snapshot{Status: at5(), Busy: planning}, id: "a", want: Busy, message: "cairn cancel net-7"},
		"a plan that waits for an approval comes first": {
			snapshot: Snapshot{Status: at5(), Busy: done(planning)}, id: "a", want: Busy,
			message: "the plan of Run net-7 waits"},
		"a rescued state that waits comes first": {
			snapshot: Snapshot{Status: at5(rescued)}, id: "a", want: Stale, message: "serial 7"},
		"a state that was lost comes first": {
			snapshot: Snapshot{Status: at5(), Stranded: lost}, id: "a", want: Stale,
			message: "cairn state recover net"},
		"a state that was lost comes first, if a fast clock dated the version": {
			snapshot: Snapshot{Status: at5(fastClock), Stranded: lost}, id: "a", want: Stale,
			message: "cairn state recover net"},
		"a lost state that was restored does not prevent a lock": {
			snapshot: Snapshot{Status: at5(byUser), Stranded: lost}, id: "a"},
		"unsaved resources of a killed apply come first": {
			snapshot: Snapshot{Status: at5(), Unsaved: []string{"aws_vpc.c", "aws_vpc.d"}}, id: "a", want: Stale,
			message: "created aws_vpc.c and 1 more, which is not in the state: let a Run import it first with cairn " +
				"apply net (cairn state journal net shows it)"},
		"a state in the engine's own backend is not locked": {
			snapshot: Snapshot{Status: at5(), Backend: "s3"}, id: "a", want: Stale, message: "own backend (s3)"},
		"a state that has to be migrated from a backend is not locked": {snapshot: Snapshot{Status: at5(inBackend)},
			id: "a", want: Stale, message: "cairn state migrate net"},
		"nothing is locked while the state is deleted": {snapshot: Snapshot{Status: at5(deleting)}, id: "a",
			want: Locked, message: "being deleted"},
		"the ID of a deletion is rejected": {snapshot: Snapshot{Status: at5()}, id: DeletionLock,
			want: Invalid},
		"the ID of a deletion is rejected during one": {snapshot: Snapshot{Status: at5(deleting)}, id: DeletionLock,
			want: Invalid},
		"a lock without an ID is rejected": {snapshot: Snapshot{Status: at5()}, want: Invalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.snapshot.Stack, test.snapshot.Now = "net", noon
			next, err := AdmitUserLock(test.snapshot, alice, LockRequest{ID: test.id, Who: "dev@laptop"})
			if ReasonOf(err) != test.want || (next == nil) != (test.want != "" || test.keeps) {
				t.Fatalf("got %+v, %v", next, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("the message is %q", err.Error())
			}
			want := &v1alpha1.Lock{ID: test.id, By: "alice@example.com", Who: "dev@laptop", Since: noon}
			if next != nil && !cmp.Equal(want, next.Lock) {
				t.Error(cmp.Diff(want, next.Lock))
			}
		})
	}
}

func TestUserWritesUnderTheLock(t *testing.T) {
	next := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}
	held := at5(lockedFor(alice, "a"))
	tests := map[string]struct {
		status  v1alpha1.StateStatus
		by      Holder
		id      string
		next    Summary
		want    Reason
		message string
		write   bool
	}{
		"the next serial is written": {status: held, by: alice, id: "a", next: next,
			write: true},
		"a first state is written, whatever its lineage": {status: v1alpha1.StateStatus{Lock: held.Lock},
			by: alice, id: "a", next: Summary{Serial: 1, Lineage: "M"}, write: true},
		"the same bytes again are accepted": {status: held, by: alice, id: "a",
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}},
		"the same serial with other bytes is rejected": {status: held, by: alice, id: "a",
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:x"}, want: Stale},
		"an older serial is rejected": {status: held, by: alice, id: "a",
			next: Summary{Serial: 4, Lineage: "L"}, want: Stale},
		"another lineage is rejected": {status: held, by: alice, id: "a",
			next: Summary{Serial: 6, Lineage: "M"}, want: Stale},
		"another lineage of an empty state is rejected": {status: at5(lockedFor(alice, "a"), empty), by: alice,
			id: "a", next: Summary{Serial: 9, Lineage: "M"}, want: Stale},
		"another lock ID is rejected": {status: held, by: alice, id: "b", next: next,
			want: NotHolder, message: "locked under ID a"},
		"no lock ID is rejected": {status: held, by: alice, next: next, want: NotHolder},
		"without a lock nothing is written": {status: at5(), by: alice, id: "a", next: next,
			want: NotHolder, message: "take the lock first"},
		"another user does not write under that ID": {status: held, by: bob, id: "a", next: next,
			want: NotHolder, message: "held by user alice@example.com (dev@laptop)"},
		"a pod does not write under it": {status: held, by: me, id: "a", next: next,
			want: NotHolder},
		"a user does not write under the lock of a Run": {status: at5(locked), by: alice, id: "a", next: next,
			want: NotHolder},
		"a write under the lock of a deletion is rejected": {status: at5(deleting), by: Holder{}, id: DeletionLock,
			next: next, want: NotHolder},
		"a user whose lock was released by force is rejected": {status: at5(lockedFor(bob, "b")), by: alice, id: "a",
			next: next, want: NotHolder, message: "locked under ID b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, err := AdmitWrite(Snapshot{Status: test.status, Now: noon}, test.by, test.id, test.next)
			if ReasonOf(err) != test.want || (next != nil) != test.write {
				t.Fatalf("got %+v, %v", next, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("the message is %q", err.Error())
			}
		})
	}
}

func TestReleaseOfAUsersLock(t *testing.T) {
	held := at5(lockedFor(alice, "a"))
	if next, err := AdmitUnlock(Snapshot{Status: held}, alice, "a"); err != nil || next == nil || next.Lock != nil {
		t.Errorf("the holder releases it: %+v, %v", next, err)
	}
	for name, by := range map[string]Holder{"another user": bob, "a pod": me, "no holder": {}} {
		if next, err := AdmitUnlock(Snapshot{Status: held}, by, "a"); ReasonOf(err) != NotHolder {
			t.Errorf("%s releases it: %+v, %v", name, next, err)
		}
	}
	if next, err := AdmitUnlock(Snapshot{Status: held}, alice, "b"); ReasonOf(err) != NotHolder {
		t.Errorf("under another ID: %+v, %v", next, err)
	}
	// A forced release needs another verb.
	if next, err := AdmitRelease(Snapshot{Status: held}, "a"); err != nil || next == nil || next.Lock != nil {
		t.Errorf("a forced release: %+v, %v", next, err)
	}
	if next, err := AdmitRelease(Snapshot{Status: held}, "b"); ReasonOf(err) != NotHolder {
		t.Errorf("a forced release under another ID: %+v, %v", next, err)
	}
	if IsOver(held.Lock, nil, true) {
		t.Error("the lock expires")
	}
}

// TestRunWaitsForAUsersLock checks that an apply is rejected as by the lock of another Run, and retried.
func TestRunWaitsForAUsersLock(t *testing.T) {
	next, err := AdmitLock(Snapshot{Stack: "net", Run: applying(), Status: at5(lockedFor(alice, "a"))}, me,
		LockRequest{ID: "b"})
	if ReasonOf(err) != Locked || lockIn(err) == nil {
		t.Fatalf("got %+v, %v", next, err)
	}
	for _, part := range []string{"user alice@example.com (dev@laptop)", "does not expire",
		"cairn state unlock net a"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %s", part, err.Error())
		}
	}
	if rejection := AdmitDelete(Snapshot{Status: at5(lockedFor(alice, "a"))}, true); ReasonOf(rejection) != Locked {
		t.Errorf("a deletion: %v", rejection)
	}
	if next, err := AdmitLock(Snapshot{Run: applying(), Status: at5()}, me, LockRequest{ID: DeletionLock}); ReasonOf(
		err) != Invalid {
		t.Errorf("the ID of a deletion: %+v, %v", next, err)
	}
}

// TestLockOfAnApplyRecordsStackAndSelfApproval checks that the lock records the Stack of the State and the
// preventSelfApproval rule.
func TestLockOfAnApplyRecordsStackAndSelfApproval(t *testing.T) {
	rule, removed := &v1alpha1.KeptSelfApproval{}, &v1alpha1.KeptSelfApproval{RemovedBy: "alice"}
	prevents := func(r *v1alpha1.Run) { r.Spec.PreventSelfApproval = true }
	ends := func(r *v1alpha1.Run) { r.Spec.PreventSelfApproval, r.Spec.SelfApprovalRemovedBy = true, "alice" }
	shell := func(r *v1alpha1.Run) {
		ends(r)
		r.Status.Attempts[len(r.Status.Attempts)-1].Phase = v1alpha1.AttemptShell
	}
	none := func(*v1alpha1.Run) {}
	for name, test := range map[string]struct {
		run        func(*v1alpha1.Run)
		kept, want *v1alpha1.KeptSelfApproval
		stack      types.UID
	}{
		"a Run without the rule":                                      {none, nil, nil, "now"},
		"a Run with the rule":                                         {prevents, nil, rule, "now"},
		"a Run from before the rule was removed from the Stack":       {prevents, removed, removed, "now"},
		"a Run from before the Stack had the rule":                    {none, rule, rule, "now"},
		"a Run that another user approved after the rule was removed": {ends, removed, nil, "now"},
		"a shell": {shell, removed, removed, "before"},
	} {
		t.Run(name, func(t *testing.T) {
			run := applying()
			yes := true
			run.OwnerReferences = []metav1.OwnerReference{{Kind: "Stack", UID: "now", Controller: &yes}}
			approve(run)
			test.run(run)
			w := Snapshot{Run: run, Status: v1alpha1.StateStatus{StackUID: "before", SelfApproval: test.kept}}
			status, err := AdmitLock(w, me, LockRequest{ID: "a"})
			if status == nil || err != nil {
				t.Fatalf("got %+v, %v", status, err)
			}
			if diff := cmp.Diff(test.want, status.SelfApproval); diff != "" || status.StackUID != test.stack {
				t.Errorf("Stack %s, -want +got:\n%s", status.StackUID, diff)
			}
		})
	}
}

// approve approves the plan of a Run.
func approve(run *v1alpha1.Run) {
	run.Spec.Approval, run.Status.Plan = &v1alpha1.Approval{By: "bob", PlanDigest: "p"}, &v1alpha1.Plan{Digest: "p"}
}

// TestLockOfAStateOfAnotherStackNeedsAnApproval checks the last step before an apply: what the plan was for may not be
// what there is, such as a state that a user pushed since.
func TestLockOfAStateOfAnotherStackNeedsAnApproval(t *testing.T) {
	pushed := v1alpha1.StateStatus{Version: 1, Resources: 1}
	of := func(st v1alpha1.StateStatus, stack types.UID) v1alpha1.StateStatus {
		st.StackUID = stack
		return st
	}
	otherPlan := func(run *v1alpha1.Run) {
		approve(run)
		run.Status.Plan.Digest = "q"
	}
	none := func(*v1alpha1.Run) {}
	for name, test := range map[string]struct {
		status v1alpha1.StateStatus
		run    func(*v1alpha1.Run)
		want   Reason
	}{
		"no state":                              {v1alpha1.StateStatus{}, none, ""},
		"a state that the Stack applied":        {of(pushed, "now"), none, ""},
		"a state without resources and outputs": {v1alpha1.StateStatus{Version: 1}, none, ""},
		"a pushed state":                        {pushed, none, Stale},
		"a pushed state with outputs only": {
			v1alpha1.StateStatus{Version: 1, Outputs: map[string]string{"x": "f"}}, none, Stale},
		"a pushed state that its engine encrypts": {v1alpha1.StateStatus{Version: 1, Resources: -1},
			none, Stale},
		"a pushed state, and the plan is approved":     {pushed, approve, ""},
		"a pushed state, and another plan is approved": {pushed, otherPlan, Stale},
		"a state of another Stack":                     {of(pushed, "before"), none, Stale},
		"a state of another Stack, and it is approved": {of(pushed, "before"), approve, ""},
		"a Run of no Stack": {pushed, func(r *v1alpha1.Run) {
			r.OwnerReferences = nil
		}, Stale},
		"a shell, whose user does what the verb permits": {pushed, func(r *v1alpha1.Run) {
			r.Status.Attempts[1].Phase = v1alpha1.AttemptShell
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := applying()
			yes := true
			run.OwnerReferences = []metav1.OwnerReference{{Kind: "Stack", UID: "now", Controller: &yes}}
			test.run(run)
			next, err := AdmitLock(Snapshot{Stack: "net", Run: run, Status: test.status}, me, LockRequest{ID: "a"})
			if ReasonOf(err) != test.want || (next == nil) != (test.want != "") {
				t.Errorf("got %+v, %v", next, err)
			}
		})
	}
}

// TestStateThatNoApplyWroteHasNoStack checks that a state which replaces another one has no Stack that applied it,
// unless an apply wrote it.
func TestStateThatNoApplyWroteHasNoStack(t *testing.T) {
	owned := func(lineage string, change ...func(*v1alpha1.StateStatus)) v1alpha1.StateStatus {
		st := v1alpha1.StateStatus{StackUID: "now", InputsDigest: "sha256:in"}
		if lineage != "" {
			st = at5(empty)
			st.StackUID, st.Lineage = "now", lineage
		}
		for _, c := range change {
			c(&st)
		}
		return st
	}
	push := func(w Snapshot, next Summary) (*v1alpha1.StateStatus, error) {
		status, _, err := AdmitPush(w, next, true)
		return status, err
	}
	write := func(by Holder) func(Snapshot, Summary) (*v1alpha1.StateStatus, error) {
		return func(w Snapshot, next Summary) (*v1alpha1.StateStatus, error) {
			w.Status.Lock = lockOf(by, "a")
			w.Status.Lock.By = by.User
			return AdmitWrite(w, by, "a", next)
		}
	}
	follow := func(w Snapshot, next Summary) (*v1alpha1.StateStatus, error) {
		result, err := AdmitFollow(w, me, Observed{Type: "s3", State: &next})
		return result.Status, err
	}
	interrupted := func(st *v1alpha1.StateStatus) {
		st.Lock = lockOf(Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}, "a")
	}
	plan, shell := runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), runOf(v1alpha1.AttemptShell, "pod-1", "pod-2")
	holds := func(st *v1alpha1.StateStatus) { st.Lock = lockOf(me, "a") }
	otherPlan := plan.DeepCopy()
	otherPlan.Spec.InputsDigest = "sha256:other"
	for name, test := range map[string]struct {
		snapshot Snapshot
		admit    func(Snapshot, Summary) (*v1alpha1.StateStatus, error)
		keeps    bool
	}{
		"a first state is pushed": {Snapshot{Status: owned("")}, push, false},
		"another state is pushed": {Snapshot{Status: owned("L")}, push, false},
		"a later state is pushed": {Snapshot{Status: owned("M")}, push, true},
		"the engine of a user writes a first state": {Snapshot{Status: owned("")}, write(Holder{User: "alice"}),
			false},
		"the engine of a user writes a later state": {Snapshot{Status: owned("M")}, write(Holder{User: "alice"}),
			true},
		"a shell writes a first state": {Snapshot{Status: owned(""), Run: shell}, write(me), false},
		"an apply writes a first state": {Snapshot{Status: owned(""), Run: applying()},
			write(me), true},
		"an apply whose Run is gone writes a first state": {Snapshot{Status: owned("")}, write(me), true},
		"a plan adopts a first state":                     {Snapshot{Status: owned(""), Run: plan}, follow, false},
		"a plan adopts another state":                     {Snapshot{Status: owned("L"), Run: plan}, follow, false},
		"a plan finds a later state":                      {Snapshot{Status: owned("M"), Run: plan}, follow, true},
		"an apply created the first state": {Snapshot{Status: owned("", holds), Run: applying()},
			follow, true},
		"a plan finds what a killed apply created": {Snapshot{Status: owned("", interrupted), Run: plan,
			Over: true}, follow, true},
		"a plan of other inputs finds what that may have": {Snapshot{Status: owned("", interrupted), Run: otherPlan,
			Over: true}, follow, false},
		"a plan adopts another state after a killed apply": {Snapshot{Status: owned("L", interrupted), Run: plan,
			Over: true}, follow, false},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := test.admit(test.snapshot, Summary{Serial: 9, Lineage: "M", SHA256: "m", Resources: 1})
			if next == nil || (next.StackUID == "now") != test.keeps {
				t.Errorf("got %+v, %v", next, err)
			}
		})
	}
}
