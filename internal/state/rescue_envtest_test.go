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

func TestRescuedStateIsPromotedAtOnce(t *testing.T) {
	w := newTestEnv(t, state.Options{})
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

func TestFirstStateCanBeARescuedOne(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	me := w.attempt()
	must(t, w.store.Rescue(t.Context(), w.key, me, "", stateFile(1, "L", "", 1)))
	w.reads(stateFile(1, "L", "", 1))
}

// TestFirstRescuedStateOfSerialZero checks that the serial is increased: the engine may have sent the state before it
// increased it, and an earlier plan would treat serial 0 as no state.
func TestFirstRescuedStateOfSerialZero(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	me := w.attempt()
	for range 2 {
		must(t, w.store.Rescue(t.Context(), w.key, me, "", stateFile(0, "L", "", 1)))
	}
	w.reads(stateFile(1, "L", "", 1))
	if st := w.status(); st.Version != 1 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}

	w = newTestEnv(t, state.Options{})
	first, later := w.attempt(), w.attempt()
	w.lock(later, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(0, "L", "", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, later, "b"))
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(1, "L", "", 1))
	if st := w.status(); st.Version != 1 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}

	w = newTestEnv(t, state.Options{}).withStack()
	me = w.attempt()
	w.rest(me, v1alpha1.FailureStateNotSaved)
	must(t, second(w.store.Recover(t.Context(), w.key, "alice", "", stateFile(0, "L", "", 1))))
	w.reads(stateFile(1, "L", "", 1))

	w = newTestEnv(t, state.Options{}).withStack()
	must(t, second(w.store.Push(t.Context(), w.key, "alice", stateFile(0, "L", "", 1), false, 0)))
	w.reads(stateFile(1, "L", "", 1))
}

func TestRescuedStateIsPromotedWhenTheLockIsFree(t *testing.T) {
	w := newTestEnv(t, state.Options{})
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
	wantRejected(t, w.store.Promote(t.Context(), w.key), decision.Locked)
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	wantRejected(t, w.tryLock(second, "c"), decision.Locked)
	must(t, w.store.Promote(t.Context(), w.key))
	must(t, w.store.Promote(t.Context(), w.key))
	w.reads(stateFile(2, "L", "", 2))
	if st := w.status(); st.Rescued != nil || st.Version != 2 || st.Versions[1].Attempt != first.Attempt {
		t.Fatalf("status %+v", st)
	}
	w.lock(second, "c")
}

func TestPromotionReleasesTheLockOfAnEndedHolder(t *testing.T) {
	w := newTestEnv(t, state.Options{})
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

func TestOlderRescuedStateIsDropped(t *testing.T) {
	w := newTestEnv(t, state.Options{})
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
		t.Fatalf("the state is not in the bucket: %v %v", keys, err)
	}
}

// TestRescuedStateForksFromAnotherAttempt checks that a higher serial does not mean that a state contains the changes
// of the other.
func TestRescuedStateForksFromAnotherAttempt(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	first := w.attempt()
	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "first", 2)))
	must(t, w.store.Write(t.Context(), w.key, second, "b", stateFile(3, "L", "second", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	wantRejected(t, w.store.Promote(t.Context(), w.key), decision.Diverged)
	wantRejected(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(3, "L", "first", 2)), decision.Diverged)
	if r := w.status().Rescued; r == nil || r.Serial != 3 {
		t.Fatalf("rescued %+v", r)
	}
	w.reads(stateFile(3, "L", "second", 1))
}

// TestRescuedStateNeedsItsBaseVersion checks a backend of the engine that had the version which an apply started from,
// and then one that another user wrote.
func TestRescuedStateNeedsItsBaseVersion(t *testing.T) {
	for name, test := range map[string]struct {
		theirs, want []byte
		reason       decision.Reason
	}{
		"no other write":                             {stateFile(19, "L", "base", 1), stateFile(21, "L", "mine", 2), ""},
		"another user wrote a newer serial":          {stateFile(20, "L", "theirs", 2), stateFile(20, "L", "theirs", 2), decision.Diverged},
		"another user wrote the serial of the apply": {stateFile(21, "L", "theirs", 2), stateFile(21, "L", "theirs", 2), decision.Diverged},
		"another user wrote a later serial":          {stateFile(22, "L", "theirs", 2), stateFile(22, "L", "theirs", 2), decision.Diverged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t, state.Options{})
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
				wantRejected(t, err, test.reason)
				wantRejected(t, w.store.Promote(t.Context(), w.key), test.reason)
				if kept, err := w.store.ReadRescued(t.Context(), w.key); err != nil || !bytes.Equal(kept, stateFile(21, "L", "mine", 2)) {
					t.Errorf("kept %s, %v", kept, err)
				}
			}
			w.reads(test.want)
		})
	}
}

// TestRescuedStateNeedsTheContentOfItsBaseVersion checks a backend that has the recorded serial with another content.
func TestRescuedStateNeedsTheContentOfItsBaseVersion(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	must(t, w.follow(w.attemptTo(v1alpha1.AttemptPlan), stateFile(19, "L", "base", 1)))
	me := w.attempt()
	base, err := w.store.Lock(t.Context(), w.key, me, decision.LockRequest{ID: "a", Backend: "s3"})
	must(t, err)
	must(t, w.store.Rescue(t.Context(), w.key, me, base, stateFile(20, "L", "mine", 2)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	plan := w.attemptTo(v1alpha1.AttemptPlan)
	wantRejected(t, w.follow(plan, stateFile(19, "L", "theirs", 1)), decision.Stale)
	v, _, err := w.store.Follow(t.Context(), w.key, plan, "s3", stateFile(19, "L", "base", 1))
	if err != nil || v.Action != decision.FollowPush {
		t.Fatalf("%+v, %v", v, err)
	}
}

func (w *testEnv) follow(by decision.Holder, data []byte) error {
	_, _, err := w.store.Follow(w.Context(), w.key, by, "s3", data)
	return err
}

// TestRescuedStateIsNotReplacedByThatOfAnotherAttempt checks that the states of two attempts are kept apart, whatever
// their serials.
func TestRescuedStateIsNotReplacedByThatOfAnotherAttempt(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	first, second := w.attempt(), w.attempt()
	third := w.attempt()
	w.lock(third, "c")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "first", 2)))
	wantRejected(t, w.store.Rescue(t.Context(), w.key, second, "", stateFile(3, "L", "second", 1)), decision.Stale)
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(4, "L", "first", 3)))
	if r := w.status().Rescued; r == nil || r.Attempt != first.Attempt || r.Serial != 4 {
		t.Fatalf("rescued %+v", r)
	}
}

func TestRescuedStateOfAnotherLineageStopsThePlan(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	first := w.attempt()
	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "", 2)))
	must(t, w.store.Write(t.Context(), w.key, second, "b", stateFile(1, "M", "", 1)))
	wantRejected(t, w.store.Promote(t.Context(), w.key), decision.Diverged)
	if w.status().Rescued == nil {
		t.Fatal("forgotten")
	}
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	wantRejected(t, w.store.Delete(t.Context(), w.key), decision.NotEmpty)
}

func TestInvalidRescuedStateIsStored(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	me := w.attempt()
	err := w.store.Rescue(t.Context(), w.key, me, "", []byte("half a sta"))
	wantRejected(t, err, decision.Invalid)
	keys, listErr := w.bucket.List(t.Context(), "rescue")
	if listErr != nil || len(keys) != 1 || !strings.Contains(err.Error(), keys[0]) {
		t.Fatalf("stored %v, reported %v", keys, err)
	}
}

func TestRescueIsDeniedToOtherPods(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	me := w.attempt()
	stranger := decision.Holder{Run: me.Run, Attempt: me.Attempt, PodUID: "other"}
	wantRejected(t, w.store.Rescue(t.Context(), w.key, stranger, "", stateFile(1, "L", "", 1)), decision.NotCurrent)
	if keys, err := w.bucket.List(t.Context(), "rescue"); err != nil || len(keys) > 0 {
		t.Fatalf("kept %v, %v", keys, err)
	}
	elsewhere := w.key
	elsewhere.Name = "other"
	wantRejected(t, w.store.Rescue(t.Context(), elsewhere, me, "", stateFile(1, "L", "", 1)), decision.NotCurrent)
	_, err := w.store.Lock(t.Context(), elsewhere, me, decision.LockRequest{ID: "a"})
	wantRejected(t, err, decision.NotCurrent)
}

func TestPromoteWithoutARescuedState(t *testing.T) {
	w := newTestEnv(t, state.Options{})
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
