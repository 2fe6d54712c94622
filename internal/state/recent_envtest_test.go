//go:build envtest

package state_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

// other is the Store of another server of the same installation, which has a memory of its own.
func (env *testEnv) other() *state.Store {
	return state.New(apiserver.Kube, apiserver.Kube, env.bucket, state.Options{Log: env.options.Log})
}

func TestAttemptReadsItsStateOnce(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	var reads atomic.Int32
	live := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.State); ok {
				reads.Add(1)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	env.store = state.New(apiserver.Kube, live, env.bucket, state.Options{Log: env.options.Log})
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
			wantRejected(env.T, env.store.Write(env.Context(), env.key, me, "a", stateFile(3, "L", "", 1)),
				decision.Stale)
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
			wantRejected(env.T, env.store.Write(env.Context(), env.key, me, "a", stateFile(1, "L", "", 1)),
				decision.Stale)
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

// TestRememberedAbsenceIsOnlyABase checks a server that remembers that there was no State, in a namespace whose quota
// allows no other one.
func TestRememberedAbsenceIsOnlyABase(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	full := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("states").GroupResource(), o.GetName(),
				errors.New("exceeded quota"))
		},
	})
	other := env.store
	env.store = state.New(full, apiserver.Kube, env.bucket, env.options)
	must(t, env.store.Promote(t.Context(), env.key)) // before the first plan
	me := env.attempt()
	_, err := other.Lock(t.Context(), env.key, me, decision.LockRequest{ID: "a"})
	must(t, err)
	must(t, other.Unlock(t.Context(), env.key, me, "a"))
	env.lock(env.attempt(), "b")
}

// TestShellRecordsWhatTheCurrentStateHas checks a shell whose lock is requested from a server that remembers an older
// State than the current one. What that had does not count for the journal: the next plan misses the same as before.
func TestShellRecordsWhatTheCurrentStateHas(t *testing.T) {
	for name, tt := range map[string]struct{ before, now, created string }{
		"the older one had what was created again": {"one", "", "one"},
		"the older one had nothing in its place":   {"", "old", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			env := newTestEnv(t, state.Options{})
			behind, current := env.store, env.other()
			for i, store := range []*state.Store{behind, current} {
				me, id := env.attempt(), []string{tt.before, tt.now}[i]
				_, err := store.Lock(t.Context(), env.key, me, decision.LockRequest{ID: "a"})
				must(t, err)
				must(t, store.Write(t.Context(), env.key, me, "a", vpcState(i+1, id)))
				must(t, store.Unlock(t.Context(), env.key, me, "a"))
			}
			killed := env.attempt()
			_, err := current.Lock(t.Context(), env.key, killed, decision.LockRequest{ID: "a"})
			must(t, err)
			must(t, current.AppendJournal(t.Context(), env.key, env.run, killed, 0, fmt.Appendf(nil,
				`{"entries":[{"address":"aws_vpc.a","type":"aws_vpc","action":"create","idKey":"id","id":%q}]}`,
				tt.created)))
			env.killPod(killed)
			missing := func() string {
				data, err := current.Read(t.Context(), env.key)
				must(t, err)
				instances, err := engine.ReadInstances(data)
				must(t, err)
				journal, err := current.Journal(t.Context(), env.key)
				must(t, err)
				return fmt.Sprintf("%+v", engine.FindMissing(journal.Entries, instances))
			}
			before := missing()
			shell := env.attemptTo(v1alpha1.AttemptShell)
			env.opensShell()
			_, err = behind.Lock(t.Context(), env.key, shell, decision.LockRequest{ID: "b"})
			must(t, err)
			must(t, current.RecordHeld(t.Context(), env.key))
			if after := missing(); after != before || before == "[]" {
				t.Errorf("the next plan misses %s, before the shell %s", after, before)
			}
		})
	}
}

// vpcState is a state with one aws_vpc.a of that ID; with none if it is empty.
func vpcState(serial int, id string) []byte {
	resources := ""
	if id != "" {
		resources = fmt.Sprintf(`{"mode":"managed","type":"aws_vpc","name":"a","instances":[{"attributes":{"id":%q}}]}`,
			id)
	}
	return fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"L","outputs":{},"resources":[%s]}`, serial, resources)
}

// opensShell replaces the Run by one of a shell with the same attempts: its spec cannot be changed.
func (env *testEnv) opensShell() {
	env.Helper()
	run := env.run.DeepCopy()
	run.ResourceVersion, run.UID, run.Finalizers, run.Spec.Operation = "", "", nil, v1alpha1.OperationShell
	must(env.T, apiserver.Kube.Delete(env.Context(), env.run))
	must(env.T, apiserver.Kube.Create(env.Context(), run))
	run.Status = env.run.Status
	must(env.T, apiserver.Kube.Status().Update(env.Context(), run))
	env.run = run
}

func TestPlanReadsTheVersionThatItBeganWith(t *testing.T) {
	plan, another := decision.Holder{Run: "net-9", Attempt: 1, PodUID: "p"}, decision.Holder{Run: "net-9", Attempt: 2,
		PodUID: "p"}
	first, second := stateFile(1, "L", "", 1), stateFile(2, "L", "", 1)
	for name, test := range map[string]struct {
		then func(env *testEnv, me decision.Holder)
		by   decision.Holder
		want []byte
	}{
		"after another server wrote a version": {func(*testEnv, decision.Holder) {}, plan, first},
		"but not another attempt":              {func(*testEnv, decision.Holder) {}, another, second},
		"but not after it was recorded what the state has of the journal": {func(env *testEnv, me decision.Holder) {
			must(env.T, env.store.AppendJournal(env.Context(), env.key, env.run, me, 0,
				[]byte(`{"entries":[{"address":"a","action":"create"}]}`)))
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
