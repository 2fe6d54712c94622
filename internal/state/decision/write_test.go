package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestAdmitWrite(t *testing.T) {
	at5 := v1alpha1.StateStatus{Version: 3, Serial: 5, Lineage: "L", SHA256: "sha256:5", Lock: lockOf(me, "a")}
	next := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}
	free, fresh, others := at5, v1alpha1.StateStatus{Lock: lockOf(me, "a")}, at5
	free.Lock = nil
	others.Lock = lockOf(Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, "a")
	earlier := at5
	earlier.Lock = lockOf(Holder{Run: "net-7", Attempt: 1, PodUID: "pod-2"}, "a")
	tests := map[string]struct {
		status v1alpha1.StateStatus
		run    *v1alpha1.Run
		by     Holder
		id     string
		next   Summary
		want   Reason
		write  bool
	}{
		"the next serial under the lock is written": {status: at5, run: applying(), id: "a", next: next,
			write: true},
		"a later serial under the lock is written": {status: at5, run: applying(), id: "a",
			next: Summary{Serial: 9, Lineage: "L"}, write: true},
		"a first state is written, whatever its lineage": {status: fresh, run: applying(), id: "a",
			next: Summary{Serial: 0, Lineage: "M"}, write: true},
		"the same bytes again are accepted": {status: at5, run: applying(), id: "a",
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}},
		"the same serial with other bytes is rejected": {status: at5, run: applying(), id: "a",
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:x"}, want: Stale},
		"an older serial is rejected": {status: at5, run: applying(), id: "a",
			next: Summary{Serial: 4, Lineage: "L", SHA256: "sha256:4"}, want: Stale},
		"another lineage is rejected": {status: at5, run: applying(), id: "a",
			next: Summary{Serial: 6, Lineage: "M"}, want: Stale},
		"another lock ID is rejected": {status: at5, run: applying(), id: "b", next: next,
			want: NotHolder},
		"no lock ID is rejected": {status: at5, run: applying(), next: next,
			want: NotHolder},
		"no lock ID on a free lock is rejected": {status: free, run: applying(), next: next,
			want: NotHolder},
		"a free lock is rejected": {status: free, run: applying(), id: "a", next: next,
			want: NotHolder},
		"another pod's lock is rejected": {status: others, run: applying(), id: "a", next: next,
			want: NotHolder},
		"the lock of an earlier attempt is rejected": {status: earlier, run: applying(), id: "a", next: next,
			want: NotHolder},
		"an attempt that was replaced is rejected": {status: at5, run: applying(),
			by: Holder{Run: "net-7", Attempt: 1, PodUID: "pod-1"}, id: "a", next: next, want: NotCurrent},
		"a pod that is not the attempt's is rejected": {status: others, run: applying(),
			by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", next: next, want: NotCurrent},
		"a finished attempt is rejected": {status: at5, run: done(applying()), id: "a", next: next,
			want: NotCurrent},
		"a plan is rejected": {status: at5,
			run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), id: "a", next: next, want: NotCurrent},
		"the holder writes although its Run is deleted": {status: at5, id: "a", next: next, write: true},
		"another pod is rejected when the Run is deleted": {status: at5,
			by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", next: next, want: NotHolder},
		"a stale state is rejected when the Run is deleted": {status: at5, id: "a",
			next: Summary{Serial: 4, Lineage: "L"}, want: Stale},
		"without lock and Run nothing is written":             {status: free, id: "a", next: next, want: NotHolder},
		"another lock ID is rejected when the Run is deleted": {status: at5, id: "b", next: next, want: NotHolder},
		"the same bytes without the lock are rejected": {status: free, run: applying(), id: "a",
			next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, want: NotHolder},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			next, err := AdmitWrite(Snapshot{Status: test.status, Run: test.run, Now: noon}, test.by,
				test.id, test.next)
			if ReasonOf(err) != test.want || (next != nil) != test.write {
				t.Fatalf("got %+v, %v", next, err)
			}
		})
	}
}

func numbered(from, to int64) []v1alpha1.StateVersion {
	var vs []v1alpha1.StateVersion
	for n := from; n <= to; n++ {
		vs = append(vs, v1alpha1.StateVersion{Version: n})
	}
	return vs
}

func TestPruneRemovesTheOldestInBatches(t *testing.T) {
	tests := map[string]struct {
		have          []v1alpha1.StateVersion
		keep          int
		kept, dropped []v1alpha1.StateVersion
	}{
		"fewer than the limit":              {have: numbered(1, 30), keep: 30, kept: numbered(1, 30)},
		"less than a batch above the limit": {have: numbered(1, 34), keep: 30, kept: numbered(1, 34)},
		"a batch above the limit": {have: numbered(1, 35), keep: 30, kept: numbered(6, 35),
			dropped: numbered(1, 5)},
		"the current version is kept": {have: numbered(1, 9), keep: 0, kept: numbered(9, 9), dropped: numbered(1, 8)},
		"no versions":                 {keep: 30},
		"far above the limit": {have: numbered(1, 100), keep: 30, kept: numbered(71, 100),
			dropped: numbered(1, 70)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kept, dropped := prune(test.have, test.keep)
			if diff := cmp.Diff(test.kept, kept) + cmp.Diff(test.dropped, dropped); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestAcceptSetsTheCurrentVersion(t *testing.T) {
	st := written(Holder{Run: "net-6"}, noon)
	st.Lock, st.InputsDigest, st.Outputs = lockOf(me, "a"), "sha256:in", map[string]string{"id": "f1", "gone": "f1"}
	st.Rescued = &v1alpha1.RescuedState{SHA256: "sha256:6"}
	s := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6", Size: 100, Resources: 4,
		Outputs: map[string]string{"id": "f2"}}
	v := v1alpha1.StateVersion{Version: 4, Serial: 6, SHA256: "sha256:6", Size: 100, Run: me.Run, Attempt: me.Attempt,
		At: noon}

	got, dropped := Accept(st, s, v, 30)
	want := v1alpha1.StateStatus{
		Version: 4, Serial: 6, Lineage: "L", SHA256: "sha256:6", Size: 100, Resources: 4, UpdatedBy: "net-7",
		InputsDigest: "sha256:in", Outputs: s.Outputs, Lock: st.Lock, Versions: append(st.Versions, v),
	}
	if diff := cmp.Diff(want, got); diff != "" || dropped != nil {
		t.Fatal(diff, dropped)
	}
	if len(st.Versions) != 1 || st.Rescued == nil {
		t.Error("the original status was modified")
	}

	st.Rescued.SHA256 = "sha256:other"
	if got, _ := Accept(st, s, v, 30); got.Rescued == nil {
		t.Error("a rescued state with other bytes was removed")
	}
}
