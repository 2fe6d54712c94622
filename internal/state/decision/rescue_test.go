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
		"any is newer than none":                                  {status: v1alpha1.StateStatus{}, r: rescuedOf(me, 1, "L", "sha256:1"), want: Newer},
		"one that started from the current version is newer":      {status: written(other, noon), r: from("sha256:5", rescuedOf(me, 6, "L", "sha256:6")), want: Newer},
		"whatever its serial is":                                  {status: written(other, noon), r: from("sha256:5", rescuedOf(me, 5, "L", "sha256:x")), want: Newer},
		"one that started from another version is a fork":         {status: written(other, noon), r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"also from one of the same serial and other content":      {status: written(other, noon), r: from("sha256:y", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"and one that started from none":                          {status: written(other, noon), r: rescuedOf(me, 6, "L", "sha256:6"), want: Forked},
		"also with an older serial":                               {status: written(other, noon), r: from("sha256:3", rescuedOf(me, 4, "L", "sha256:4")), want: Forked},
		"the same bytes are the same":                             {status: written(me, noon), r: rescuedOf(me, 5, "L", "sha256:5"), want: Same},
		"an older serial of the same attempt is older":            {status: written(me, noon), r: rescuedOf(me, 4, "L", "sha256:4"), want: Older},
		"the same serial of the same attempt is its last word":    {status: written(me, noon), r: rescuedOf(me, 5, "L", "sha256:x"), want: Newer},
		"a later serial is newer if it was the same who wrote":    {status: written(me, noon), r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Newer},
		"unless a backend of the engine's has the state":          {status: elsewhere(written(me, noon)), r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"where also a later serial says nothing":                  {status: elsewhere(written(me, noon)), r: from("sha256:3", rescuedOf(me, 4, "L", "sha256:4")), want: Forked},
		"where one from the current version is newer":             {status: elsewhere(written(me, noon)), r: from("sha256:5", rescuedOf(me, 7, "L", "sha256:7")), want: Newer},
		"another lineage is a fork":                               {status: written(me, noon), r: from("sha256:5", rescuedOf(me, 6, "M", "sha256:6")), want: Forked},
		"another attempt of the same Run is somebody else":        {status: written(Holder{Run: "net-7", Attempt: 3, PodUID: "pod-3"}, noon), r: from("sha256:4", rescuedOf(me, 6, "L", "sha256:6")), want: Forked},
		"a user is somebody else":                                 {status: written(Holder{}, noon), r: from("sha256:4", rescuedOf(Holder{}, 6, "L", "sha256:6")), want: Forked},
		"one that was a version is older, whoever wrote since":    {status: followed(rescuedOf(me, 4, "L", "sha256:4"), other, noon), r: rescuedOf(me, 4, "L", "sha256:4"), want: Older},
		"and one of an attempt that wrote a later one":            {status: followed(rescuedOf(me, 4, "L", "sha256:4"), other, noon), r: rescuedOf(me, 3, "L", "sha256:3"), want: Older},
		"a state without known versions is judged by its content": {status: v1alpha1.StateStatus{Version: 3, Serial: 5, Lineage: "L", SHA256: "sha256:5"}, r: rescuedOf(me, 6, "L", "sha256:6"), want: Forked},
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
	mine, others, waits, blocked := written(other, noon), written(other, noon), written(other, noon), written(Holder{}, noon)
	mine.Lock, others.Lock, blocked.Lock = lockOf(me, "a"), lockOf(other, "b"), lockOf(other, "b")
	waits.Rescued = &v1alpha1.RescuedState{Run: "net-6", Attempt: 1, Serial: 8, Lineage: "L", SHA256: "sha256:8"}
	replaced := runOf(v1alpha1.AttemptApply, "pod-1", "pod-2", "pod-3")
	failed := done(applying())
	failed.Status.Phase = v1alpha1.PhaseFailed
	six, nine, stale := rescuedOf(me, 6, "L", "sha256:6"), rescuedOf(me, 9, "L", "sha256:9"), rescuedOf(me, 6, "L", "sha256:6")
	six.Base, nine.Base, stale.Base = "sha256:5", "sha256:5", "sha256:4"
	tests := map[string]struct {
		status v1alpha1.StateStatus
		run    *v1alpha1.Run
		by     Holder
		r      v1alpha1.RescuedState
		want   RescueOutcome
		reason Reason
	}{
		"with the lock it is written at once":                   {status: mine, run: applying(), r: six, want: RescueCommit},
		"with a free lock it is written at once":                {status: written(other, noon), run: applying(), r: six, want: RescueCommit},
		"a first state is written at once":                      {run: applying(), r: six, want: RescueCommit},
		"while another holds the lock it waits":                 {status: others, run: applying(), r: six, want: RescueKeep},
		"one that arrived already is done":                      {status: mine, run: applying(), r: rescuedOf(me, 5, "L", "sha256:5"), want: RescueDone},
		"another lineage is a fork":                             {status: mine, run: applying(), r: rescuedOf(me, 6, "M", "sha256:6"), want: RescueFork},
		"a finished attempt may rescue":                         {status: written(other, noon), run: done(applying()), r: six, want: RescueCommit},
		"a replaced attempt may rescue":                         {status: written(other, noon), run: replaced, r: six, want: RescueCommit},
		"a replaced attempt is told that its successor wrote":   {status: written(Holder{Run: "net-7", Attempt: 3, PodUID: "pod-3"}, noon), run: replaced, r: stale, want: RescueFork},
		"one that was a version before its successor's is done": {status: followed(rescuedOf(me, 4, "L", "sha256:4"), Holder{Run: "net-7", Attempt: 3, PodUID: "pod-3"}, noon), run: replaced, r: rescuedOf(me, 4, "L", "sha256:4"), want: RescueDone},
		"what a user wrote since is not undone":                 {status: written(Holder{}, noon), run: done(applying()), r: stale, want: RescueFork},
		"nor while another holds the lock":                      {status: blocked, run: done(applying()), r: stale, want: RescueFork},
		"what a user wrote before is followed":                  {status: written(Holder{}, noon), run: done(applying()), r: six, want: RescueCommit},
		"an attempt of a failed Run may rescue":                 {status: written(other, noon), run: failed, r: six, want: RescueCommit},
		"an attempt of a failed Run may not undo the next Run":  {status: written(Holder{Run: "net-8", Attempt: 1, PodUID: "pod-3"}, noon), run: failed, r: stale, want: RescueFork},
		"the holder may rescue though its Run is gone":          {status: mine, r: six, want: RescueCommit},
		"nobody else may when the Run is gone":                  {status: others, r: six, reason: NotCurrent},
		"another pod may not":                                   {status: others, run: applying(), by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, r: six, reason: NotCurrent},
		"a plan may not":                                        {status: written(other, noon), run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), r: six, reason: NotCurrent},
		"an attempt that never was may not":                     {status: others, run: applying(), by: Holder{Run: "net-7", Attempt: 4, PodUID: "pod-2"}, r: six, reason: NotCurrent},
		"an older one does not replace one that waits":          {status: waits, run: applying(), r: six, reason: Stale},
		"a newer one replaces one that waits":                   {status: waits, run: applying(), r: nine, want: RescueCommit},
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
		world Snapshot
		force bool
		want  Reason
	}{
		"an empty state may go":                    {world: Snapshot{Status: v1alpha1.StateStatus{Version: 3}}},
		"one with resources may not":               {world: Snapshot{Status: v1alpha1.StateStatus{Resources: 1}}, want: NotEmpty},
		"one whose resources are unknown may not":  {world: Snapshot{Status: v1alpha1.StateStatus{Resources: document.Unknown}}, want: NotEmpty},
		"one with a rescued state may not":         {world: Snapshot{Status: v1alpha1.StateStatus{Rescued: rescued}}, want: NotEmpty},
		"one with resources may go by force":       {world: Snapshot{Status: v1alpha1.StateStatus{Resources: 1}}, force: true},
		"one that is locked may not":               {world: Snapshot{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, want: Locked},
		"one that is locked may not go by force":   {world: Snapshot{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, force: true, want: Locked},
		"one whose lock is nobody's any more may":  {world: Snapshot{Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}, Over: true}},
		"one whose deletion was cut off may go on": {world: Snapshot{Status: v1alpha1.StateStatus{Lock: &v1alpha1.Lock{ID: DeletionLock}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ReasonOf(AdmitDelete(test.world, test.force)); got != test.want {
				t.Fatalf("got %q", got)
			}
		})
	}
}

func TestBehind(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	st := func(version, serial int64, lineage, sum string, minute int) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{
			Version: version, Serial: serial, Lineage: lineage, SHA256: sum,
			Versions: []v1alpha1.StateVersion{{Version: version, Serial: serial, SHA256: sum, At: at(minute)}},
		}
	}
	backup := func(version, serial int64, lineage, sum string, minute int) Backup {
		return Backup{Stack: "mine", Lineage: lineage, StateVersion: v1alpha1.StateVersion{Version: version, Serial: serial, SHA256: sum, At: at(minute)}}
	}
	theirs := backup(3, 5, "L", "c", 3)
	theirs.Stack = "another"
	for name, c := range map[string]struct {
		st   v1alpha1.StateStatus
		b    Backup
		want Relation
	}{
		"the same":                                          {st(3, 5, "L", "c", 3), backup(3, 5, "L", "c", 3), Same},
		"the same, counted anew":                            {st(1, 5, "L", "c", 9), backup(3, 5, "L", "c", 3), Same},
		"a State from before":                               {st(2, 4, "L", "b", 2), backup(3, 5, "L", "c", 3), Newer},
		"a State from before its first version":             {v1alpha1.StateStatus{}, backup(3, 5, "L", "c", 3), Newer},
		"the same of another Stack":                         {st(3, 5, "L", "c", 3), theirs, Same},
		"a State from before, of a Stack made anew":         {st(2, 4, "L", "b", 2), theirs, Newer},
		"none, of a Stack made anew":                        {v1alpha1.StateStatus{}, theirs, Forked},
		"a backup that was not written":                     {st(3, 5, "L", "c", 3), backup(2, 4, "L", "b", 2), Older},
		"one that another writer overtook":                  {st(4, 5, "L", "d", 3), backup(3, 5, "L", "c", 3), Older},
		"the same serial, and a State from before":          {st(2, 5, "L", "b", 2), backup(3, 5, "L", "c", 3), Newer},
		"another lineage by force, and no backup of it":     {st(4, 1, "M", "d", 4), backup(3, 5, "L", "c", 3), Older},
		"a State from before another lineage came by force": {st(2, 4, "L", "b", 2), backup(3, 5, "M", "c", 3), Forked},
		"another lineage at the same time":                  {st(2, 4, "L", "b", 3), backup(3, 5, "M", "c", 3), Forked},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CompareBackup(c.st, c.b, "mine"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
