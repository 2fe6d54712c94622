package decision

import (
	"cmp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// at5 is a state with two versions, the last of serial 5 and with resources.
func at5(change ...func(*v1alpha1.StateStatus)) v1alpha1.StateStatus {
	st := v1alpha1.StateStatus{
		Version: 3, Serial: 5, Lineage: "L", SHA256: "sha256:5", Resources: 2, UpdatedBy: "net-7",
		Versions: []v1alpha1.StateVersion{
			{Version: 2, Serial: 4, SHA256: "sha256:4", Run: "net-6", Attempt: 1,
				At: metav1.NewTime(noon.Add(-time.Hour))},
			{Version: 3, Serial: 5, SHA256: "sha256:5", Run: "net-7", Attempt: 2, At: noon},
		},
	}
	for _, c := range change {
		c(&st)
	}
	return st
}

func locked(st *v1alpha1.StateStatus) { st.Lock = lockOf(me, "a") }

func rescued(st *v1alpha1.StateStatus) {
	st.Rescued = &v1alpha1.RescuedState{SHA256: "sha256:r", Serial: 7, Lineage: "L", Run: "net-7", Attempt: 2}
}

// fastClock is of a server whose clock was an hour ahead while it wrote the versions.
func fastClock(st *v1alpha1.StateStatus) {
	for i := range st.Versions {
		st.Versions[i].At.Time = st.Versions[i].At.Add(2 * time.Hour)
	}
}

func deleting(st *v1alpha1.StateStatus) {
	st.Lock = &v1alpha1.Lock{ID: DeletionLock, Who: "cairn", Since: noon}
}

func empty(st *v1alpha1.StateStatus) { st.Resources, st.Outputs = 0, nil }

// lost is attempt 2 of net-7, which wrote version 3 and failed a minute later with a state that it could not send.
var lost = &Stranded{Run: "net-7", Attempt: 2, At: metav1.NewMicroTime(noon.Add(time.Minute))}

// byUser is a version that a user wrote after that.
func byUser(st *v1alpha1.StateStatus) {
	st.Version, st.Serial, st.SHA256, st.UpdatedBy = 4, 6, "sha256:6", ""
	st.Versions = append(st.Versions, v1alpha1.StateVersion{
		Version: 4, Serial: 6, SHA256: "sha256:6", By: "alice", At: metav1.NewTime(noon.Add(2 * time.Minute)),
	})
}

func TestAdmitPush(t *testing.T) {
	follows := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}
	tests := map[string]struct {
		snapshot Snapshot
		next     Summary
		force    bool
		want     Reason
		message  string
		keeps    bool // nothing is written
		serial   int64
	}{
		"the first state is written": {snapshot: Snapshot{}, next: follows},
		"the first state of serial 0 gets serial 1": {snapshot: Snapshot{},
			next: Summary{Lineage: "L"}, serial: 1},
		"the first state of serial 0 is rejected if it is encrypted": {snapshot: Snapshot{},
			next: Summary{Lineage: "L", Resources: document.Unknown}, want: Opaque, message: "serial 1"},
		"a state of format 3 is rejected": {snapshot: Snapshot{},
			next: Summary{Serial: 6, Lineage: "L", Resources: document.Unknown, Outdated: 3}, force: true,
			want: Invalid, message: "format 3"},
		"the next serial is written": {snapshot: Snapshot{Status: at5()}, next: follows},
		"a later serial is written": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 60, Lineage: "L"}},
		"the same bytes again change nothing": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, keeps: true},
		"other bytes of the same serial are rejected": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 5, Lineage: "L"}, want: Stale, message: "serial 5, this one has 5"},
		"an older serial is rejected": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 4, Lineage: "L"}, want: Stale, message: "by force"},
		"another lineage is rejected": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 9, Lineage: "M"}, want: Stale, message: "lineage L, this one M"},
		"force writes an older serial with a new one": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 4, Lineage: "L"}, force: true, serial: 6},
		"force writes another lineage with a new serial": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 5, Lineage: "M"}, force: true, serial: 6},
		"force keeps a new serial": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 9, Lineage: "M"}, force: true},
		"force keeps the next serial": {snapshot: Snapshot{Status: at5()}, next: follows,
			force: true},
		"an empty state may be replaced without force": {snapshot: Snapshot{Status: at5(empty)},
			next: Summary{Serial: 9, Lineage: "M"}},
		"an empty state is replaced with a new serial": {snapshot: Snapshot{Status: at5(empty)},
			next: Summary{Serial: 1, Lineage: "M"}, serial: 6},
		"one with outputs only is not empty": {snapshot: Snapshot{Status: at5(empty, func(st *v1alpha1.StateStatus) {
			st.Outputs = map[string]string{"x": "f"}
		})}, next: Summary{Serial: 9, Lineage: "M"}, want: Stale},
		"one that its engine encrypts is not empty": {snapshot: Snapshot{Status: at5(func(st *v1alpha1.StateStatus) {
			st.Resources = document.Unknown
		})}, next: Summary{Serial: 9, Lineage: "M"}, want: Stale},
		"the serial of an encrypted state cannot be increased": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 4, Lineage: "L", Resources: document.Unknown}, force: true, want: Opaque,
			message: "serial 6"},
		"nothing is pushed under a lock": {snapshot: Snapshot{Status: at5(locked)},
			next: follows, want: Locked, message: "attempt 2 of Run net-7"},
		"nothing is pushed under a lock by force": {snapshot: Snapshot{Status: at5(locked)},
			next: follows, force: true, want: Locked},
		"the lock of an ended holder has to be released": {
			snapshot: Snapshot{Stack: "net", Status: at5(locked), Over: true}, next: follows, want: Locked,
			message: "state unlock net a"},
		"nothing is pushed while the state is deleted": {snapshot: Snapshot{Status: at5(deleting)},
			next: follows, want: Locked, message: "being deleted"},
		"nothing is pushed while an attempt is under way": {
			snapshot: Snapshot{Status: at5(), Busy: applying()}, next: follows, want: Busy,
			message: "attempt 2 of Run net-7 is at work in pod pod-2"},
		"nothing is pushed while a plan waits": {
			snapshot: Snapshot{Status: at5(), Busy: done(applying())}, next: follows, want: Busy,
			message: "the plan of Run net-7 waits"},
		"nothing is pushed by force while an attempt is under way": {
			snapshot: Snapshot{Status: at5(), Busy: applying()}, next: follows, force: true, want: Busy},
		"a rescued state comes first": {snapshot: Snapshot{Status: at5(rescued)},
			next: Summary{Serial: 9, Lineage: "L"}, want: Stale, message: "serial 7"},
		"force drops a rescued state": {snapshot: Snapshot{Status: at5(rescued)},
			next: Summary{Serial: 9, Lineage: "L"}, force: true},
		"force writes the same bytes again": {snapshot: Snapshot{Status: at5()},
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, force: true, serial: 6},
		"force writes the same bytes again after a rescued state": {snapshot: Snapshot{Status: at5(rescued)},
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, force: true, serial: 6},
		"a state that was lost comes first": {snapshot: Snapshot{Status: at5(), Stranded: lost},
			next: follows, want: Stale, message: "attempt 2 of Run net-7 lost a newer state"},
		"a lost first state comes first": {snapshot: Snapshot{Stranded: lost}, next: follows, want: Stale,
			message: "cairn state recover"},
		"a lost state comes before the same bytes": {snapshot: Snapshot{Status: at5(), Stranded: lost},
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, want: Stale},
		"force drops a lost state": {snapshot: Snapshot{Status: at5(), Stranded: lost},
			next: follows, force: true},
		"force drops a lost state with the same bytes": {snapshot: Snapshot{Status: at5(), Stranded: lost},
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, force: true, serial: 6},
		"a restored state does not prevent a push": {snapshot: Snapshot{Status: at5(byUser), Stranded: lost},
			next: Summary{Serial: 7, Lineage: "L"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.snapshot.Status.DeepCopy()
			next, serial, err := AdmitPush(test.snapshot, test.next, test.force)
			if ReasonOf(err) != test.want || serial != test.serial || (next == nil) != (test.want != "" || test.keeps) {
				t.Fatalf("got %+v, serial %d, %v", next, serial, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("the message is %q", err.Error())
			}
			if next != nil && next.Rescued != nil {
				t.Error("the rescued state is kept, and would be a fork")
			}
			if before.Rescued != nil && test.snapshot.Status.Rescued == nil {
				t.Error("the original status was modified")
			}
		})
	}
}

func TestAdmitRollback(t *testing.T) {
	content := document.Document{Serial: 4, Lineage: "L", Resources: 1}
	tests := map[string]struct {
		snapshot Snapshot
		version  int64
		content  document.Document
		want     Reason
		message  string
		serial   int64 // 6 when it is 0
	}{
		"an older version gets the next serial": {snapshot: Snapshot{Status: at5()}, version: 2, content: content},
		"the current version is rejected": {snapshot: Snapshot{Status: at5()}, version: 3, content: content,
			want: Invalid, message: "is the current one"},
		"one of another lineage is rejected": {snapshot: Snapshot{Status: at5()}, version: 2,
			content: document.Document{Serial: 4, Lineage: "M"}, want: Stale, message: "push it by force"},
		"one that its engine encrypts is rejected": {snapshot: Snapshot{Status: at5()}, version: 2,
			content: document.Document{Serial: 4, Lineage: "L", Resources: document.Unknown}, want: Opaque},
		"not under a lock": {snapshot: Snapshot{Status: at5(locked)}, version: 2, content: content,
			want: Locked},
		"not while an attempt is under way": {snapshot: Snapshot{Status: at5(), Busy: applying()}, version: 2,
			content: content, want: Busy},
		"not while a rescued state waits": {snapshot: Snapshot{Status: at5(rescued)}, version: 2, content: content,
			want: Stale, message: "serial 7"},
		"not while a state is lost": {snapshot: Snapshot{Status: at5(), Stranded: lost}, version: 2,
			content: content, want: Stale, message: "push it by force"},
		"after a lost state was restored": {snapshot: Snapshot{Status: at5(byUser), Stranded: lost}, version: 2,
			content: content, serial: 7},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, serial, err := AdmitRollback(test.snapshot, test.version, test.content)
			if ReasonOf(err) != test.want || (next != nil) != (test.want == "") {
				t.Fatalf("got %+v, %v", next, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("the message is %q", err.Error())
			}
			if next != nil && serial != cmp.Or(test.serial, 6) {
				t.Errorf("serial %d", serial)
			}
		})
	}
}

func TestSerialsAreNotReused(t *testing.T) {
	// Another user pushed serial 9 of another lineage by force, and rolled back to this one.
	st := at5()
	st.Versions[0].Serial = 9
	if next, serial, err := AdmitPush(Snapshot{Status: st}, Summary{Serial: 7, Lineage: "M"}, true); next == nil ||
		serial != 10 {
		t.Errorf("push: %+v, serial %d, %v", next, serial, err)
	}
	if next, serial, err := AdmitRollback(Snapshot{Status: st}, 2, document.Document{Serial: 9, Lineage: "L"}); next ==
		nil || serial != 10 {
		t.Errorf("rollback: %+v, serial %d, %v", next, serial, err)
	}
}

func TestAdmitRelease(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		id       string
		want     Reason
	}{
		"the lock of an ended holder is released":   {snapshot: Snapshot{Status: at5(locked), Over: true}, id: "a"},
		"the lock of a holder that may run is kept": {snapshot: Snapshot{Status: at5(locked)}, id: "a", want: Locked},
		"another ID is rejected": {snapshot: Snapshot{Status: at5(locked), Over: true}, id: "b",
			want: NotHolder},
		"no ID is rejected":          {snapshot: Snapshot{Status: at5(locked), Over: true}, want: NotHolder},
		"a state that is not locked": {snapshot: Snapshot{Status: at5()}, id: "a", want: Missing},
		"the lock of a deletion is kept": {snapshot: Snapshot{Status: at5(deleting), Over: true}, id: DeletionLock,
			want: Busy},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, err := AdmitRelease(test.snapshot, test.id)
			if ReasonOf(err) != test.want || (next != nil) != (test.want == "") {
				t.Fatalf("got %+v, %v", next, err)
			}
			if next != nil && (next.Lock != nil || next.Serial != 5) {
				t.Errorf("status %+v", next)
			}
			if err != nil && test.id != "a" && strings.Contains(err.Error(), `"a"`) {
				t.Errorf("the message contains the ID: %q", err.Error())
			}
		})
	}
}

func TestAdmitRecover(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		found    Summary
		from     Printed
		want     Reason
		message  string
		keeps    bool
		serial   int64
	}{
		"the state of a stranded attempt is restored": {
			snapshot: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"}},
		"a state of the same serial is restored": {
			snapshot: Snapshot{Status: at5(), Stranded: lost},
			found:    Summary{Serial: 5, Lineage: "L", SHA256: "sha256:x"}},
		"the first state is restored": {snapshot: Snapshot{Stranded: lost},
			found: Summary{Serial: 1, Lineage: "L"}},
		"a first state of serial 0 gets serial 1": {snapshot: Snapshot{Stranded: lost},
			found: Summary{Lineage: "L"}, serial: 1},
		"an encrypted first state keeps serial 0": {snapshot: Snapshot{Stranded: lost},
			found: Summary{Lineage: "L", Resources: document.Unknown}},
		"the current state is written again": {
			snapshot: Snapshot{Status: at5(), Stranded: lost},
			found:    Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}},
		"the current state is written again only once": {
			snapshot: Snapshot{Status: at5(byUser), Stranded: lost},
			found:    Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}, keeps: true},
		"an older state than a user wrote is rejected": {
			snapshot: Snapshot{Status: at5(byUser), Stranded: lost}, found: Summary{Serial: 5, Lineage: "L"},
			want: Stale, message: "nothing to put back"},
		"an older one is rejected": {
			snapshot: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 4, Lineage: "L"}, want: Stale},
		"another lineage is rejected": {snapshot: Snapshot{Stack: "net", Status: at5(),
			Stranded: lost}, found: Summary{Serial: 6, Lineage: "M"}, want: Diverged,
			message: "cairn state pull net; cairn state pull net --rescued"},
		"it is rejected when a user wrote since": {
			snapshot: Snapshot{Status: at5(byUser), Stranded: lost}, found: Summary{Serial: 7, Lineage: "L"},
			want: Stale},
		"it is rejected with the serial that a user wrote since": {
			snapshot: Snapshot{Status: at5(byUser), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"},
			want: Stale},
		"nothing is restored without a stranded attempt": {snapshot: Snapshot{Stack: "net", Status: at5(),
			Now: noon}, found: Summary{Serial: 6, Lineage: "L"}, from: Printed{Run: "net-7", Attempt: 2,
			Base: "sha256:5"}, want: Stale, message: "no state of Stack net is lost"},
		"no first state is restored without a stranded attempt": {snapshot: Snapshot{Now: noon},
			found: Summary{Serial: 6, Lineage: "L"}, want: Stale, message: "nothing to put back"},
		"the state of another Run is rejected": {
			snapshot: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"},
			from: Printed{Run: "net-6", Attempt: 2, Base: "sha256:5"}, want: Stale,
			message: "attempt 2 of Run net-6, and the one that is lost is of attempt 2 of Run net-7"},
		"the state of another attempt is rejected": {
			snapshot: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"},
			from: Printed{Run: "net-7", Attempt: 1, Base: "sha256:5"}, want: Stale, message: "attempt 1 of Run net-7"},
		"a first state of another Run is rejected": {snapshot: Snapshot{Stranded: lost},
			found: Summary{Serial: 6, Lineage: "L"}, from: Printed{Run: "net-6", Attempt: 1}, want: Stale},
		"without a stranded attempt another base is rejected": {snapshot: Snapshot{Status: at5(), Now: noon},
			found: Summary{Serial: 6, Lineage: "L"}, from: Printed{Base: "sha256:4"}, want: Stale},
		"without a stranded attempt the same serial is rejected": {snapshot: Snapshot{Status: at5(), Now: noon},
			found: Summary{Serial: 5, Lineage: "L"}, want: Stale},
		"without a stranded attempt the serial of a user is rejected": {
			snapshot: Snapshot{Status: at5(byUser), Now: noon}, found: Summary{Serial: 6, Lineage: "L"}, want: Stale},
		"without a stranded attempt the current state is kept": {snapshot: Snapshot{Status: at5()},
			found: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, keeps: true},
		"not under a lock": {snapshot: Snapshot{Status: at5(locked), Stranded: lost},
			found: Summary{Serial: 6, Lineage: "L"}, want: Locked},
		"not while an attempt is under way": {snapshot: Snapshot{Status: at5(), Stranded: lost, Busy: applying()},
			found: Summary{Serial: 6, Lineage: "L"}, want: Busy},
		"not with a newer rescued state": {snapshot: Snapshot{Status: at5(rescued), Stranded: lost},
			found: Summary{Serial: 6, Lineage: "L"}, want: Stale},
		"with an older rescued state": {snapshot: Snapshot{Status: at5(rescued), Stranded: lost},
			found: Summary{Serial: 8, Lineage: "L"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.from == (Printed{}) {
				test.from = Printed{Run: "net-7", Attempt: 2}
			}
			next, serial, err := AdmitRecover(test.snapshot, test.found, test.from)
			if test.message != "" && !strings.Contains(err.Error(), test.message) {
				t.Errorf("the message is %q", err.Error())
			}
			if ReasonOf(err) != test.want || serial != test.serial || (next == nil) != (test.want != "" || test.keeps) {
				t.Fatalf("got %+v, %v", next, err)
			}
		})
	}
}

func TestSnapshotForAUserHasBusyAndStrandedRuns(t *testing.T) {
	ended := func(class v1alpha1.FailureClass, at time.Time) *v1alpha1.Run {
		run := done(applying())
		run.Status.Phase = v1alpha1.PhaseFailed
		last := &run.Status.Attempts[1]
		last.FinishedAt = &metav1.MicroTime{Time: at}
		if class != "" {
			last.Failure = &v1alpha1.Failure{Class: class}
		}
		return run
	}
	var w Snapshot
	w.AddRun(&v1alpha1.Run{})
	w.AddRun(ended(v1alpha1.FailureConfigurationError, noon.Time))
	w.AddRun(ended("", noon.Time))
	if w.Busy != nil || w.Stranded != nil {
		t.Fatalf("got %+v", w)
	}
	older, newer := ended(v1alpha1.FailureStateNotSaved, noon.Time), ended(v1alpha1.FailureStateNotSaved,
		noon.Add(time.Hour))
	newer.Name = "net-9"
	w.AddRun(newer)
	w.AddRun(older)
	if w.Stranded == nil || w.Stranded.Run != "net-9" || w.Stranded.Attempt != 2 {
		t.Errorf("stranded %+v", w.Stranded)
	}
	if w.AddRun(applying()); w.Busy == nil {
		t.Error("no Run is busy")
	}
}

func TestMessageOfALockNamesItsHolder(t *testing.T) {
	lock := lockOf(me, "a")
	for _, test := range []struct {
		run     *v1alpha1.Run
		gone    bool
		message string
	}{
		{applying(), false, "works in pod pod-2: let it end, or cancel it with cairn cancel net-7"},
		{applying(), true, "Its pod is gone, but Run net-7 does not report yet that it is over"},
		{done(applying()), false, "its pod pod-2 is not known to be gone"},
		{nil, false, "its pod pod-2 is not known to be gone"},
	} {
		if got := DescribeHolder(lock, test.run, "pod-2", test.gone); !strings.Contains(got, test.message) {
			t.Errorf("got %q; want %q", got, test.message)
		}
	}
}

// TestRunThatWaitsForApprovalIsBusy checks that the state does not change after its plan was read.
func TestRunThatWaitsForApprovalIsBusy(t *testing.T) {
	for phase, busy := range map[v1alpha1.RunPhase]bool{
		v1alpha1.PhaseAwaitingApproval: true, v1alpha1.PhasePlanning: false, // it plans again
		v1alpha1.PhaseSucceeded: false, v1alpha1.PhaseFailed: false, v1alpha1.PhaseCanceled: false,
		v1alpha1.PhaseSuperseded: false,
	} {
		run, w := done(applying()), Snapshot{}
		run.Status.Phase = phase
		if w.AddRun(run); (w.Busy != nil) != busy {
			t.Errorf("%s: busy %v", phase, w.Busy != nil)
		}
	}
}
