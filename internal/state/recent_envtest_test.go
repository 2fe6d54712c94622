//go:build envtest

package state_test

import (
	"context"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

// other is the Store of another server of the same installation, which has a memory of its own.
func (env *testEnv) other() *state.Store {
	return state.New(apiserver.Kube, apiserver.Kube, env.bucket, state.Options{Log: env.store.Log})
}

func TestAttemptReadsItsStateOnce(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	var reads atomic.Int32
	live := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.State); ok {
				reads.Add(1)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	env.store = state.New(apiserver.Kube, live, env.bucket, state.Options{Log: env.store.Log})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(2, "L", "", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	env.lock(me, "b")
	if n := reads.Load(); n != 1 {
		t.Errorf("%d reads of the State", n)
	}
}

// TestRememberedStateIsOnlyABase checks that what this server remembers decides nothing once another server wrote the
// State.
func TestRememberedStateIsOnlyABase(t *testing.T) {
	for name, test := range map[string]func(env *testEnv, me decision.Holder){
		"a lock that is free by now is granted": func(env *testEnv, me decision.Holder) {
			next := env.attempt()
			wantRejected(env.T, env.tryLock(next, "b"), decision.Locked)
			must(env.T, env.other().Unlock(env.Context(), env.key, me, "a"))
			must(env.T, env.tryLock(next, "b"))
		},
		"a lock that is held by now is rejected": func(env *testEnv, me decision.Holder) {
			must(env.T, env.store.Unlock(env.Context(), env.key, me, "a"))
			next := env.attempt()
			_, err := env.other().Lock(env.Context(), env.key, next, decision.LockRequest{ID: "b"})
			must(env.T, err)
			wantRejected(env.T, env.tryLock(next, "c"), decision.Locked)
		},
		"a lock that was taken since is released": func(env *testEnv, me decision.Holder) {
			must(env.T, env.store.Unlock(env.Context(), env.key, me, "a"))
			_, err := env.other().Lock(env.Context(), env.key, me, decision.LockRequest{ID: "b"})
			must(env.T, err)
			must(env.T, env.store.Unlock(env.Context(), env.key, me, "b"))
			if lock := env.status().Lock; lock != nil {
				env.Errorf("locked by %+v", lock)
			}
		},
		"a version that follows only an older one is rejected": func(env *testEnv, me decision.Holder) {
			must(env.T, env.other().Write(env.Context(), env.key, me, "a", stateFile(5, "L", "", 1)))
			wantRejected(env.T, env.store.Write(env.Context(), env.key, me, "a", stateFile(3, "L", "", 1)), decision.Stale)
			env.reads(stateFile(5, "L", "", 1))
		},
		"a version that was written since is followed": func(env *testEnv, me decision.Holder) {
			must(env.T, env.other().Write(env.Context(), env.key, me, "a", stateFile(5, "L", "", 1)))
			must(env.T, env.store.Write(env.Context(), env.key, me, "a", stateFile(6, "L", "", 1)))
			if v := env.status().Version; v != 3 {
				env.Errorf("version %d", v)
			}
		},
		"the same version is not written again over another one": func(env *testEnv, me decision.Holder) {
			must(env.T, env.other().Write(env.Context(), env.key, me, "a", stateFile(5, "L", "", 1)))
			wantRejected(env.T, env.store.Write(env.Context(), env.key, me, "a", stateFile(1, "L", "", 1)), decision.Stale)
		},
		"a State that was deleted since is created": func(env *testEnv, me decision.Holder) {
			must(env.T, env.store.Unlock(env.Context(), env.key, me, "a"))
			must(env.T, env.other().Purge(env.Context(), env.key))
			must(env.T, env.tryLock(env.attempt(), "b"))
			if v := env.status().Version; v != 0 {
				env.Errorf("version %d", v)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			me := env.attempt()
			env.lock(me, "a")
			must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "", 1)))
			test(env, me)
		})
	}
}

func TestPlanReadsTheVersionThatItBeganWith(t *testing.T) {
	plan, another := decision.Holder{Run: "net-9", Attempt: 1, PodUID: "p"}, decision.Holder{Run: "net-9", Attempt: 2, PodUID: "p"}
	first, second := stateFile(1, "L", "", 1), stateFile(2, "L", "", 1)
	for name, test := range map[string]struct {
		then func(env *testEnv, me decision.Holder)
		by   decision.Holder
		want []byte
	}{
		"after another server wrote a version": {func(*testEnv, decision.Holder) {}, plan, first},
		"but not another attempt":              {func(*testEnv, decision.Holder) {}, another, second},
		"but not after it was recorded what the state has of the journal": {func(env *testEnv, me decision.Holder) {
			must(env.T, env.store.AppendJournal(env.Context(), env.key, env.run, me, 0, []byte(`{"entries":[{"address":"a","action":"create"}]}`)))
			must(env.T, env.store.RecordHeld(env.Context(), env.key))
		}, plan, second},
		"but not once the state follows a backend": {func(env *testEnv, _ decision.Holder) {
			_, _, err := env.store.Follow(env.Context(), env.key, plan, "s3", nil)
			wantRejected(env.T, err, decision.NotCurrent)
		}, plan, second},
		"but not once it begins again": {func(env *testEnv, _ decision.Holder) {
			must(env.T, env.store.BeginPlan(env.Context(), env.key, plan))
		}, plan, second},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			me := env.attempt()
			env.lock(me, "a")
			must(t, env.store.Write(t.Context(), env.key, me, "a", first))
			must(t, env.store.BeginPlan(t.Context(), env.key, plan))
			must(t, env.other().Write(t.Context(), env.key, me, "a", second))
			test.then(env, me)
			got, err := env.store.ReadPlanned(t.Context(), env.key, test.by)
			must(t, err)
			if string(got) != string(test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
