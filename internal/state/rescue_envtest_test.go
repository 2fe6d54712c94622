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
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	for range 2 {
		must(t, env.store.Rescue(t.Context(), env.key, me, "", stateFile(2, "L", "", 3)))
	}
	env.reads(stateFile(2, "L", "", 3))
	if st := env.status(); st.Version != 2 || st.Resources != 3 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}
}

func TestFirstStateCanBeARescuedOne(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	must(t, env.store.Rescue(t.Context(), env.key, me, "", stateFile(1, "L", "", 1)))
	env.reads(stateFile(1, "L", "", 1))
}

// TestFirstRescuedStateOfSerialZero checks that the serial is increased: the engine may have sent the state before it
// increased it, and an earlier plan would treat serial 0 as no state.
func TestFirstRescuedStateOfSerialZero(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	for range 2 {
		must(t, env.store.Rescue(t.Context(), env.key, me, "", stateFile(0, "L", "", 1)))
	}
	env.reads(stateFile(1, "L", "", 1))
	if st := env.status(); st.Version != 1 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}

	env = newTestEnv(t, state.Options{})
	first, later := env.attempt(), env.attempt()
	env.lock(later, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(0, "L", "", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, later, "b"))
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(1, "L", "", 1))
	if st := env.status(); st.Version != 1 || st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}

	env = newTestEnv(t, state.Options{}).withStack()
	me = env.attempt()
	env.rest(me, v1alpha1.FailureStateNotSaved)
	must(t, second(env.store.Recover(t.Context(), env.key, "alice", decision.Printed{Run: me.Run, Attempt: me.Attempt},
		stateFile(0, "L", "", 1))))
	env.reads(stateFile(1, "L", "", 1))

	env = newTestEnv(t, state.Options{}).withStack()
	must(t, second(env.store.Push(t.Context(), env.key, "alice", stateFile(0, "L", "", 1), false, 0)))
	env.reads(stateFile(1, "L", "", 1))
}

func TestRescuedStateIsPromotedWhenTheLockIsFree(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	env.lock(first, "a")
	must(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(1, "L", "", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, first, "a"))
	second := env.attempt()
	env.lock(second, "b")

	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "", 2)))
	if r := env.status().Rescued; r == nil || r.Serial != 2 || r.Attempt != first.Attempt {
		t.Fatalf("rescued %+v", r)
	}
	wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Locked)
	must(t, env.store.Unlock(t.Context(), env.key, second, "b"))
	wantRejected(t, env.tryLock(second, "c"), decision.Locked)
	must(t, env.store.Promote(t.Context(), env.key))
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(2, "L", "", 2))
	if st := env.status(); st.Rescued != nil || st.Version != 2 || st.Versions[1].Attempt != first.Attempt {
		t.Fatalf("status %+v", st)
	}
	env.lock(second, "c")
}

func TestPromotionReleasesTheLockOfAnEndedHolder(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	second := env.attempt()
	env.lock(second, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "", 2)))
	env.attempt()
	env.killPod(second)
	must(t, env.store.Promote(t.Context(), env.key))
	if st := env.status(); st.Lock != nil || st.Version != 1 {
		t.Fatalf("status %+v", st)
	}
}

func TestOlderRescuedStateIsDropped(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	second := env.attempt()
	env.lock(second, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "old", 2)))
	must(t, env.store.Unlock(t.Context(), env.key, second, "b"))
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(3, "L", "new", 1)))
	must(t, env.store.Promote(t.Context(), env.key))
	env.reads(stateFile(3, "L", "new", 1))
	if st := env.status(); st.Rescued != nil {
		t.Fatalf("status %+v", st)
	}
	if keys, err := env.bucket.List(t.Context(), "rescue"); err != nil || len(keys) != 2 {
		t.Fatalf("the state is not in the bucket: %v %v", keys, err)
	}
}

// TestRescuedStateForksFromAnotherAttempt checks that a higher serial does not mean that a state contains the changes
// of the other.
func TestRescuedStateForksFromAnotherAttempt(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	second := env.attempt()
	env.lock(second, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "first", 2)))
	must(t, env.store.Write(t.Context(), env.key, second, "b", stateFile(3, "L", "second", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, second, "b"))
	wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Diverged)
	wantRejected(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(3, "L", "first", 2)), decision.Diverged)
	if r := env.status().Rescued; r == nil || r.Serial != 3 {
		t.Fatalf("rescued %+v", r)
	}
	env.reads(stateFile(3, "L", "second", 1))
}

// TestRescuedStateNeedsItsBaseVersion checks a backend of the engine that had the version which an apply started from,
// and then one that another user wrote.
func TestRescuedStateNeedsItsBaseVersion(t *testing.T) {
	for name, test := range map[string]struct {
		theirs, want []byte
		reason       decision.Reason
	}{
		"no other write": {stateFile(19, "L", "base", 1), stateFile(21, "L", "mine", 2),
			""},
		"another user wrote a newer serial": {stateFile(20, "L", "theirs", 2), stateFile(20, "L", "theirs", 2),
			decision.Diverged},
		"another user wrote the serial of the apply": {stateFile(21, "L", "theirs", 2), stateFile(21, "L", "theirs", 2),
			decision.Diverged},
		"another user wrote a later serial": {stateFile(22, "L", "theirs", 2), stateFile(22, "L", "theirs", 2),
			decision.Diverged},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			plan := env.attemptTo(v1alpha1.AttemptPlan)
			must(t, env.follow(plan, stateFile(19, "L", "base", 1)))
			me := env.attempt()
			base, err := env.store.Lock(t.Context(), env.key, me, decision.LockRequest{ID: "a", Backend: "http"})
			must(t, err)
			must(t, env.follow(me, test.theirs))
			err = env.store.Rescue(t.Context(), env.key, me, base, stateFile(21, "L", "mine", 2))
			if test.reason == "" {
				must(t, err)
			} else {
				wantRejected(t, err, test.reason)
				wantRejected(t, env.store.Promote(t.Context(), env.key), test.reason)
				if kept, err := env.store.ReadRescued(t.Context(), env.key); err != nil ||
					!bytes.Equal(kept, stateFile(21, "L", "mine", 2)) {
					t.Errorf("kept %s, %v", kept, err)
				}
			}
			env.reads(test.want)
		})
	}
}

// TestRescuedStateNeedsTheContentOfItsBaseVersion checks a backend that has the recorded serial with another content.
func TestRescuedStateNeedsTheContentOfItsBaseVersion(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	must(t, env.follow(env.attemptTo(v1alpha1.AttemptPlan), stateFile(19, "L", "base", 1)))
	me := env.attempt()
	base, err := env.store.Lock(t.Context(), env.key, me, decision.LockRequest{ID: "a", Backend: "s3"})
	must(t, err)
	must(t, env.store.Rescue(t.Context(), env.key, me, base, stateFile(20, "L", "mine", 2)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	plan := env.attemptTo(v1alpha1.AttemptPlan)
	wantRejected(t, env.follow(plan, stateFile(19, "L", "theirs", 1)), decision.Stale)
	v, _, err := env.store.Follow(t.Context(), env.key, plan, "s3", stateFile(19, "L", "base", 1))
	if err != nil || v.Action != decision.FollowPush {
		t.Fatalf("%+v, %v", v, err)
	}
}

func (env *testEnv) follow(by decision.Holder, data []byte) error {
	_, _, err := env.store.Follow(env.Context(), env.key, by, "s3", data)
	return err
}

// TestRescuedStateIsNotReplacedByThatOfAnotherAttempt checks that the states of two attempts are kept apart, whatever
// their serials.
func TestRescuedStateIsNotReplacedByThatOfAnotherAttempt(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first, second := env.attempt(), env.attempt()
	third := env.attempt()
	env.lock(third, "c")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "first", 2)))
	wantRejected(t, env.store.Rescue(t.Context(), env.key, second, "", stateFile(3, "L", "second", 1)), decision.Stale)
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(4, "L", "first", 3)))
	if r := env.status().Rescued; r == nil || r.Attempt != first.Attempt || r.Serial != 4 {
		t.Fatalf("rescued %+v", r)
	}
}

func TestRescuedStateOfAnotherLineageStopsThePlan(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	first := env.attempt()
	second := env.attempt()
	env.lock(second, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "", 2)))
	must(t, env.store.Write(t.Context(), env.key, second, "b", stateFile(1, "M", "", 1)))
	wantRejected(t, env.store.Promote(t.Context(), env.key), decision.Diverged)
	if env.status().Rescued == nil {
		t.Fatal("forgotten")
	}
	must(t, env.store.Unlock(t.Context(), env.key, second, "b"))
	wantRejected(t, env.store.Delete(t.Context(), env.key), decision.NotEmpty)
}

func TestInvalidRescuedStateIsStored(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	err := env.store.Rescue(t.Context(), env.key, me, "", []byte("half a sta"))
	wantRejected(t, err, decision.Invalid)
	keys, listErr := env.bucket.List(t.Context(), "rescue")
	if listErr != nil || len(keys) != 1 || !strings.Contains(err.Error(), keys[0]) {
		t.Fatalf("stored %v, reported %v", keys, err)
	}
}

func TestRescueIsDeniedToOtherPods(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	stranger := decision.Holder{Run: me.Run, Attempt: me.Attempt, PodUID: "other"}
	wantRejected(t, env.store.Rescue(t.Context(), env.key, stranger, "", stateFile(1, "L", "", 1)), decision.NotCurrent)
	if keys, err := env.bucket.List(t.Context(), "rescue"); err != nil || len(keys) > 0 {
		t.Fatalf("kept %v, %v", keys, err)
	}
	elsewhere := env.key
	elsewhere.Name = "other"
	wantRejected(t, env.store.Rescue(t.Context(), elsewhere, me, "", stateFile(1, "L", "", 1)), decision.NotCurrent)
	_, err := env.store.Lock(t.Context(), elsewhere, me, decision.LockRequest{ID: "a"})
	wantRejected(t, err, decision.NotCurrent)
}

func TestPromoteWithoutARescuedState(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	must(t, env.store.Promote(t.Context(), env.key))
	me := env.attempt()
	env.lock(me, "a")
	before := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), env.key, before))
	must(t, env.store.Promote(t.Context(), env.key))
	after := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), env.key, after))
	if before.ResourceVersion != after.ResourceVersion {
		t.Fatal("written")
	}
}
