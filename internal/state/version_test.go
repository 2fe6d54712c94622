package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

func numbered(from, to int64) []v1alpha1.StateVersion {
	var vs []v1alpha1.StateVersion
	for n := from; n <= to; n++ {
		vs = append(vs, v1alpha1.StateVersion{Version: n})
	}
	return vs
}

func TestPruneDropsTheOldestInBatches(t *testing.T) {
	tests := map[string]struct {
		have          []v1alpha1.StateVersion
		keep          int
		kept, dropped []v1alpha1.StateVersion
	}{
		"few stay":                        {have: numbered(1, 30), keep: 30, kept: numbered(1, 30)},
		"a few more stay":                 {have: numbered(1, 34), keep: 30, kept: numbered(1, 34)},
		"a batch more goes":               {have: numbered(1, 35), keep: 30, kept: numbered(6, 35), dropped: numbered(1, 5)},
		"the current one stays always":    {have: numbered(1, 9), keep: 0, kept: numbered(9, 9), dropped: numbered(1, 8)},
		"none is fine":                    {keep: 30},
		"far too many go down to the few": {have: numbered(1, 100), keep: 30, kept: numbered(71, 100), dropped: numbered(1, 70)},
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

func TestAcceptMakesAVersionTheCurrentOne(t *testing.T) {
	st := written(Holder{Run: "net-6"}, noon)
	st.Lock, st.InputsDigest, st.Outputs = lockOf(me, "a"), "sha256:in", map[string]string{"id": "f1", "gone": "f1"}
	st.Rescued = &v1alpha1.RescuedState{SHA256: "sha256:6"}
	s := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6", Size: 100, Resources: 4, Outputs: map[string]string{"id": "f2"}}
	v := s.version(4, me.origin(), noon)

	got, dropped := accept(st, s, v, 30)
	want := v1alpha1.StateStatus{
		Version: 4, Serial: 6, Lineage: "L", SHA256: "sha256:6", Size: 100, Resources: 4, UpdatedBy: "net-7",
		InputsDigest: "sha256:in", Outputs: s.Outputs, OutputsVersion: 4, Lock: st.Lock, Versions: append(st.Versions, v),
	}
	if diff := cmp.Diff(want, got); diff != "" || dropped != nil {
		t.Fatal(diff, dropped)
	}
	if len(st.Versions) != 1 || st.Rescued == nil {
		t.Error("the status that was read is changed")
	}

	st.Rescued.SHA256 = "sha256:other"
	if got, _ := accept(st, s, v, 30); got.Rescued == nil {
		t.Error("a rescued state with other bytes is forgotten")
	}
}
