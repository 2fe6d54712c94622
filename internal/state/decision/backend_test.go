package decision

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestAdmitFollow(t *testing.T) {
	version := func(n, serial int64, lineage string) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{Version: n, Serial: serial, Lineage: lineage, SHA256: "ours", Resources: 2}
	}
	in := func(st v1alpha1.StateStatus, version, serial int64) v1alpha1.StateStatus {
		st.Backend = &v1alpha1.StateBackend{Type: "s3", Version: version, Serial: serial}
		return st
	}
	withRequestedMigration := func(st v1alpha1.StateStatus, version int64) v1alpha1.StateStatus {
		st.Move = &v1alpha1.StateMove{Version: version, By: "alice"}
		return st
	}
	has := func(serial int64, lineage, sha string) Observed {
		return Observed{Type: "s3", State: &Summary{Serial: serial, Lineage: lineage, SHA256: sha, Resources: 2}}
	}
	equal := func(s Observed) Observed {
		s.Equal = true
		return s
	}
	unmoved := func(s Observed) Observed {
		s.Unmoved = true
		return s
	}
	nothing := Observed{Type: "s3"}
	empty := v1alpha1.StateStatus{Version: 3, Serial: 9, Lineage: "ours"}
	for name, test := range map[string]struct {
		now      v1alpha1.StateStatus
		observed Observed
		want     string
		// backend is the expected status of the backend.
		backend *v1alpha1.StateBackend
	}{
		"no state on either side": {v1alpha1.StateStatus{}, nothing,
			"Nothing", nil},
		"the backend has a first state": {v1alpha1.StateStatus{},
			has(5, "theirs", "theirs"), "Write", &v1alpha1.StateBackend{Type: "s3", Version: 1, Serial: 5}},
		"the backend is empty": {in(version(3, 9, "ours"), 3, 9),
			nothing, "Stale: backend s3 has no state there", nil},
		"a new backend is empty": {version(3, 9, "ours"), nothing,
			"cairn state migrate net lets the next plan put it there", nil},
		"the backend is empty, and a user requested a migration": {
			withRequestedMigration(version(3, 9, "ours"), 3), nothing, "Push", nil},
		"a user requested a migration of another version": {
			withRequestedMigration(version(3, 9, "ours"), 2), nothing, "Stale: ", nil},
		"the first state could not be written": {in(version(1, 1, "ours"), 0, 0),
			nothing, "Push", nil},
		"the same, recorded": {in(version(3, 9, "ours"), 3, 9),
			has(9, "ours", "ours"), "Nothing", nil},
		"the same, not recorded": {version(3, 9, "ours"),
			has(9, "ours", "ours"), "Mark", &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 9}},
		"the same, and a user requested a migration": {
			withRequestedMigration(in(version(3, 9, "ours"), 2, 8), 3), has(9, "ours", "ours"), "Mark",
			&v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 9}},
		"the same serial and content, other bytes": {version(3, 9, "ours"),
			equal(has(9, "ours", "theirs")), "Mark", &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 9}},
		"the same serial and another content": {in(version(3, 9, "ours"), 3, 9),
			has(9, "ours", "theirs"), "Stale: backend s3 has a state (serial 9)", nil},
		"a newer one": {in(version(3, 9, "ours"), 3, 9),
			has(14, "ours", "theirs"), "Write", &v1alpha1.StateBackend{Type: "s3", Version: 4, Serial: 14}},
		"a newer one in a new backend": {version(3, 9, "ours"), has(14, "ours", "theirs"), "Write",
			&v1alpha1.StateBackend{Type: "s3", Version: 4, Serial: 14}},
		"pushed, with a serial that the engine increased": {in(version(3, 9, "ours"), 2, 8),
			equal(has(10, "ours", "theirs")), "Write", &v1alpha1.StateBackend{Type: "s3", Version: 4, Serial: 10}},
		"an older one": {in(version(3, 9, "ours"), 3, 9), has(8, "ours", "theirs"),
			"Stale: backend s3 has an older state (serial 8)", nil},
		"an older one, and a user requested a migration": {withRequestedMigration(in(version(3, 9, "ours"), 3, 9), 3),
			has(8, "ours", "theirs"), "Push", nil},
		"a newer one, and a user requested a migration": {withRequestedMigration(in(version(3, 9, "ours"), 2, 8), 3),
			has(10, "ours", "theirs"), "Stale: ", nil},
		"unchanged, and a rescued state": {in(version(3, 9, "ours"), 2, 8), unmoved(has(8, "ours", "theirs")),
			"Push", nil},
		"of the same serial, with another content": {in(version(3, 9, "ours"), 2, 8), has(8, "ours", "theirs"),
			"Both follow an earlier one. To continue with what the backend has, push it to Cairn: cairn state push " +
				"--force net FILE", nil},
		"both changed": {in(version(3, 9, "ours"), 2, 7), has(8, "ours", "theirs"),
			"Both follow an earlier one. To continue with what the backend has, push it to Cairn: cairn state push " +
				"--force net FILE", nil},
		"both changed, with a later serial in the backend": {in(version(3, 9, "ours"), 2, 7), has(12, "ours", "theirs"),
			"Both follow an earlier one. To continue with what the backend has, push it to Cairn: cairn state push " +
				"--force net FILE", nil},
		"another lineage": {in(version(3, 9, "ours"), 3, 9), has(30, "theirs", "theirs"),
			"Stale: backend s3 has a state of lineage theirs", nil},
		"another lineage, and a user requested a migration": {
			withRequestedMigration(version(3, 9, "ours"), 3), has(1, "theirs", "theirs"),
			"Stale: backend s3 has a state of lineage theirs", nil},
		"a copy under the lineage of the backend": {
			withRequestedMigration(version(3, 9, "ours"), 3), equal(has(1, "theirs", "theirs")), "Push by force", nil},
		"another lineage without resources": {in(version(3, 9, "ours"), 3, 9),
			Observed{Type: "s3", State: &Summary{Serial: 1, Lineage: "theirs", SHA256: "theirs"}},
			"Stale: backend s3 has no state there", nil},
		"another lineage without resources, and a user requested a migration": {
			withRequestedMigration(version(3, 9, "ours"), 3),
			Observed{Type: "s3", State: &Summary{Serial: 1, Lineage: "theirs", SHA256: "theirs"}}, "Push by force",
			nil},
		"the same lineage without resources": {in(version(3, 9, "ours"), 3, 9),
			Observed{Type: "s3", State: &Summary{Serial: 10, Lineage: "ours", SHA256: "theirs"}}, "Write",
			&v1alpha1.StateBackend{Type: "s3", Version: 4, Serial: 10}},
		"another lineage with outputs only": {withRequestedMigration(version(3, 9, "ours"), 3),
			Observed{Type: "s3", State: &Summary{Serial: 1, Lineage: "theirs", SHA256: "theirs",
				Outputs: map[string]string{"x": "y"}}}, "Stale: backend s3 has a state of lineage theirs", nil},
		"a copy without a requested migration": {in(version(3, 9, "ours"), 3, 9), equal(has(1, "theirs", "theirs")),
			"Stale: ", nil},
		"another lineage, and no state in Cairn": {empty, has(1, "theirs", "theirs"), "Write",
			&v1alpha1.StateBackend{Type: "s3", Version: 4, Serial: 1}},
	} {
		v, err := AdmitFollow(Snapshot{Stack: "net", Status: test.now,
			Run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2")}, me, test.observed)
		got := string(v.Action)
		if v.Force {
			got += " by force"
		}
		if err != nil {
			got = string(ReasonOf(err)) + ": " + err.Error()
		}
		var backend *v1alpha1.StateBackend
		if v.Status != nil {
			backend = v.Status.Backend
			if v.Status.Move != nil {
				t.Errorf("%s: the request for a migration is kept after it was handled", name)
			}
		}
		if diff := cmp.Diff(test.backend, backend); !strings.Contains(got, test.want) ||
			(err == nil && got != test.want) || diff != "" {
			t.Errorf("%s: %s %s", name, got, diff)
		}
	}
}

func TestAdmitFollowByAttempt(t *testing.T) {
	newer := Observed{Type: "s3", Unmoved: true, State: &Summary{Serial: 14, Lineage: "ours", SHA256: "theirs"}}
	now := v1alpha1.StateStatus{Version: 3, Serial: 9, Lineage: "ours", SHA256: "ours", Resources: 2,
		Backend: &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 9}}
	locked := func(by Holder) v1alpha1.StateStatus {
		st := *now.DeepCopy()
		st.Lock = lockOf(by, "a")
		return st
	}
	ahead := locked(me)
	ahead.Backend.Version, ahead.Backend.Serial = 2, 14
	other := Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}
	plan, apply := runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), applying()
	for name, test := range map[string]struct {
		snapshot Snapshot
		by       Holder
		observed Observed
		want     Reason
	}{
		"a plan":                              {Snapshot{Status: now, Run: plan}, me, newer, ""},
		"a plan while another holds the lock": {Snapshot{Status: locked(other), Run: plan}, me, newer, Locked},
		"a plan while an ended attempt holds the lock": {Snapshot{Status: locked(other), Run: plan, Over: true}, me,
			newer, ""},
		"an apply that holds the lock": {Snapshot{Status: locked(me), Run: apply}, me, newer, ""},
		"an apply without the lock":    {Snapshot{Status: now, Run: apply}, me, newer, NotHolder},
		"an apply while another holds the lock": {Snapshot{Status: locked(other), Run: apply, Over: true}, me, newer,
			NotHolder},
		"an apply that has to plan first": {Snapshot{Status: ahead, Run: apply}, me, newer, Stale},
		"another pod": {Snapshot{Status: now, Run: plan},
			Holder{Run: "net-7", Attempt: 2, PodUID: "pod-9"}, newer, NotCurrent},
		"an earlier attempt": {Snapshot{Status: now, Run: plan},
			Holder{Run: "net-7", Attempt: 1, PodUID: "pod-1"}, newer, NotCurrent},
		"an attempt that is finished": {Snapshot{Status: now, Run: done(runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"))},
			me, newer, NotCurrent},
		"no Run": {Snapshot{Status: now}, me, newer, NotCurrent},
	} {
		if _, err := AdmitFollow(test.snapshot, test.by, test.observed); ReasonOf(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAdmitMove(t *testing.T) {
	kept := v1alpha1.StateStatus{Version: 3, Serial: 9, Lineage: "ours"}
	in := *kept.DeepCopy()
	in.Backend = &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 9}
	rescued := *kept.DeepCopy()
	rescued.Rescued = &v1alpha1.RescuedState{Run: "net-6", Attempt: 1, Serial: 10}
	for name, test := range map[string]struct {
		snapshot  Snapshot
		toBackend bool
		want      Reason
		then      v1alpha1.StateStatus
	}{
		"into a backend": {Snapshot{Status: kept, Now: noon}, true, "",
			v1alpha1.StateStatus{Version: 3, Serial: 9, Lineage: "ours",
				Move: &v1alpha1.StateMove{Version: 3, By: "alice", At: noon}}},
		"to Cairn":               {Snapshot{Status: in}, false, "", kept},
		"to Cairn, which has it": {Snapshot{Status: kept}, false, Invalid, v1alpha1.StateStatus{}},
		"without a state":        {Snapshot{}, true, Missing, v1alpha1.StateStatus{}},
		"while a Run is busy":    {Snapshot{Status: kept, Busy: applying()}, true, Busy, v1alpha1.StateStatus{}},
		"while it is locked": {Snapshot{Status: v1alpha1.StateStatus{Version: 3, Lock: lockOf(me, "a")}}, true,
			Locked, v1alpha1.StateStatus{}},
		"with a rescued state": {Snapshot{Status: rescued}, true, Stale, v1alpha1.StateStatus{}},
	} {
		next, err := AdmitMove(test.snapshot, test.toBackend, "alice")
		if ReasonOf(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
		if next != nil {
			if diff := cmp.Diff(test.then, *next); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestLockOfAStateInABackend(t *testing.T) {
	in := v1alpha1.StateStatus{Version: 3, Serial: 9, Backend: &v1alpha1.StateBackend{Type: "s3", Version: 3,
		Serial: 9}}
	if next, err := AdmitLock(Snapshot{Status: in, Run: applying()}, me, LockRequest{ID: "a"}); err == nil ||
		!strings.Contains(err.Error(), "cairn state migrate") {
		t.Errorf("%+v, %v", next, err)
	}
	if next, err := AdmitLock(Snapshot{Status: in, Run: applying()}, me,
		LockRequest{ID: "a", Backend: "s3"}); err != nil || next.Backend.Version != 3 {
		t.Errorf("%+v, %v", next, err)
	}
	if next, err := AdmitLock(Snapshot{Run: applying()}, me, LockRequest{ID: "a", Backend: "s3"}); err != nil ||
		*next.Backend != (v1alpha1.StateBackend{Type: "s3"}) {
		t.Errorf("%+v, %v", next, err)
	}
}
