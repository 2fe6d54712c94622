//go:build envtest

package state_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
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
	must(t, env.store.Write(t.Context(), env.key, second, "c",
		[]byte(`{"version":4,"serial":4,"lineage":"L","outputs":{},"resources":[]}`)))
	if got := env.status().Outputs; got != nil {
		t.Errorf("after a destroy: %v", got)
	}
	if _, _, err := env.store.Output(t.Context(), env.key, "x"); !errors.Is(err, state.ErrNone) {
		t.Errorf("after a destroy: %v", err)
	}
	must(t, env.store.Write(t.Context(), env.key, second, "c",
		[]byte(`{"serial":5,"lineage":"L","encryption_version":"v0"}`)))
	_, _, err := env.store.Output(t.Context(), env.key, "x")
	wantRejected(t, err, decision.Opaque)
}

func (env *testEnv) object() *v1alpha1.State {
	env.Helper()
	st := &v1alpha1.State{}
	must(env.T, apiserver.Kube.Get(env.Context(), env.key, st))
	return st
}

func (env *testEnv) reconcile() {
	env.Helper()
	r := &state.Reconciler{Client: apiserver.Kube, States: env.store}
	_, err := r.Reconcile(env.Context(), ctrl.Request{NamespacedName: env.key})
	must(env.T, err)
}

func TestDamagedStateCanBeDeleted(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	me := env.attempt()
	env.lock(me, "a")
	must(t, env.store.Write(t.Context(), env.key, me, "a", stateFile(1, "L", "one", 1)))
	must(t, env.store.Unlock(t.Context(), env.key, me, "a"))
	env.remove(env.secrets()[0])
	must(t, env.bucket.Delete(t.Context(), "states/"+env.namespace+"/net/backup"))
	must(t, apiserver.Kube.Delete(t.Context(), env.object()))
	env.reconcile()
	if err := apiserver.Kube.Get(t.Context(), env.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted State exists: %v", err)
	}
}
