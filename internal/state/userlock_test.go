package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

var (
	alice = Holder{User: "alice@example.com"}
	bob   = Holder{User: "bob@example.com"}
)

// lockedFor has a user's engine hold the lock.
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
		world World
		id    string
		want  Reason
		says  string
		keeps bool // the lock is there already
	}{
		"a free lock is taken":                              {world: World{Status: at5()}, id: "a"},
		"before the first version too":                      {world: World{}, id: "a"},
		"the same request again gets the lock it has":       {world: World{Status: at5(lockedFor(alice, "a"))}, id: "a", keeps: true},
		"also while a Run plans beside it":                  {world: World{Status: at5(lockedFor(alice, "a")), Busy: planning}, id: "a", keeps: true},
		"another engine of the same user waits":             {world: World{Status: at5(lockedFor(alice, "a"))}, id: "b", want: Locked, says: "cairn state unlock <stack> a"},
		"another user's lock is denied":                     {world: World{Status: at5(lockedFor(bob, "b"))}, id: "a", want: Locked, says: "user bob@example.com (dev@laptop) since"},
		"under its own ID too":                              {world: World{Status: at5(lockedFor(bob, "b"))}, id: "b", want: Locked},
		"the lock of an apply is denied":                    {world: World{Status: at5(locked)}, id: "b", want: Locked, says: "attempt 2 of Run net-7"},
		"under its own ID too, which is in the pod's log":   {world: World{Status: at5(locked)}, id: "a", want: Locked},
		"it is not taken over, even from one that is over":  {world: World{Status: at5(locked), Over: true}, id: "b", want: Locked, says: "state unlock <stack> a"},
		"a Run that applies comes first":                    {world: World{Status: at5(), Busy: applying()}, id: "a", want: Busy, says: "attempt 2 of Run net-7 is at work"},
		"a Run that plans comes first":                      {world: World{Status: at5(), Busy: planning}, id: "a", want: Busy, says: "cairn cancel net-7"},
		"a plan that waits for an approval comes first":     {world: World{Status: at5(), Busy: done(planning)}, id: "a", want: Busy, says: "the plan of Run net-7 waits"},
		"a rescued state that waits comes first":            {world: World{Status: at5(rescued)}, id: "a", want: Stale, says: "serial 7"},
		"a state that was lost comes first":                 {world: World{Status: at5(), Stranded: lost}, id: "a", want: Stale, says: "cairn state recover"},
		"one that was put back is lost no more":             {world: World{Status: at5(byPerson), Stranded: lost}, id: "a"},
		"what a killed apply created is imported first":     {world: World{Status: at5(), Unsaved: []string{"aws_vpc.c", "aws_vpc.d"}}, id: "a", want: Stale, says: "created aws_vpc.c and 1 more, which is not in the state"},
		"a state in the engine's own backend is not locked": {world: World{Status: at5(), Backend: "s3"}, id: "a", want: Stale, says: "own backend (s3)"},
		"nor one that has to be moved from there first":     {world: World{Status: at5(inBackend)}, id: "a", want: Stale, says: "cairn state migrate"},
		"nothing is locked while the state is deleted":      {world: World{Status: at5(deleting)}, id: "a", want: Locked, says: "being deleted"},
		"the ID of a deletion is not taken":                 {world: World{Status: at5()}, id: deletion, want: Invalid},
		"nor does it get the lock of one":                   {world: World{Status: at5(deleting)}, id: deletion, want: Invalid},
		"a lock without an ID is rejected":                  {world: World{Status: at5()}, want: Invalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.world.Now = noon
			v := AdmitUserLock(test.world, alice, LockRequest{ID: test.id, Who: "dev@laptop"})
			if reason(v.Refusal) != test.want || (v.Status == nil) != (test.want != "" || test.keeps) {
				t.Fatalf("got %+v", v)
			}
			if v.Refusal != nil && !strings.Contains(v.Refusal.Message, test.says) {
				t.Errorf("it says %q", v.Refusal.Message)
			}
			want := &v1alpha1.Lock{ID: test.id, By: "alice@example.com", Who: "dev@laptop", Since: noon}
			if v.Status != nil && !cmp.Equal(want, v.Status.Lock) {
				t.Error(cmp.Diff(want, v.Status.Lock))
			}
		})
	}
}

func TestAUserWritesUnderTheLock(t *testing.T) {
	next := Summary{Serial: 6, Lineage: "L", SHA256: "sha256:6"}
	held := at5(lockedFor(alice, "a"))
	tests := map[string]struct {
		status v1alpha1.StateStatus
		by     Holder
		id     string
		next   Summary
		want   Reason
		says   string
		write  bool
	}{
		"the next serial is written":                       {status: held, by: alice, id: "a", next: next, write: true},
		"a first state is written, whatever its lineage":   {status: v1alpha1.StateStatus{Lock: held.Lock}, by: alice, id: "a", next: Summary{Serial: 1, Lineage: "M"}, write: true},
		"the same bytes again are fine":                    {status: held, by: alice, id: "a", next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:5"}},
		"the same serial with other bytes is rejected":     {status: held, by: alice, id: "a", next: Summary{Serial: 5, Lineage: "L", SHA256: "sha256:x"}, want: Stale},
		"an older serial is rejected":                      {status: held, by: alice, id: "a", next: Summary{Serial: 4, Lineage: "L"}, want: Stale},
		"another lineage is rejected":                      {status: held, by: alice, id: "a", next: Summary{Serial: 6, Lineage: "M"}, want: Stale},
		"an empty state keeps its lineage too":             {status: at5(lockedFor(alice, "a"), empty), by: alice, id: "a", next: Summary{Serial: 9, Lineage: "M"}, want: Stale},
		"another lock ID is rejected":                      {status: held, by: alice, id: "b", next: next, want: NotHolder, says: "locked under ID a"},
		"no lock ID is rejected":                           {status: held, by: alice, next: next, want: NotHolder},
		"without a lock nothing is written":                {status: at5(), by: alice, id: "a", next: next, want: NotHolder, says: "take it first"},
		"another user does not write under that ID":        {status: held, by: bob, id: "a", next: next, want: NotHolder, says: "held by user alice@example.com (dev@laptop)"},
		"a pod does not write under it":                    {status: held, by: me, id: "a", next: next, want: NotHolder},
		"a user does not write under the lock of a Run":    {status: at5(locked), by: alice, id: "a", next: next, want: NotHolder},
		"nobody writes under the lock of a deletion":       {status: at5(deleting), by: Holder{}, id: deletion, next: next, want: NotHolder},
		"a user whose lock was ended by force is too late": {status: at5(lockedFor(bob, "b")), by: alice, id: "a", next: next, want: NotHolder, says: "locked under ID b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := AdmitWrite(World{Status: test.status, Now: noon}, test.by, test.id, test.next)
			if reason(v.Refusal) != test.want || (v.Status != nil) != test.write {
				t.Fatalf("got %+v", v)
			}
			if v.Refusal != nil && !strings.Contains(v.Refusal.Message, test.says) {
				t.Errorf("it says %q", v.Refusal.Message)
			}
		})
	}
}

func TestAUsersLockEnds(t *testing.T) {
	held := at5(lockedFor(alice, "a"))
	if v := AdmitUnlock(World{Status: held}, alice, "a"); v.Refusal != nil || v.Status == nil || v.Status.Lock != nil {
		t.Errorf("its holder gives it back: %+v", v)
	}
	for name, by := range map[string]Holder{"another user": bob, "a pod": me, "nobody": {}} {
		if v := AdmitUnlock(World{Status: held}, by, "a"); reason(v.Refusal) != NotHolder {
			t.Errorf("%s gives it back: %+v", name, v)
		}
	}
	if v := AdmitUnlock(World{Status: held}, alice, "b"); reason(v.Refusal) != NotHolder {
		t.Errorf("under another ID: %+v", v)
	}
	// By force, which takes another verb.
	if v := AdmitRelease(World{Status: held}, "a"); v.Refusal != nil || v.Status == nil || v.Status.Lock != nil {
		t.Errorf("a user ends it by force: %+v", v)
	}
	if v := AdmitRelease(World{Status: held}, "b"); reason(v.Refusal) != NotHolder {
		t.Errorf("by force, under another ID: %+v", v)
	}
	if over(held.Lock, nil, true) {
		t.Error("it ends by itself")
	}
}

// A Run that applies finds the lock as it would find that of another Run: it is tried again.
func TestARunWaitsForAUsersLock(t *testing.T) {
	v := AdmitLock(World{Run: applying(), Status: at5(lockedFor(alice, "a"))}, me, LockRequest{ID: "b"})
	if reason(v.Refusal) != Locked || v.Refusal.Lock == nil {
		t.Fatalf("got %+v", v)
	}
	for _, part := range []string{"user alice@example.com (dev@laptop)", "does not expire", "cairn state unlock <stack> a"} {
		if !strings.Contains(v.Refusal.Message, part) {
			t.Errorf("it does not say %q: %s", part, v.Refusal.Message)
		}
	}
	if refusal := AdmitDelete(World{Status: at5(lockedFor(alice, "a"))}, true); reason(refusal) != Locked {
		t.Errorf("a deletion: %v", refusal)
	}
	if v := AdmitLock(World{Run: applying(), Status: at5()}, me, LockRequest{ID: deletion}); reason(v.Refusal) != Invalid {
		t.Errorf("the ID of a deletion: %+v", v)
	}
}
