package state

import (
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
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-7"}, Spec: v1alpha1.RunSpec{InputsDigest: "sha256:in"}}
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

// applying is the Run of me, at me.
func applying() *v1alpha1.Run { return runOf(v1alpha1.AttemptApply, "pod-1", "pod-2") }

func done(run *v1alpha1.Run) *v1alpha1.Run {
	run.Status.Attempts[len(run.Status.Attempts)-1].FinishedAt = &metav1.MicroTime{Time: noon.Time}
	return run
}

func lockOf(by Holder, id string) *v1alpha1.Lock {
	return &v1alpha1.Lock{ID: id, Run: by.Run, Attempt: by.Attempt, PodUID: by.PodUID, Since: noon}
}

func reason(r *Refusal) Reason {
	if r == nil {
		return ""
	}
	return r.Reason
}

func TestAdmitLock(t *testing.T) {
	other := Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}
	rescued := &v1alpha1.RescuedState{Run: "net-6", Attempt: 1, Serial: 9}
	tests := map[string]struct {
		world World
		by    Holder
		id    string
		want  Reason
		taken bool
	}{
		"a free lock is taken":                             {world: World{Run: applying()}, id: "a", taken: true},
		"a lock without an ID is refused":                  {world: World{Run: applying()}, want: Invalid},
		"the same request again gets the lock it has":      {world: World{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, id: "a"},
		"another ID of the same attempt is refused":        {world: World{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, id: "b", want: Locked},
		"a held lock is refused":                           {world: World{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(other, "a")}}, id: "b", want: Locked},
		"a held lock is refused under its own ID too":      {world: World{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(other, "a")}}, id: "a", want: Locked},
		"a lock whose holder is over is taken over":        {world: World{Run: applying(), Status: v1alpha1.StateStatus{Lock: lockOf(other, "a")}, Over: true}, id: "b", taken: true},
		"an attempt that was replaced gets no lock":        {world: World{Run: applying()}, by: Holder{Run: "net-7", Attempt: 1, PodUID: "pod-1"}, id: "a", want: NotCurrent},
		"another pod gets no lock":                         {world: World{Run: applying()}, by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", want: NotCurrent},
		"a finished attempt gets no lock":                  {world: World{Run: done(applying())}, id: "a", want: NotCurrent},
		"an attempt to come gets no lock":                  {world: World{Run: applying()}, by: Holder{Run: "net-7", Attempt: 3, PodUID: "pod-2"}, id: "a", want: NotCurrent},
		"a Run without attempts gets no lock":              {world: World{Run: runOf(v1alpha1.AttemptApply)}, id: "a", want: NotCurrent},
		"a Run that is gone gets no lock":                  {id: "a", want: NotCurrent},
		"an apply waits for a rescued state to be planned": {world: World{Run: applying(), Status: v1alpha1.StateStatus{Rescued: rescued}}, id: "a", want: Locked},
		"a plan gets no lock":                              {world: World{Run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2")}, id: "a", want: NotCurrent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			test.world.Now = noon
			v := AdmitLock(test.world, test.by, LockRequest{ID: test.id, Who: "runner@pod"})
			if reason(v.Refusal) != test.want || (v.Status != nil) != test.taken {
				t.Fatalf("got %+v", v)
			}
			if v.Refusal != nil && v.Refusal.Reason == Locked && v.Refusal.Lock == nil {
				t.Error("the refusal does not say who holds the lock")
			}
			want := &v1alpha1.Lock{ID: test.id, Run: "net-7", Attempt: 2, PodUID: "pod-2", Who: "runner@pod", Since: noon}
			if v.Status != nil && !cmp.Equal(want, v.Status.Lock) {
				t.Error(cmp.Diff(want, v.Status.Lock))
			}
		})
	}
}

func TestAShellLocksAndWritesAsAnApplyDoes(t *testing.T) {
	run := runOf(v1alpha1.AttemptShell, "pod-1", "pod-2")
	v := AdmitLock(World{Run: run, Status: v1alpha1.StateStatus{InputsDigest: "sha256:old"}}, me, LockRequest{ID: "a"})
	if v.Status == nil || v.Status.Lock == nil || v.Status.InputsDigest != "sha256:old" { // what was applied is what a destroy takes
		t.Errorf("lock: %+v", v)
	}
	if v := AdmitLock(World{Run: run, Status: v1alpha1.StateStatus{Lock: lockOf(Holder{Run: "net-6", Attempt: 1, PodUID: "pod-9"}, "b")}}, me, LockRequest{ID: "a"}); reason(v.Refusal) != Locked {
		t.Errorf("a held lock: %+v", v)
	}
	if v := AdmitWrite(World{Run: run}, me, "a", Summary{Serial: 1, Lineage: "L"}); reason(v.Refusal) != NotHolder {
		t.Errorf("without a lock: %+v", v)
	}
	if v := AdmitWrite(World{Run: run, Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, me, "a", Summary{Serial: 1, Lineage: "L"}); v.Status == nil {
		t.Errorf("write: %+v", v)
	}
	if v := AdmitWrite(World{Run: done(run), Status: v1alpha1.StateStatus{Lock: lockOf(me, "a")}}, me, "a", Summary{Serial: 1, Lineage: "L"}); reason(v.Refusal) != NotCurrent {
		t.Errorf("after its end: %+v", v)
	}
	if outcome, refusal := AdmitRescue(World{Run: run}, me, v1alpha1.RescuedState{Serial: 1, Lineage: "L", SHA256: "sha256:1"}); outcome != RescueCommit {
		t.Errorf("rescue: %s, %v", outcome, refusal)
	}
}

func TestTheLockOfAnApplyRecordsItsInputs(t *testing.T) {
	w := World{Run: applying(), Status: v1alpha1.StateStatus{InputsDigest: "sha256:old"}}
	if v := AdmitLock(w, me, LockRequest{ID: "a"}); v.Status == nil || v.Status.InputsDigest != "sha256:in" {
		t.Errorf("got %+v", v)
	}
}

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
		"the next serial under the lock is written":        {status: at5, run: applying(), id: "a", next: next, write: true},
		"a later serial under the lock is written":         {status: at5, run: applying(), id: "a", next: Summary{Serial: 9, Lineage: "L"}, write: true},
		"a first state is written, whatever its lineage":   {status: fresh, run: applying(), id: "a", next: Summary{Serial: 0, Lineage: "M"}, write: true},
		"the same bytes again are fine":                    {status: at5, run: applying(), id: "a", next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}},
		"the same serial with other bytes is refused":      {status: at5, run: applying(), id: "a", next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:x"}, want: Stale},
		"an older serial is refused":                       {status: at5, run: applying(), id: "a", next: Summary{Serial: 4, Lineage: "L", SHA256: "sha256:4"}, want: Stale},
		"another lineage is refused":                       {status: at5, run: applying(), id: "a", next: Summary{Serial: 6, Lineage: "M"}, want: Stale},
		"another lock ID is refused":                       {status: at5, run: applying(), id: "b", next: next, want: NotHolder},
		"no lock ID is refused":                            {status: at5, run: applying(), next: next, want: NotHolder},
		"no lock ID on a free lock is refused":             {status: free, run: applying(), next: next, want: NotHolder},
		"a free lock is refused":                           {status: free, run: applying(), id: "a", next: next, want: NotHolder},
		"another pod's lock is refused":                    {status: others, run: applying(), id: "a", next: next, want: NotHolder},
		"the lock of an earlier attempt is refused":        {status: earlier, run: applying(), id: "a", next: next, want: NotHolder},
		"an attempt that was replaced is refused":          {status: at5, run: applying(), by: Holder{Run: "net-7", Attempt: 1, PodUID: "pod-1"}, id: "a", next: next, want: NotCurrent},
		"a pod that is not the attempt's is refused":       {status: others, run: applying(), by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", next: next, want: NotCurrent},
		"a finished attempt is refused":                    {status: at5, run: done(applying()), id: "a", next: next, want: NotCurrent},
		"a plan is refused":                                {status: at5, run: runOf(v1alpha1.AttemptPlan, "pod-1", "pod-2"), id: "a", next: next, want: NotCurrent},
		"the holder writes though its Run is gone":         {status: at5, id: "a", next: next, write: true},
		"nobody else writes when the Run is gone":          {status: at5, by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", next: next, want: NotHolder},
		"a stale state is refused when the Run is gone":    {status: at5, id: "a", next: Summary{Serial: 4, Lineage: "L"}, want: Stale},
		"without lock and Run nothing is written":          {status: free, id: "a", next: next, want: NotHolder},
		"another lock ID is refused when the Run is gone":  {status: at5, id: "b", next: next, want: NotHolder},
		"the same bytes without the lock are refused also": {status: free, run: applying(), id: "a", next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}, want: NotHolder},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.by == (Holder{}) {
				test.by = me
			}
			v := AdmitWrite(World{Status: test.status, Run: test.run, Now: noon}, test.by, test.id, test.next)
			if reason(v.Refusal) != test.want || (v.Status != nil) != test.write {
				t.Fatalf("got %+v", v)
			}
		})
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
		"the holder gives it back":      {lock: lockOf(me, "a"), by: me, id: "a", writes: true},
		"a free lock is free":           {by: me, id: "a"},
		"another ID is refused":         {lock: lockOf(me, "a"), by: me, id: "b", want: NotHolder},
		"no ID is refused":              {lock: lockOf(me, "a"), by: me, want: NotHolder},
		"another pod is refused":        {lock: lockOf(me, "a"), by: Holder{Run: "net-7", Attempt: 2, PodUID: "pod-x"}, id: "a", want: NotHolder},
		"another attempt is refused":    {lock: lockOf(me, "a"), by: Holder{Run: "net-7", Attempt: 3, PodUID: "pod-2"}, id: "a", want: NotHolder},
		"another Run's lock is refused": {lock: lockOf(Holder{Run: "net-6", Attempt: 2, PodUID: "pod-2"}, "a"), by: me, id: "a", want: NotHolder},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := AdmitUnlock(World{Status: v1alpha1.StateStatus{Version: 3, Lock: test.lock}}, test.by, test.id)
			if reason(v.Refusal) != test.want || (v.Status != nil) != test.writes {
				t.Fatalf("got %+v", v)
			}
			if v.Status != nil && (v.Status.Lock != nil || v.Status.Version != 3) {
				t.Errorf("left %+v", v.Status)
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
		"a finished attempt whose pod is gone is over":      {lock: lock, run: done(applying()), gone: true, want: true},
		"a finished attempt whose pod may live is not":      {lock: lock, run: done(applying())},
		"a pod that is gone does not finish its attempt":    {lock: lock, run: applying(), gone: true},
		"without Run and pod it is over":                    {lock: lock, gone: true, want: true},
		"without Run but with a pod it is not":              {lock: lock},
		"an attempt that the Run forgot is over with a pod": {lock: lock, run: forgotten, gone: true, want: true},
		"a lock that no pod holds is never over":            {lock: &v1alpha1.Lock{ID: "a"}, gone: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := over(test.lock, test.run, test.gone); got != test.want {
				t.Fatalf("got %v", got)
			}
		})
	}
}
