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
func (w *testEnv) other() *state.Store {
	return state.New(apiserver.Kube, apiserver.Kube, w.bucket, state.Options{Log: w.store.Log})
}

func TestAttemptReadsItsStateOnce(t *testing.T) {
	w := newTestEnv(t, state.Options{})
	var reads atomic.Int32
	live := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.State); ok {
				reads.Add(1)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	w.store = state.New(apiserver.Kube, live, w.bucket, state.Options{Log: w.store.Log})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
	must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(2, "L", "", 1)))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	w.lock(me, "b")
	if n := reads.Load(); n != 1 {
		t.Errorf("%d reads of the State", n)
	}
}

// TestRememberedStateIsOnlyABase checks that what this server remembers decides nothing once another server wrote the
// State.
func TestRememberedStateIsOnlyABase(t *testing.T) {
	for name, test := range map[string]func(w *testEnv, me decision.Holder){
		"a lock that is free by now is granted": func(w *testEnv, me decision.Holder) {
			next := w.attempt()
			wantRejected(w.T, w.tryLock(next, "b"), decision.Locked)
			must(w.T, w.other().Unlock(w.Context(), w.key, me, "a"))
			must(w.T, w.tryLock(next, "b"))
		},
		"a lock that is held by now is rejected": func(w *testEnv, me decision.Holder) {
			must(w.T, w.store.Unlock(w.Context(), w.key, me, "a"))
			next := w.attempt()
			_, err := w.other().Lock(w.Context(), w.key, next, decision.LockRequest{ID: "b"})
			must(w.T, err)
			wantRejected(w.T, w.tryLock(next, "c"), decision.Locked)
		},
		"a lock that was taken since is released": func(w *testEnv, me decision.Holder) {
			must(w.T, w.store.Unlock(w.Context(), w.key, me, "a"))
			_, err := w.other().Lock(w.Context(), w.key, me, decision.LockRequest{ID: "b"})
			must(w.T, err)
			must(w.T, w.store.Unlock(w.Context(), w.key, me, "b"))
			if lock := w.status().Lock; lock != nil {
				w.Errorf("locked by %+v", lock)
			}
		},
		"a version that follows only an older one is rejected": func(w *testEnv, me decision.Holder) {
			must(w.T, w.other().Write(w.Context(), w.key, me, "a", stateFile(5, "L", "", 1)))
			wantRejected(w.T, w.store.Write(w.Context(), w.key, me, "a", stateFile(3, "L", "", 1)), decision.Stale)
			w.reads(stateFile(5, "L", "", 1))
		},
		"a version that was written since is followed": func(w *testEnv, me decision.Holder) {
			must(w.T, w.other().Write(w.Context(), w.key, me, "a", stateFile(5, "L", "", 1)))
			must(w.T, w.store.Write(w.Context(), w.key, me, "a", stateFile(6, "L", "", 1)))
			if v := w.status().Version; v != 3 {
				w.Errorf("version %d", v)
			}
		},
		"the same version is not written again over another one": func(w *testEnv, me decision.Holder) {
			must(w.T, w.other().Write(w.Context(), w.key, me, "a", stateFile(5, "L", "", 1)))
			wantRejected(w.T, w.store.Write(w.Context(), w.key, me, "a", stateFile(1, "L", "", 1)), decision.Stale)
		},
		"a State that was deleted since is created": func(w *testEnv, me decision.Holder) {
			must(w.T, w.store.Unlock(w.Context(), w.key, me, "a"))
			must(w.T, w.other().Purge(w.Context(), w.key))
			must(w.T, w.tryLock(w.attempt(), "b"))
			if v := w.status().Version; v != 0 {
				w.Errorf("version %d", v)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t, state.Options{})
			me := w.attempt()
			w.lock(me, "a")
			must(t, w.store.Write(t.Context(), w.key, me, "a", stateFile(1, "L", "", 1)))
			test(w, me)
		})
	}
}

func TestPlanReadsTheVersionThatItBeganWith(t *testing.T) {
	plan, another := decision.Holder{Run: "net-9", Attempt: 1, PodUID: "p"}, decision.Holder{Run: "net-9", Attempt: 2, PodUID: "p"}
	first, second := stateFile(1, "L", "", 1), stateFile(2, "L", "", 1)
	for name, test := range map[string]struct {
		then func(w *testEnv, me decision.Holder)
		by   decision.Holder
		want []byte
	}{
		"after another server wrote a version": {func(*testEnv, decision.Holder) {}, plan, first},
		"but not another attempt":              {func(*testEnv, decision.Holder) {}, another, second},
		"but not after it was recorded what the state has of the journal": {func(w *testEnv, me decision.Holder) {
			must(w.T, w.store.AppendJournal(w.Context(), w.key, w.run, me, 0, []byte(`{"entries":[{"address":"a","action":"create"}]}`)))
			must(w.T, w.store.RecordHeld(w.Context(), w.key))
		}, plan, second},
		"but not once the state follows a backend": {func(w *testEnv, _ decision.Holder) {
			_, _, err := w.store.Follow(w.Context(), w.key, plan, "s3", nil)
			wantRejected(w.T, err, decision.NotCurrent)
		}, plan, second},
		"but not once it begins again": {func(w *testEnv, _ decision.Holder) {
			must(w.T, w.store.BeginPlan(w.Context(), w.key, plan))
		}, plan, second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestEnv(t, state.Options{})
			me := w.attempt()
			w.lock(me, "a")
			must(t, w.store.Write(t.Context(), w.key, me, "a", first))
			must(t, w.store.BeginPlan(t.Context(), w.key, plan))
			must(t, w.other().Write(t.Context(), w.key, me, "a", second))
			test.then(w, me)
			got, err := w.store.ReadPlanned(t.Context(), w.key, test.by)
			must(t, err)
			if string(got) != string(test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
