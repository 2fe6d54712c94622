package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// written is the status after a version of serial 5 that an attempt wrote at a time.
func written(by Holder, at metav1.Time) v1alpha1.StateStatus {
	return v1alpha1.StateStatus{
		Version: 3, Serial: 5, Lineage: "L", SHA256: "sha256:5", UpdatedBy: by.Run,
		Versions: []v1alpha1.StateVersion{{Version: 3, Serial: 5, SHA256: "sha256:5", Run: by.Run, Attempt: by.Attempt, At: at}},
	}
}

func rescuedOf(by Holder, serial int64, lineage, sum string) v1alpha1.RescuedState {
	return v1alpha1.RescuedState{SHA256: sum, Serial: serial, Lineage: lineage, Run: by.Run, Attempt: by.Attempt, At: noon}
}

// followed is the status after a rescued state became a version, and another one wrote the next.
func followed(r v1alpha1.RescuedState, by Holder, at metav1.Time) v1alpha1.StateStatus {
	st := written(by, at)
	was := v1alpha1.StateVersion{Version: 2, Serial: r.Serial, SHA256: r.SHA256, Run: r.Run, Attempt: r.Attempt, At: r.At}
	st.Versions = append([]v1alpha1.StateVersion{was}, st.Versions...)
	return st
}

func TestStanding(t *testing.T) {
	before, after := metav1.NewTime(noon.Add(-time.Minute)), metav1.NewTime(noon.Add(time.Minute))
	other := Holder{Run: "net-6", Attempt: 1}
	tests := map[string]struct {
		status v1alpha1.StateStatus
		r      v1alpha1.RescuedState
		want   Standing
	}{
		"any is newer than none":                                 {status: v1alpha1.StateStatus{}, r: rescuedOf(me, 1, "L", "sha256:1"), want: Newer},
		"a later serial is newer":                                {status: written(other, before), r: rescuedOf(me, 6, "L", "sha256:6"), want: Newer},
		"the same bytes are the same":                            {status: written(me, before), r: rescuedOf(me, 5, "L", "sha256:5"), want: Same},
		"an older serial is older":                               {status: written(me, before), r: rescuedOf(me, 4, "L", "sha256:4"), want: Older},
		"the same serial of somebody else is older":              {status: written(other, before), r: rescuedOf(me, 5, "L", "sha256:x"), want: Older},
		"the same serial of the same attempt is its last word":   {status: written(me, before), r: rescuedOf(me, 5, "L", "sha256:x"), want: Newer},
		"another lineage is a fork":                              {status: written(me, before), r: rescuedOf(me, 6, "M", "sha256:6"), want: Forked},
		"a later serial is a fork if somebody wrote in between":  {status: written(other, after), r: rescuedOf(me, 6, "L", "sha256:6"), want: Forked},
		"a later serial is newer if it was the same who wrote":   {status: written(me, after), r: rescuedOf(me, 6, "L", "sha256:6"), want: Newer},
		"an older serial is a fork if somebody wrote since":      {status: written(other, after), r: rescuedOf(me, 4, "L", "sha256:4"), want: Forked},
		"the same serial is a fork if somebody wrote since":      {status: written(other, after), r: rescuedOf(me, 5, "L", "sha256:x"), want: Forked},
		"a fork may be of the same second":                       {status: written(other, noon), r: rescuedOf(me, 6, "L", "sha256:6"), want: Forked},
		"a later attempt's is a fork, whatever the clock says":   {status: written(Holder{"net-7", 3, "pod-3"}, before), r: rescuedOf(me, 4, "L", "sha256:4"), want: Forked},
		"one that was a version is older, whoever wrote since":   {status: followed(rescuedOf(me, 4, "L", "sha256:4"), other, after), r: rescuedOf(me, 4, "L", "sha256:4"), want: Older},
		"and one of an attempt that wrote a later one":           {status: followed(rescuedOf(me, 4, "L", "sha256:4"), other, after), r: rescuedOf(me, 3, "L", "sha256:3"), want: Older},
		"a state without known versions is judged by its serial": {status: v1alpha1.StateStatus{Version: 3, Serial: 5, Lineage: "L"}, r: rescuedOf(me, 6, "L", "sha256:6"), want: Newer},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := standing(test.status, test.r); got != test.want {
				t.Fatalf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestAdmitRescue(t *testing.T) {
	before := metav1.NewTime(noon.Add(-2 * time.Hour))
	since := metav1.NewTime(noon.Add(-time.Minute))
	other := Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}
	mine, others, waits := written(other, before), written(other, before), written(other, before)
	mine.Lock, others.Lock = lockOf(me, "a"), lockOf(other, "b")
	waits.Rescued = &v1alpha1.RescuedState{Run: "net-6", Attempt: 1, Serial: 8, Lineage: "L", SHA256: "sha256:8"}
	replaced := runOf(v1alpha1.AttemptApply, "pod-1", "pod-2", "pod-3")
	failed := done(applying())
	failed.Status.Phase = v1alpha1.PhaseFailed
	six := rescuedOf(me, 6, "L", "sha256:6")
	tests := map[string]struct {
		status v1alpha1.StateStatus
		run    *v1alpha1.Run
		by     Holder
		r      v1alpha1.RescuedState
		want   RescueOutcome
		reason Reason
	}{
		"with the lock it is written at once":                   {status: mine, run: applying(), r: six, want: RescueCommit},
		"with a free lock it is written at once":                {status: written(other, before), run: applying(), r: six, want: RescueCommit},
		"a first state is written at once":                      {run: applying(), r: six, want: RescueCommit},
		"while another holds the lock it waits":                 {status: others, run: applying(), r: six, want: RescueKeep},
		"one that arrived already is done":                      {status: mine, run: applying(), r: rescuedOf(me, 5, "L", "sha256:5"), want: RescueDone},
		"an older one is done":                                  {status: mine, run: applying(), r: rescuedOf(me, 4, "L", "sha256:4"), want: RescueDone},
		"another lineage is for a person":                       {status: mine, run: applying(), r: rescuedOf(me, 6, "M", "sha256:6"), reason: Stale},
		"a finished attempt may rescue":                         {status: written(other, before), run: done(applying()), r: six, want: RescueCommit},
		"a replaced attempt may rescue":                         {status: written(other, before), run: replaced, r: six, want: RescueCommit},
		"a replaced attempt is told that its successor wrote":   {status: written(Holder{"net-7", 3, "pod-3"}, before), run: replaced, r: rescuedOf(me, 5, "L", "sha256:x"), reason: Stale},
		"one that was a version before its successor's is done": {status: followed(rescuedOf(me, 4, "L", "sha256:4"), Holder{"net-7", 3, "pod-3"}, before), run: replaced, r: rescuedOf(me, 4, "L", "sha256:4"), want: RescueDone},
		"nor is one of the same serial called done":             {status: written(Holder{}, since), run: done(applying()), r: rescuedOf(me, 5, "L", "sha256:x"), reason: Stale},
		"what a person wrote since is not undone":               {status: written(Holder{}, since), run: done(applying()), r: six, reason: Stale},
		"what a person wrote before is followed":                {status: written(Holder{}, before), run: done(applying()), r: six, want: RescueCommit},
		"a replaced attempt may not undo its successor":         {status: written(Holder{"net-7", 3, "pod-3"}, before), run: replaced, r: six, reason: Stale},
		"an attempt of a failed Run may rescue":                 {status: written(other, before), run: failed, r: six, want: RescueCommit},
		"an attempt of a failed Run may not undo the next Run":  {status: written(Holder{"net-8", 1, "pod-3"}, since), run: failed, r: six, reason: Stale},
		"the holder may rescue though its Run is gone":          {status: mine, r: six, want: RescueCommit},
		"nobody else may when the Run is gone":                  {status: others, r: six, reason: NotCurrent},
		"another pod may not":                                   {status: others, run: applying(), by: Holder{"net-7", 2, "pod-x"}, r: six, reason: NotCurrent},
		"a plan may not":                                        {status: written(other, before), run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), r: six, reason: NotCurrent},
		"an attempt that never was may not":                     {status: others, run: applying(), by: Holder{"net-7", 4, "pod-2"}, r: six, reason: NotCurrent},
		"an older one does not replace one that waits":          {status: waits, run: applying(), r: six, reason: Stale},
		"a newer one replaces one that waits":                   {status: waits, run: applying(), r: rescuedOf(me, 9, "L", "sha256:9"), want: RescueCommit},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			got, refusal := AdmitRescue(World{Status: test.status, Run: test.run, Now: noon}, test.by, test.r)
			if got != test.want || reason(refusal) != test.reason {
				t.Fatalf("got %q, %v", got, refusal)
			}
		})
	}
}

func TestAdmitDelete(t *testing.T) {
	rescued := &v1alpha1.RescuedState{}
	tests := map[string]struct {
		world World
		force bool
		want  Reason
	}{
		"an empty state may go":                    {world: World{Status: v1alpha1.StateStatus{Version: 3}}},
		"one with resources may not":               {world: World{Status: v1alpha1.StateStatus{Resources: 1}}, want: NotEmpty},
		"one whose resources are unknown may not":  {world: World{Status: v1alpha1.StateStatus{Resources: Unknown}}, want: NotEmpty},
		"one with a rescued state may not":         {world: World{Status: v1alpha1.StateStatus{Rescued: rescued}}, want: NotEmpty},
		"one with resources may go by force":       {world: World{Status: v1alpha1.StateStatus{Resources: 1}}, force: true},
		"one that is locked may not":               {world: World{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, want: Locked},
		"one that is locked may not go by force":   {world: World{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, force: true, want: Locked},
		"one whose lock is nobody's any more may":  {world: World{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}, Over: true}},
		"one whose deletion was cut off may go on": {world: World{Status: v1alpha1.StateStatus{Lock: &v1alpha1.Lock{ID: deletion}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reason(AdmitDelete(test.world, test.force)); got != test.want {
				t.Fatalf("got %q", got)
			}
		})
	}
}
