//go:build envtest

package state_test

import (
	"bytes"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

func TestARescuedStateBecomesAVersionAtOnceWhenNothingSpeaksAgainstIt(t *testing.T) {
	w := newWorld(t, state.Options{})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	for range 2 {
		must(t, w.store.Rescue(t.Context(), w.key, me, "", stateFile(2, "L", "", 3)))
	}
	w.reads(stateFile(2, "L", "", 3))
	if st := w.status(); st.Version != 2 || st.Resources != 3 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}
}

func TestTheFirstStateOfAllMayBeARescuedOne(t *testing.T) {
	w := newWorld(t, state.Options{})
	me := w.attempt()
	must(t, w.store.Rescue(t.Context(), w.key, me, "", stateFile(1, "L", "", 1)))
	w.reads(stateFile(1, "L", "", 1))
}

// Its engine may not have counted up before it gave it away, and a plan that was made before would take it for none.
func TestAFirstStateOfSerialZeroIsCountedUp(t *testing.T) {
	w := newWorld(t, state.Options{})
	me := w.attempt()
	for range 2 {
		must(t, w.store.Rescue(t.Context(), w.key, me, "", stateFile(0, "L", "", 1)))
	}
	w.reads(stateFile(1, "L", "", 1))
	if st := w.status(); st.Version != 1 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}

	w = newWorld(t, state.Options{})
	first, later := w.attempt(), w.attempt()
	w.lock(later, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(0, "L", "", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, later, "b"))
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(1, "L", "", 1))
	if st := w.status(); st.Version != 1 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}

	w = newWorld(t, state.Options{}).withStack()
	me = w.attempt()
	w.rest(me, v1alpha1.FailureStateNotSaved)
	must(t, second(w.store.Recover(t.Context(), w.key, "alice", "", stateFile(0, "L", "", 1))))
	w.reads(stateFile(1, "L", "", 1))

	w = newWorld(t, state.Options{}).withStack()
	must(t, second(w.store.Push(t.Context(), w.key, "alice", stateFile(0, "L", "", 1), false, 0)))
	w.reads(stateFile(1, "L", "", 1))
}

func TestARescuedStateWaitsForTheLockAndIsPromotedBeforeThePlan(t *testing.T) {
	w := newWorld(t, state.Options{})
	first := w.attempt()
	w.lock(first, "a")
	must(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(1, "L", "", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, first, "a"))
	second := w.attempt()
	w.lock(second, "b")

	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "", 2)))
	if r := w.status().Rescued; r == nil || r.Serial != 2 || r.Attempt != first.Attempt {
		t.Fatalf("rescued %+v", r)
	}
	rejectFollow(t, w.store.Promote(t.Context(), w.key), decision.Locked)
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	rejectFollow(t, w.tryLock(second, "c"), decision.Locked)
	must(t, w.store.Promote(t.Context(), w.key))
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(2, "L", "", 2))
	if st := w.status(); st.Rescued != nil || st.Version != 2 || st.Versions[1].Attempt != first.Attempt {
		t.Fatalf("status %+v", st)
	}
	w.lock(second, "c")
}

func TestPromotionTakesTheLockFromAHolderThatIsOver(t *testing.T) {
	w := newWorld(t, state.Options{})
	first := w.attempt()
	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "", 2)))
	w.attempt()
	w.killPod(second)
	must(t, w.store.Promote(t.Context(), w.key))
	if st := w.status(); st.Lock != nil || st.Version != 1 {
		t.Fatalf("status %+v", st)
	}
}

func TestARescuedStateThatIsNoLongerNewerIsPutAside(t *testing.T) {
	w := newWorld(t, state.Options{})
	first := w.attempt()
	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "old", 2)))
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(3, "L", "new", 1)))
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(3, "L", "new", 1))
	if st := w.status(); st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}
	if keys, err := w.bucket.List(t.Context(), "rescue"); err != nil || len(keys) != 2 {
		t.Fatalf("the bytes are gone: %v %v", keys, err)
	}
}

// Which serial is higher says who wrote more often, and not that the one state has what the other has.
func TestARescuedStateThatAnotherAttemptOvertookStopsThePlan(t *testing.T) {
	w := newWorld(t, state.Options{})
	first := w.attempt()
	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "first", 2)))
	must(t, w.store.Write(t.Context(), w.key, second, "b", stateFile(3, "L", "second", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	rejectFollow(t, w.store.Promote(t.Context(), w.key), decision.Diverged)
	rejectFollow(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(3, "L", "first", 2)), decision.Diverged)
	if r := w.status().Rescued; r == nil || r.Serial != 3 {
		t.Fatalf("rescued %+v", r)
	}
	w.reads(stateFile(3, "L", "second", 1))
}

// A backend of the engine's own had the version that an apply started from, and then one that somebody else wrote there.
func TestARescuedStateGoesOnlyOntoTheVersionThatItCameFrom(t *testing.T) {
	for name, test := range map[string]struct {
		theirs, want []byte
		reason       decision.Reason
	}{
		"nobody wrote":                         {stateFile(19, "L", "base", 1), stateFile(21, "L", "mine", 2), ""},
		"somebody wrote a newer serial":        {stateFile(20, "L", "theirs", 2), stateFile(20, "L", "theirs", 2), decision.Diverged},
		"somebody wrote as often as the apply": {stateFile(21, "L", "theirs", 2), stateFile(21, "L", "theirs", 2), decision.Diverged},
		"somebody wrote more often":            {stateFile(22, "L", "theirs", 2), stateFile(22, "L", "theirs", 2), decision.Diverged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, state.Options{})
			plan := w.attemptTo(v1alpha1.AttemptPlan)
			must(t, w.follow(plan, stateFile(19, "L", "base", 1)))
			me := w.attempt()
			base, err := w.store.Lock(t.Context(), w.key, me, decision.LockRequest{ID: "a", Backend: "http"})
			must(t, err)
			must(t, w.follow(me, test.theirs))
			err = w.store.Rescue(t.Context(), w.key, me, base, stateFile(21, "L", "mine", 2))
			if test.reason == "" {
				must(t, err)
			} else {
				rejectFollow(t, err, test.reason)
				rejectFollow(t, w.store.Promote(t.Context(), w.key), test.reason)
				if kept, err := w.store.ReadRescued(t.Context(), w.key); err != nil || !bytes.Equal(kept, stateFile(21, "L", "mine", 2)) {
					t.Errorf("kept %s, %v", kept, err)
				}
			}
			w.reads(test.want)
		})
	}
}

// The backend has the serial that it was seen to have, and another content: what was rescued is not put there.
func TestARescuedStateIsNotPutOverAnotherContentOfTheSameSerial(t *testing.T) {
	w := newWorld(t, state.Options{})
	must(t, w.follow(w.attemptTo(v1alpha1.AttemptPlan), stateFile(19, "L", "base", 1)))
	me := w.attempt()
	base, err := w.store.Lock(t.Context(), w.key, me, decision.LockRequest{ID: "a", Backend: "s3"})
	must(t, err)
	must(t, w.store.Rescue(t.Context(), w.key, me, base, stateFile(20, "L", "mine", 2)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	plan := w.attemptTo(v1alpha1.AttemptPlan)
	rejectFollow(t, w.follow(plan, stateFile(19, "L", "theirs", 1)), decision.Stale)
	v, _, err := w.store.Follow(t.Context(), w.key, plan, "s3", stateFile(19, "L", "base", 1))
	if err != nil || v.Action != decision.FollowPush {
		t.Fatalf("%+v, %v", v, err)
	}
}

func (w *world) follow(by decision.Holder, data []byte) error {
	_, _, err := w.store.Follow(w.Context(), w.key, by, "s3", data)
	return err
}

// Two attempts that each lost what they had made know nothing of one another, whatever their serials are.
func TestARescuedStateThatWaitsIsNotReplacedByAnotherAttempts(t *testing.T) {
	w := newWorld(t, state.Options{})
	first, second := w.attempt(), w.attempt()
	third := w.attempt()
	w.lock(third, "c")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "first", 2)))
	rejectFollow(t, w.store.Rescue(t.Context(), w.key, second, "", stateFile(3, "L", "second", 1)), decision.Stale)
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(4, "L", "first", 3)))
	if r := w.status().Rescued; r == nil || r.Attempt != first.Attempt || r.Serial != 4 {
		t.Fatalf("rescued %+v", r)
	}
}

func TestARescuedStateOfAnotherLineageStopsThePlan(t *testing.T) {
	w := newWorld(t, state.Options{})
	first := w.attempt()
	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "", 2)))
	must(t, w.store.Write(t.Context(), w.key, second, "b", stateFile(1, "M", "", 1)))
	rejectFollow(t, w.store.Promote(t.Context(), w.key), decision.Diverged)
	if w.status().Rescued == nil {
		t.Fatal("forgotten")
	}
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	rejectFollow(t, w.store.Delete(t.Context(), w.key), decision.NotEmpty)
}

func TestWhatIsRescuedIsKeptEvenIfItIsNoState(t *testing.T) {
	w := newWorld(t, state.Options{})
	me := w.attempt()
	err := w.store.Rescue(t.Context(), w.key, me, "", []byte("half a sta"))
	rejectFollow(t, err, decision.Invalid)
	keys, listErr := w.bucket.List(t.Context(), "rescue")
	if listErr != nil || len(keys) != 1 || !strings.Contains(err.Error(), keys[0]) {
		t.Fatalf("kept %v, told %v", keys, err)
	}
}

func TestAStrangerRescuesNothing(t *testing.T) {
	w := newWorld(t, state.Options{})
	me := w.attempt()
	stranger := decision.Holder{Run: me.Run, Attempt: me.Attempt, PodUID: "other"}
	rejectFollow(t, w.store.Rescue(t.Context(), w.key, stranger, "", stateFile(1, "L", "", 1)), decision.NotCurrent)
	if keys, err := w.bucket.List(t.Context(), "rescue"); err != nil || len(keys) > 0 {
		t.Fatalf("kept %v, %v", keys, err)
	}
	elsewhere := w.key
	elsewhere.Name = "other"
	rejectFollow(t, w.store.Rescue(t.Context(), elsewhere, me, "", stateFile(1, "L", "", 1)), decision.NotCurrent)
	_, err := w.store.Lock(t.Context(), elsewhere, me, decision.LockRequest{ID: "a"})
	rejectFollow(t, err, decision.NotCurrent)
}

func TestPromoteWithoutAnythingToPromoteWritesNothing(t *testing.T) {
	w := newWorld(t, state.Options{})
	must(t, w.store.Promote(t.Context(), w.key))
	me := w.attempt()
	w.lock(me, "a")
	before := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), w.key, before))
	must(t, w.store.Promote(t.Context(), w.key))
	after := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), w.key, after))
	if before.ResourceVersion != after.ResourceVersion {
		t.Fatal("written")
	}
}
