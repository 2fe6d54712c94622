//go:build envtest

package state_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
)

func TestFingerprintsOfEachWayToAVersion(t *testing.T) {
	env := newTestEnv(t, state.Options{Fingerprint: func(message []byte) string { return string(message) }})
	is := func(text string) {
		t.Helper()
		want := map[string]string{"x": `["` + env.namespace + `","net","x",false,"` + text + `"]`}
		if diff := cmp.Diff(want, env.status().Outputs); diff != "" {
			t.Error(diff)
		}
		o, fingerprint, err := env.store.Output(t.Context(), env.key, "x")
		if err != nil || string(o.Value) != `"`+text+`"` || fingerprint != want["x"] {
			t.Errorf("%+v, %s, %v", o, fingerprint, err)
		}
	}
	if _, _, err := env.store.Output(t.Context(), env.key, "x"); !errors.Is(err, state.ErrNone) {
		t.Errorf("without a state: %v", err)
	}
	first := env.attempt()
	env.lock(first, "a")
	must(t, env.store.Write(t.Context(), env.key, first, "a", stateFile(1, "L", "written", 1)))
	is("written")
	must(t, env.store.Unlock(t.Context(), env.key, first, "a"))
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(2, "L", "rescued", 1)))
	is("rescued")

	second := env.attempt()
	env.lock(second, "b")
	must(t, env.store.Rescue(t.Context(), env.key, first, "", stateFile(3, "L", "promoted", 1)))
	is("rescued")
	must(t, env.store.Unlock(t.Context(), env.key, second, "b"))
	must(t, env.store.Promote(t.Context(), env.key))
	is("promoted")

	env.lock(second, "c")
	must(t, env.store.Write(t.Context(), env.key, second, "c", []byte(`{"version":4,"serial":4,"lineage":"L","outputs":{},"resources":[]}`)))
	if got := env.status().Outputs; got != nil {
		t.Errorf("after a destroy: %v", got)
	}
	if _, _, err := env.store.Output(t.Context(), env.key, "x"); !errors.Is(err, state.ErrNone) {
		t.Errorf("after a destroy: %v", err)
	}
	must(t, env.store.Write(t.Context(), env.key, second, "c", []byte(`{"serial":5,"lineage":"L","encryption_version":"v0"}`)))
	_, _, err := env.store.Output(t.Context(), env.key, "x")
	wantRejected(t, err, decision.Opaque)
}

func plainText(message []byte) string { return string(message) }

// earlier returns an environment with a state that a version of Cairn without fingerprints wrote.
func earlier(t *testing.T, data []byte) *testEnv {
	t.Helper()
	env := newTestEnv(t, state.Options{Fingerprint: plainText})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", data))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	env.forget()
	return env
}

// forget removes the fields that an earlier version of Cairn does not write.
func (env *testEnv) forget() {
	env.Helper()
	st := env.object()
	st.Status.Outputs, st.Status.OutputsVersion = nil, 0
	must(env.T, apiserver.Kube.Update(env.Context(), st))
}

func (env *testEnv) object() *v1alpha1.State {
	env.Helper()
	st := &v1alpha1.State{}
	must(env.T, apiserver.Kube.Get(env.Context(), env.key, st))
	return st
}

// reconcile reconciles the State, and returns whether it was written.
func (env *testEnv) reconcile() (ctrl.Result, bool) {
	env.Helper()
	return env.reconcileFrom(apiserver.Kube, func() {})
}

// reconcileFrom is reconcile with another cache, and a function that runs right before the write.
func (env *testEnv) reconcileFrom(cache client.Reader, meanwhile func()) (result ctrl.Result, written bool) {
	env.Helper()
	kube := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*v1alpha1.State); ok {
				written = true
				meanwhile()
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	r := &state.Reconciler{Client: cache, States: state.New(kube, apiserver.Kube, env.bucket, env.options)}
	result, err := r.Reconcile(env.Context(), ctrl.Request{NamespacedName: env.key})
	must(env.T, err)
	return result, written
}

func (env *testEnv) wantOutputs(version int64, want map[string]string) {
	env.Helper()
	st := env.status()
	if diff := cmp.Diff(want, st.Outputs); diff != "" || st.OutputsVersion != version {
		env.Errorf("outputs of version %d, want %d: %s", st.OutputsVersion, version, diff)
	}
}

func (env *testEnv) fingerprint(text string) map[string]string {
	return map[string]string{"x": `["` + env.namespace + `","net","x",false,"` + text + `"]`}
}

func TestFingerprintsAreAddedToAnOlderState(t *testing.T) {
	env := earlier(t, stateFile(1, "L", "one", 1))
	var rejection *decision.Rejection
	if _, _, err := env.store.Output(t.Context(), env.key, "x"); err == nil || errors.As(err, &rejection) || errors.Is(err, state.ErrNone) {
		t.Errorf("before: %v, want a transient error", err)
	}
	must(t, env.store.Orphan(t.Context(), env.key))
	before := env.object()
	if _, written := env.reconcile(); !written {
		t.Fatal("nothing was written")
	}
	env.wantOutputs(1, env.fingerprint("one"))
	after := env.object()
	before.Status.Outputs, before.Status.OutputsVersion = after.Status.Outputs, 1
	if diff := cmp.Diff(before.Status, after.Status); diff != "" || !cmp.Equal(before.Labels, after.Labels) {
		t.Errorf("more than the outputs changed: %s, labels %v", diff, after.Labels)
	}
	if _, written := env.reconcile(); written {
		t.Error("written again")
	}
	if _, fingerprint, err := env.store.Output(t.Context(), env.key, "x"); err != nil || fingerprint != env.fingerprint("one")["x"] {
		t.Errorf("%s, %v", fingerprint, err)
	}
}

func TestStateWithoutOutputsIsWrittenOnce(t *testing.T) {
	env := earlier(t, []byte(`{"version":4,"serial":1,"lineage":"L","outputs":{},"resources":[]}`))
	if _, written := env.reconcile(); !written {
		t.Fatal("nothing was written")
	}
	env.wantOutputs(1, nil)
	if _, written := env.reconcile(); written {
		t.Error("written again")
	}
}

func TestStatesWithoutFingerprintsAreNotWritten(t *testing.T) {
	for name, data := range map[string]string{
		"an encrypted state":        `{"serial":1,"lineage":"L","encryption_version":"v0"}`,
		"a state of another format": `{"version":5,"serial":1,"lineage":"L"}`,
	} {
		t.Run(name, func(t *testing.T) {
			env := earlier(t, []byte(data))
			if result, written := env.reconcile(); written || result.RequeueAfter != 0 {
				t.Errorf("written %v, %+v", written, result)
			}
		})
	}
	t.Run("a state before its first version", func(t *testing.T) {
		env := newTestEnv(t, state.Options{Fingerprint: plainText})
		env.lock(env.attempt(), "a")
		if _, written := env.reconcile(); written {
			t.Error("written")
		}
	})
	t.Run("a state that was written just now", func(t *testing.T) {
		env := newTestEnv(t, state.Options{Fingerprint: plainText})
		me := env.attempt()
		env.lock(me, "a")
		for serial, text := range []string{"", `"x":{"value":1}`} {
			data := `{"version":4,"serial":` + string(rune('1'+serial)) + `,"lineage":"L","outputs":{` + text + `}}`
			must(t, env.store.Write(t.Context(), env.key, me, "a", []byte(data)))
			if _, written := env.reconcile(); written {
				t.Errorf("written with outputs {%s}", text)
			}
		}
	})
	t.Run("a state with fingerprints without a version", func(t *testing.T) {
		env := earlier(t, stateFile(1, "L", "one", 1))
		st := env.object()
		st.Status.Outputs = map[string]string{"x": "under a key that is lost"}
		must(t, apiserver.Kube.Update(t.Context(), st))
		if _, written := env.reconcile(); written {
			t.Error("written")
		}
		if _, fingerprint, err := env.store.Output(t.Context(), env.key, "x"); err != nil || fingerprint != "under a key that is lost" {
			t.Errorf("%q, %v", fingerprint, err)
		}
	})
}

// TestStaleCacheAddsNoFingerprints checks a cache that is behind: the State has fingerprints already, has a newer
// version, or is deleted.
func TestStaleCacheAddsNoFingerprints(t *testing.T) {
	env := earlier(t, stateFile(1, "L", "one", 1))
	old := env.object()
	cache := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			old.DeepCopyInto(o.(*v1alpha1.State))
			return nil
		},
	})
	env.reconcile()
	if _, written := env.reconcileFrom(cache, func() {}); written {
		t.Error("written again")
	}
	must(t, env.store.Purge(t.Context(), env.key))
	env.reconcileFrom(cache, func() {})
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("created again: %v", err)
	}
}

// TestFingerprintsOfANewerVersionAreKept checks a version that is written while an older one is read.
func TestFingerprintsOfANewerVersionAreKept(t *testing.T) {
	env := earlier(t, stateFile(1, "L", "one", 1))
	me := env.attempt()
	env.lock(me, "b")
	env.reconcileFrom(apiserver.Kube, func() {
		must(t, env.store.Write(t.Context(), env.key, me, "b", stateFile(2, "L", "two", 1)))
	})
	env.wantOutputs(2, env.fingerprint("two"))
}

func TestStateDeletedMeanwhileIsNotRecreated(t *testing.T) {
	env := earlier(t, stateFile(1, "L", "one", 1))
	env.reconcileFrom(apiserver.Kube, func() { must(t, env.store.Purge(t.Context(), env.key)) })
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("created again: %v", err)
	}
}

func TestDamagedStateIsRetriedAndCanBeDeleted(t *testing.T) {
	env := earlier(t, stateFile(1, "L", "one", 1))
	env.remove(env.secrets()[0])
	must(t, env.bucket.Delete(t.Context(), "states/"+env.namespace+"/net/backup"))
	if result, written := env.reconcile(); written || result.RequeueAfter == 0 {
		t.Errorf("written %v, %+v", written, result)
	}
	must(t, apiserver.Kube.Delete(t.Context(), env.object()))
	env.reconcile()
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted State exists: %v", err)
	}
}
