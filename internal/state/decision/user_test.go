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
			{Version: 2, Serial: 4, SHA256: "sha256:4", Run: "net-6", Attempt: 1, At: metav1.NewTime(noon.Add(-time.Hour))},
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

func deleting(st *v1alpha1.StateStatus) {
	st.Lock = &v1alpha1.Lock{ID: DeletionLock, Who: "cairn", Since: noon}
}

func empty(st *v1alpha1.StateStatus) { st.Resources, st.Outputs = 0, nil }

// lost: attempt 2 of net-7 wrote version 3, and ended a minute later with a state that it could send nowhere.
var lost = &Stranded{Run: "net-7", Attempt: 2, At: metav1.NewMicroTime(noon.Add(time.Minute))}

// byPerson is a version that somebody wrote after that.
func byPerson(st *v1alpha1.StateStatus) {
	st.Version, st.Serial, st.SHA256, st.UpdatedBy = 4, 6, "sha256:6", ""
	st.Versions = append(st.Versions, v1alpha1.StateVersion{
		Version: 4, Serial: 6, SHA256: "sha256:6", By: "alice", At: metav1.NewTime(noon.Add(2 * time.Minute)),
	})
}

func TestAdmitPush(t *testing.T) {
	follows := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}
	tests := map[string]struct {
		world  Snapshot
		next   Summary
		force  bool
		want   Reason
		says   string
		keeps  bool // nothing is to be done
		serial int64
	}{
		"the first state is taken":                        {world: Snapshot{}, next: follows},
		"of serial 0 it is counted up":                    {world: Snapshot{}, next: Summary{Lineage: "L"}, serial: 1},
		"and rejected if its engine encrypts it":          {world: Snapshot{}, next: Summary{Lineage: "L", Resources: document.Unknown}, want: Opaque, says: "serial 1"},
		"a serial that follows is taken":                  {world: Snapshot{Status: at5()}, next: follows},
		"a serial that leaps is taken":                    {world: Snapshot{Status: at5()}, next: Summary{Serial: 60, Lineage: "L"}},
		"the same bytes again change nothing":             {world: Snapshot{Status: at5()}, next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, keeps: true},
		"other bytes of the same serial are rejected":     {world: Snapshot{Status: at5()}, next: Summary{Serial: 5, Lineage: "L"}, want: Stale, says: "serial 5, this one has 5"},
		"an older serial is rejected":                     {world: Snapshot{Status: at5()}, next: Summary{Serial: 4, Lineage: "L"}, want: Stale, says: "by force"},
		"another lineage is rejected":                     {world: Snapshot{Status: at5()}, next: Summary{Serial: 9, Lineage: "M"}, want: Stale, says: "lineage L, this one M"},
		"force takes an older serial, counted up":         {world: Snapshot{Status: at5()}, next: Summary{Serial: 4, Lineage: "L"}, force: true, serial: 6},
		"force takes another lineage, counted up":         {world: Snapshot{Status: at5()}, next: Summary{Serial: 5, Lineage: "M"}, force: true, serial: 6},
		"force leaves a serial alone that none had":       {world: Snapshot{Status: at5()}, next: Summary{Serial: 9, Lineage: "M"}, force: true},
		"force takes what follows as it is":               {world: Snapshot{Status: at5()}, next: follows, force: true},
		"an empty state may be replaced without force":    {world: Snapshot{Status: at5(empty)}, next: Summary{Serial: 9, Lineage: "M"}},
		"in place of an empty one a serial is new too":    {world: Snapshot{Status: at5(empty)}, next: Summary{Serial: 1, Lineage: "M"}, serial: 6},
		"one with outputs only is not empty":              {world: Snapshot{Status: at5(empty, func(st *v1alpha1.StateStatus) { st.Outputs = map[string]string{"x": "f"} })}, next: Summary{Serial: 9, Lineage: "M"}, want: Stale},
		"one that its engine encrypts is not empty":       {world: Snapshot{Status: at5(func(st *v1alpha1.StateStatus) { st.Resources = document.Unknown })}, next: Summary{Serial: 9, Lineage: "M"}, want: Stale},
		"an encrypted one cannot be counted up":           {world: Snapshot{Status: at5()}, next: Summary{Serial: 4, Lineage: "L", Resources: document.Unknown}, force: true, want: Opaque, says: "serial 6"},
		"nothing is pushed under a lock":                  {world: Snapshot{Status: at5(locked)}, next: follows, want: Locked, says: "attempt 2 of Run net-7"},
		"not by force either":                             {world: Snapshot{Status: at5(locked)}, next: follows, force: true, want: Locked},
		"of a holder that is over it says what to do":     {world: Snapshot{Status: at5(locked), Over: true}, next: follows, want: Locked, says: "state unlock <stack> a"},
		"nothing is pushed while the state is deleted":    {world: Snapshot{Status: at5(deleting)}, next: follows, want: Locked, says: "being deleted"},
		"nothing is pushed while an attempt is under way": {world: Snapshot{Status: at5(), Busy: applying()}, next: follows, want: Busy, says: "attempt 2 of Run net-7 is at work in pod pod-2"},
		"nothing is pushed while a plan waits":            {world: Snapshot{Status: at5(), Busy: done(applying())}, next: follows, want: Busy, says: "the plan of Run net-7 waits"},
		"not by force while it is":                        {world: Snapshot{Status: at5(), Busy: applying()}, next: follows, force: true, want: Busy},
		"a rescued state that waits goes first":           {world: Snapshot{Status: at5(rescued)}, next: Summary{Serial: 9, Lineage: "L"}, want: Stale, says: "serial 7"},
		"force leaves a rescued state behind":             {world: Snapshot{Status: at5(rescued)}, next: Summary{Serial: 9, Lineage: "L"}, force: true},
		"force makes the same bytes count again then":     {world: Snapshot{Status: at5(rescued)}, next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, force: true, serial: 6},
		"a state that was lost comes first":               {world: Snapshot{Status: at5(), Stranded: lost}, next: follows, want: Stale, says: "attempt 2 of Run net-7 lost a newer state"},
		"before the first one too":                        {world: Snapshot{Stranded: lost}, next: follows, want: Stale, says: "cairn state recover"},
		"and before the same bytes":                       {world: Snapshot{Status: at5(), Stranded: lost}, next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, want: Stale},
		"force leaves a lost state behind":                {world: Snapshot{Status: at5(), Stranded: lost}, next: follows, force: true},
		"with the same bytes too":                         {world: Snapshot{Status: at5(), Stranded: lost}, next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, force: true, serial: 6},
		"one that was put back is lost no more":           {world: Snapshot{Status: at5(byPerson), Stranded: lost}, next: Summary{Serial: 7, Lineage: "L"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.world.Status.DeepCopy()
			next, serial, err := AdmitPush(test.world, test.next, test.force)
			if ReasonOf(err) != test.want || serial != test.serial || (next == nil) != (test.want != "" || test.keeps) {
				t.Fatalf("got %+v, serial %d, %v", next, serial, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %q", err.Error())
			}
			if next != nil && next.Rescued != nil {
				t.Error("a rescued state waits still, and would fork from this one")
			}
			if before.Rescued != nil && test.world.Status.Rescued == nil {
				t.Error("the status that was read is changed")
			}
		})
	}
}

func TestAdmitRollback(t *testing.T) {
	content := document.Document{Serial: 4, Lineage: "L", Resources: 1}
	tests := map[string]struct {
		world   Snapshot
		version int64
		content document.Document
		want    Reason
		says    string
		serial  int64 // 6 when it is 0
	}{
		"an older version gets the serial that follows": {world: Snapshot{Status: at5()}, version: 2, content: content},
		"the current version is rejected":               {world: Snapshot{Status: at5()}, version: 3, content: content, want: Invalid, says: "is the current one"},
		"one of another lineage is rejected":            {world: Snapshot{Status: at5()}, version: 2, content: document.Document{Serial: 4, Lineage: "M"}, want: Stale, says: "push it by force"},
		"one that its engine encrypts is rejected":      {world: Snapshot{Status: at5()}, version: 2, content: document.Document{Serial: 4, Lineage: "L", Resources: document.Unknown}, want: Opaque},
		"not under a lock":                              {world: Snapshot{Status: at5(locked)}, version: 2, content: content, want: Locked},
		"not while an attempt is under way":             {world: Snapshot{Status: at5(), Busy: applying()}, version: 2, content: content, want: Busy},
		"not past a rescued state that waits":           {world: Snapshot{Status: at5(rescued)}, version: 2, content: content, want: Stale, says: "serial 7"},
		"not past a state that was lost":                {world: Snapshot{Status: at5(), Stranded: lost}, version: 2, content: content, want: Stale, says: "push it by force"},
		"past one that was put back it is":              {world: Snapshot{Status: at5(byPerson), Stranded: lost}, version: 2, content: content, serial: 7},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, serial, err := AdmitRollback(test.world, test.version, test.content)
			if ReasonOf(err) != test.want || (next != nil) != (test.want == "") {
				t.Fatalf("got %+v, %v", next, err)
			}
			if err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %q", err.Error())
			}
			if next != nil && serial != cmp.Or(test.serial, 6) {
				t.Errorf("serial %d", serial)
			}
		})
	}
}

func TestNoSerialIsUsedTwice(t *testing.T) {
	// Someone pushed serial 9 of another lineage by force, and went back to this one.
	st := at5()
	st.Versions[0].Serial = 9
	if next, serial, err := AdmitPush(Snapshot{Status: st}, Summary{Serial: 7, Lineage: "M"}, true); next == nil || serial != 10 {
		t.Errorf("push: %+v, serial %d, %v", next, serial, err)
	}
	if next, serial, err := AdmitRollback(Snapshot{Status: st}, 2, document.Document{Serial: 9, Lineage: "L"}); next == nil || serial != 10 {
		t.Errorf("rollback: %+v, serial %d, %v", next, serial, err)
	}
}

func TestAdmitRelease(t *testing.T) {
	tests := map[string]struct {
		world Snapshot
		id    string
		want  Reason
	}{
		"the lock of a holder that is over ends":        {world: Snapshot{Status: at5(locked), Over: true}, id: "a"},
		"the lock of one who is not known to be stays":  {world: Snapshot{Status: at5(locked)}, id: "a", want: Locked},
		"another ID is rejected":                        {world: Snapshot{Status: at5(locked), Over: true}, id: "b", want: NotHolder},
		"no ID is rejected":                             {world: Snapshot{Status: at5(locked), Over: true}, want: NotHolder},
		"a state that is not locked is said to be free": {world: Snapshot{Status: at5()}, id: "a", want: Missing},
		"the lock of a deletion stays":                  {world: Snapshot{Status: at5(deleting), Over: true}, id: DeletionLock, want: Busy},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, err := AdmitRelease(test.world, test.id)
			if ReasonOf(err) != test.want || (next != nil) != (test.want == "") {
				t.Fatalf("got %+v, %v", next, err)
			}
			if next != nil && (next.Lock != nil || next.Serial != 5) {
				t.Errorf("status %+v", next)
			}
			if err != nil && test.id != "a" && strings.Contains(err.Error(), `"a"`) {
				t.Errorf("it tells the ID: %q", err.Error())
			}
		})
	}
}

func TestAdmitRecover(t *testing.T) {
	tests := map[string]struct {
		world  Snapshot
		found  Summary
		base   string
		want   Reason
		says   string
		keeps  bool
		serial int64
	}{
		"what a stranded attempt lost is put back":      {world: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"}},
		"its last word counts with the same serial too": {world: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:x"}},
		"the first state of all is put back":            {world: Snapshot{Stranded: lost}, found: Summary{Serial: 1, Lineage: "L"}},
		"of serial 0 it is counted up":                  {world: Snapshot{Stranded: lost}, found: Summary{Lineage: "L"}, serial: 1},
		"unless its engine encrypts it":                 {world: Snapshot{Stranded: lost}, found: Summary{Lineage: "L", Resources: document.Unknown}},
		"one that is there already counts once more":    {world: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}},
		"but only once": {world: Snapshot{Status: at5(byPerson), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}, keeps: true},
		"an older one than a person wrote is rejected":        {world: Snapshot{Status: at5(byPerson), Stranded: lost}, found: Summary{Serial: 5, Lineage: "L"}, want: Stale, says: "nothing to put back"},
		"an older one is rejected":                            {world: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 4, Lineage: "L"}, want: Stale},
		"another lineage is rejected":                         {world: Snapshot{Status: at5(), Stranded: lost}, found: Summary{Serial: 6, Lineage: "M"}, want: Diverged, says: "cairn state pull <stack> --rescued"},
		"it is rejected when a person wrote since":            {world: Snapshot{Status: at5(byPerson), Stranded: lost}, found: Summary{Serial: 7, Lineage: "L"}, want: Stale},
		"it is rejected with the serial a person wrote since": {world: Snapshot{Status: at5(byPerson), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"}, want: Stale},
		"without a stranded attempt it has to follow":         {world: Snapshot{Status: at5(), Now: noon}, found: Summary{Serial: 6, Lineage: "L"}, base: "sha256:5"},
		"and not another version":                             {world: Snapshot{Status: at5(), Now: noon}, found: Summary{Serial: 6, Lineage: "L"}, base: "sha256:4", want: Stale},
		"without one the same serial is rejected":             {world: Snapshot{Status: at5(), Now: noon}, found: Summary{Serial: 5, Lineage: "L"}, want: Stale},
		"without one a person's serial is rejected":           {world: Snapshot{Status: at5(byPerson), Now: noon}, found: Summary{Serial: 6, Lineage: "L"}, want: Stale},
		"without one the current state changes nothing":       {world: Snapshot{Status: at5()}, found: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, keeps: true},
		"not under a lock":                                    {world: Snapshot{Status: at5(locked), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"}, want: Locked},
		"not while an attempt is under way":                   {world: Snapshot{Status: at5(), Stranded: lost, Busy: applying()}, found: Summary{Serial: 6, Lineage: "L"}, want: Busy},
		"not past a rescued state that is newer":              {world: Snapshot{Status: at5(rescued), Stranded: lost}, found: Summary{Serial: 6, Lineage: "L"}, want: Stale},
		"past a rescued state that is older":                  {world: Snapshot{Status: at5(rescued), Stranded: lost}, found: Summary{Serial: 8, Lineage: "L"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next, serial, err := AdmitRecover(test.world, test.found, test.base)
			if test.says != "" && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %q", err.Error())
			}
			if ReasonOf(err) != test.want || serial != test.serial || (next == nil) != (test.want != "" || test.keeps) {
				t.Fatalf("got %+v, %v", next, err)
			}
		})
	}
}

func TestTheWorldOfAPersonKnowsWhoIsAtWorkAndWhatWasLost(t *testing.T) {
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
	older, newer := ended(v1alpha1.FailureStateNotSaved, noon.Time), ended(v1alpha1.FailureStateNotSaved, noon.Add(time.Hour))
	newer.Name = "net-9"
	w.AddRun(newer)
	w.AddRun(older)
	if w.Stranded == nil || w.Stranded.Run != "net-9" || w.Stranded.Attempt != 2 {
		t.Errorf("stranded %+v", w.Stranded)
	}
	if w.AddRun(applying()); w.Busy == nil {
		t.Error("nobody is at work")
	}
}

func TestALockSaysWhatToDoAboutItsHolder(t *testing.T) {
	lock := lockOf(me, "a")
	for _, test := range []struct {
		run  *v1alpha1.Run
		gone bool
		says string
	}{
		{applying(), false, "works in pod pod-2: let it end, or cancel it with cairn cancel net-7"},
		{applying(), true, "Its pod is gone, but Run net-7 does not report yet that it is over"},
		{done(applying()), false, "its pod pod-2 is not known to be gone"},
		{nil, false, "its pod pod-2 is not known to be gone"},
	} {
		if got := DescribeHolder(lock, test.run, "pod-2", test.gone); !strings.Contains(got, test.says) {
			t.Errorf("got %q; want %q", got, test.says)
		}
	}
}

// A plan that waits is read and approved for the state as it is.
func TestARunThatWaitsIsBusy(t *testing.T) {
	for phase, busy := range map[v1alpha1.RunPhase]bool{
		v1alpha1.PhaseAwaitingApproval: true, v1alpha1.PhasePlanning: false, // it plans anew
		v1alpha1.PhaseSucceeded: false, v1alpha1.PhaseFailed: false, v1alpha1.PhaseCanceled: false, v1alpha1.PhaseSuperseded: false,
	} {
		run, w := done(applying()), Snapshot{}
		run.Status.Phase = phase
		if w.AddRun(run); (w.Busy != nil) != busy {
			t.Errorf("%s: busy %v", phase, w.Busy != nil)
		}
	}
}
