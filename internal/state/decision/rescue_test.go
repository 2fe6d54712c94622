package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

// written is the status after a version of serial 5 that an attempt wrote at a time.
func written(by Holder, at metav1.Time) v1alpha1.StateStatus {
	return v1alpha1.StateStatus{
		Version: 3, Serial: 5, Lineage: "L", SHA256: "sha256:5", UpdatedBy: by.Run,
		Versions: []v1alpha1.StateVersion{{Version: 3, Serial: 5, SHA256: "sha256:5", Run: by.Run, Attempt: by.Attempt,
			At: at}},
	}
}

func rescuedOf(by Holder, serial int64, lineage, sum string) v1alpha1.RescuedState {
	return v1alpha1.RescuedState{SHA256: sum, Serial: serial, Lineage: lineage, Run: by.Run, Attempt: by.Attempt,
		At: noon}
}

// followed is the status after a rescued state became a version, and another holder wrote the next one.
func followed(r v1alpha1.RescuedState, by Holder, at metav1.Time) v1alpha1.StateStatus {
	st := written(by, at)
	was := v1alpha1.StateVersion{Version: 2, Serial: r.Serial, SHA256: r.SHA256, Run: r.Run, Attempt: r.Attempt,
		At: r.At}
	st.Versions = append([]v1alpha1.StateVersion{was}, st.Versions...)
	return st
}

func TestCompareRescued(t *testing.T) {
	other := Holder{Run: "net-6", Attempt: 1}
	from := func(base string, r v1alpha1.RescuedState) v1alpha1.RescuedState {
		r.Base = base
		return r
	}
	elsewhere := func(st v1alpha1.StateStatus) v1alpha1.StateStatus {
		st.Backend = &v1alpha1.StateBackend{Type: "http", Version: st.Version, Serial: st.Serial}
		return st
	}
	tests := map[string]struct {
		status v1alpha1.StateStatus
		r      v1alpha1.RescuedState
		want   Relation
	}{
		"no version": {status: v1alpha1.StateStatus{},
			r: rescuedOf(me, 1, "L", "sha256:1"), want: Newer},
		"based on the current version": {status: written(other, noon),
			r: from("sha256:5", rescuedOf(me, 6, "L", "sha256:6")), want: Newer},
		"based on the current version with its serial": {status: written(other, noon),
			r: from("sha256:5", rescuedOf(me, 5, "L", "sha256:x")), want: Newer},
		"based on another version": {status: written(other, noon),
			r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"based on a version of the same serial and other content": {status: written(other, noon),
			r: from("sha256:y", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"based on no version": {status: written(other, noon),
			r: rescuedOf(me, 6, "L", "sha256:6"), want: Forked},
		"based on another version with an older serial": {status: written(other, noon),
			r: from("sha256:3", rescuedOf(me, 4, "L", "sha256:4")), want: Forked},
		"the same bytes": {status: written(me, noon),
			r: rescuedOf(me, 5, "L", "sha256:5"), want: Same},
		"an older serial of the same attempt": {status: written(me, noon),
			r: rescuedOf(me, 4, "L", "sha256:4"), want: Older},
		"the same serial of the same attempt": {status: written(me, noon),
			r: rescuedOf(me, 5, "L", "sha256:x"), want: Newer},
		"a later serial of the same attempt": {status: written(me, noon),
			r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Newer},
		"a later serial of the same attempt in a backend": {status: elsewhere(written(me, noon)),
			r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"an older serial of the same attempt in a backend": {status: elsewhere(written(me, noon)),
			r: from("sha256:3", rescuedOf(me, 4, "L", "sha256:4")), want: Forked},
		"based on the current version in a backend": {status: elsewhere(written(me, noon)),
			r: from("sha256:5", rescuedOf(me, 7, "L", "sha256:7")), want: Newer},
		"another lineage": {status: written(me, noon),
			r: from("sha256:5", rescuedOf(me, 6, "M", "sha256:6")), want: Forked},
		"another attempt of the same Run": {status: written(Holder{Run: "net-7", Attempt: 3, PodUID: "pod-3"}, noon),
			r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"a user": {status: written(Holder{}, noon),
			r: from("sha256:4", rescuedOf(Holder{}, 6, "L", "sha256:6")), want: Forked},
		"an earlier version": {status: followed(rescuedOf(me, 4, "L", "sha256:4"), other,
			noon), r: rescuedOf(me, 4, "L", "sha256:4"), want: Older},
		"older than an earlier version of the attempt": {status: followed(rescuedOf(me, 4, "L", "sha256:4"), other,
			noon), r: rescuedOf(me, 3, "L", "sha256:3"), want: Older},
		"a state without recorded versions": {status: v1alpha1.StateStatus{Version: 3, Serial: 5, Lineage: "L",
			SHA256: "sha256:5"}, r: rescuedOf(me, 6, "L", "sha256:6"), want: Forked},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := CompareRescued(test.status, test.r); got != test.want {
				t.Fatalf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestAdmitRescue(t *testing.T) {
	other := Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}
	mine, others, waits, blocked := written(other, noon), written(other, noon), written(other, noon), written(Holder{},
		noon)
	mine.Lock, others.Lock, blocked.Lock = lockOf(me, "a"), lockOf(other, "b"), lockOf(other, "b")
	waits.Rescued = &v1alpha1.RescuedState{Run: "net-6", Attempt: 1, Serial: 8, Lineage: "L", SHA256: "sha256:8"}
	replaced := runOf(v1alpha1.AttemptApply, "pod-1", "pod-2", "pod-3")
	failed := done(applying())
	failed.Status.Phase = v1alpha1.PhaseFailed
	six, nine, stale := rescuedOf(me, 6, "L", "sha256:6"), rescuedOf(me, 9, "L", "sha256:9"), rescuedOf(me, 6, "L",
		"sha256:6")
	six.Base, nine.Base, stale.Base = "sha256:5", "sha256:5", "sha256:4"
	tests := map[string]struct {
		status v1alpha1.StateStatus
		run    *v1alpha1.Run
		by     Holder
		r      v1alpha1.RescuedState
		want   RescueOutcome
		reason Reason
	}{
		"with the lock": {status: mine, run: applying(), r: six,
			want: RescueCommit},
		"with a free lock": {status: written(other, noon), run: applying(),
			r: six, want: RescueCommit},
		"a first state": {run: applying(), r: six, want: RescueCommit},
		"another attempt holds the lock": {status: others, run: applying(), r: six,
			want: RescueKeep},
		"already written": {status: mine, run: applying(),
			r: rescuedOf(me, 5, "L", "sha256:5"), want: RescueDone},
		"another lineage": {status: mine, run: applying(),
			r: rescuedOf(me, 6, "M", "sha256:6"), want: RescueFork},
		"a finished attempt may rescue": {status: written(other, noon),
			run: done(applying()), r: six, want: RescueCommit},
		"a replaced attempt may rescue": {status: written(other, noon), run: replaced,
			r: six, want: RescueCommit},
		"a replaced attempt whose successor wrote": {
			status: written(Holder{Run: "net-7", Attempt: 3, PodUID: "pod-3"}, noon), run: replaced, r: stale,
			want: RescueFork},
		"a version before that of its successor": {
			status: followed(rescuedOf(me, 4, "L", "sha256:4"), Holder{Run: "net-7", Attempt: 3, PodUID: "pod-3"},
				noon), run: replaced, r: rescuedOf(me, 4, "L", "sha256:4"), want: RescueDone},
		"a user wrote since": {status: written(Holder{}, noon), run: done(applying()), r: stale, want: RescueFork},
		"a user wrote since, and another attempt holds the lock": {status: blocked, run: done(applying()), r: stale,
			want: RescueFork},
		"a user wrote before": {status: written(Holder{}, noon),
			run: done(applying()), r: six, want: RescueCommit},
		"an attempt of a failed Run may rescue": {status: written(other, noon), run: failed, r: six,
			want: RescueCommit},
		"an attempt of a failed Run may not overwrite the next Run": {
			status: written(Holder{Run: "net-8", Attempt: 1, PodUID: "pod-3"}, noon), run: failed, r: stale,
			want: RescueFork},
		"the holder may rescue although its Run is deleted": {status: mine, r: six, want: RescueCommit},
		"another pod may not when the Run is deleted":       {status: others, r: six, reason: NotCurrent},
		"another pod may not": {status: others, run: applying(),
			by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, r: six, reason: NotCurrent},
		"a plan may not": {status: written(other, noon),
			run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), r: six, reason: NotCurrent},
		"a future attempt may not": {status: others, run: applying(),
			by: Holder{Run: "net-7", Attempt: 4, PodUID: "pod-2"}, r: six, reason: NotCurrent},
		"an older state does not replace a rescued one": {status: waits, run: applying(), r: six, reason: Stale},
		"a newer state replaces a rescued one":          {status: waits, run: applying(), r: nine, want: RescueCommit},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			got, rejection := AdmitRescue(Snapshot{Status: test.status, Run: test.run, Now: noon}, test.by, test.r)
			if got != test.want || ReasonOf(rejection) != test.reason {
				t.Fatalf("got %q, %v", got, rejection)
			}
		})
	}
}

func TestAdmitDelete(t *testing.T) {
	rescued := &v1alpha1.RescuedState{}
	tests := map[string]struct {
		snapshot Snapshot
		force    bool
		want     Reason
	}{
		"an empty state may be deleted": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Version: 3}}},
		"one with resources may not": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Resources: 1}}, want: NotEmpty},
		"one whose resources are unknown may not": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Resources: document.Unknown}}, want: NotEmpty},
		"one with a rescued state may not": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Rescued: rescued}}, want: NotEmpty},
		"one with resources may be deleted by force": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Resources: 1}}, force: true},
		"one that is locked may not": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, want: Locked},
		"one that is locked may not be deleted by force": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, force: true, want: Locked},
		"one whose holder has ended may": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}, Over: true}},
		"one whose deletion was interrupted may": {
			snapshot: Snapshot{Status: v1alpha1.StateStatus{Lock: &v1alpha1.Lock{ID: DeletionLock}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ReasonOf(AdmitDelete(test.snapshot, test.force)); got != test.want {
				t.Fatalf("got %q", got)
			}
		})
	}
}

func TestCompareWithTheBackup(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	st := func(version, serial int64, lineage, sum string, minute int) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{
			Version: version, Serial: serial, Lineage: lineage, SHA256: sum,
			Versions: []v1alpha1.StateVersion{{Version: version, Serial: serial, SHA256: sum, At: at(minute)}},
		}
	}
	backup := func(version, serial int64, lineage, sum string, minute int) Backup {
		return Backup{Stack: "mine", Lineage: lineage, StateVersion: v1alpha1.StateVersion{Version: version,
			Serial: serial, SHA256: sum, At: at(minute)}}
	}
	theirs := backup(3, 5, "L", "c", 3)
	theirs.Stack = "another"
	for name, c := range map[string]struct {
		st   v1alpha1.StateStatus
		b    Backup
		want Relation
	}{
		"the same":                                     {st(3, 5, "L", "c", 3), backup(3, 5, "L", "c", 3), Same},
		"the same with other version numbers":          {st(1, 5, "L", "c", 9), backup(3, 5, "L", "c", 3), Same},
		"an older State":                               {st(2, 4, "L", "b", 2), backup(3, 5, "L", "c", 3), Newer},
		"a State without a version":                    {v1alpha1.StateStatus{}, backup(3, 5, "L", "c", 3), Newer},
		"the same of another Stack":                    {st(3, 5, "L", "c", 3), theirs, Same},
		"an older State of a recreated Stack":          {st(2, 4, "L", "b", 2), theirs, Newer},
		"no version of a recreated Stack":              {v1alpha1.StateStatus{}, theirs, Forked},
		"a backup that was not written":                {st(3, 5, "L", "c", 3), backup(2, 4, "L", "b", 2), Older},
		"a backup that another writer overtook":        {st(4, 5, "L", "d", 3), backup(3, 5, "L", "c", 3), Older},
		"an older State of the same serial":            {st(2, 5, "L", "b", 2), backup(3, 5, "L", "c", 3), Newer},
		"another lineage by force, without a backup":   {st(4, 1, "M", "d", 4), backup(3, 5, "L", "c", 3), Older},
		"a State from before another lineage by force": {st(2, 4, "L", "b", 2), backup(3, 5, "M", "c", 3), Forked},
		"another lineage at the same time":             {st(2, 4, "L", "b", 3), backup(3, 5, "M", "c", 3), Forked},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CompareBackup(c.st, c.b, "mine"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
