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
	w := newTestEnv(t, state.Options{Fingerprint: func(message []byte) string { return string(message) }})
	is := func(text string) {
		t.Helper()
		want := map[string]string{"x": `["` + w.namespace + `","net","x",false,"` + text + `"]`}
		if diff := cmp.Diff(want, w.status().Outputs); diff != "" {
			t.Error(diff)
		}
		o, fingerprint, err := w.store.Output(t.Context(), w.key, "x")
		if err != nil || string(o.Value) != `"`+text+`"` || fingerprint != want["x"] {
			t.Errorf("%+v, %s, %v", o, fingerprint, err)
		}
	}
	if _, _, err := w.store.Output(t.Context(), w.key, "x"); !errors.Is(err, state.ErrNone) {
		t.Errorf("without a state: %v", err)
	}
	first := w.attempt()
	w.lock(first, "a")
	must(t, w.store.Write(t.Context(), w.key, first, "a", stateFile(1, "L", "written", 1)))
	is("written")
	must(t, w.store.Unlock(t.Context(), w.key, first, "a"))
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(2, "L", "rescued", 1)))
	is("rescued")

	second := w.attempt()
	w.lock(second, "b")
	must(t, w.store.Rescue(t.Context(), w.key, first, "", stateFile(3, "L", "promoted", 1)))
	is("rescued")
	must(t, w.store.Unlock(t.Context(), w.key, second, "b"))
	must(t, w.store.Promote(t.Context(), w.key))
	is("promoted")

	w.lock(second, "c")
	must(t, w.store.Write(t.Context(), w.key, second, "c", []byte(`{"version":4,"serial":4,"lineage":"L","outputs":{},"resources":[]}`)))
	if got := w.status().Outputs; got != nil {
		t.Errorf("after a destroy: %v", got)
	}
	if _, _, err := w.store.Output(t.Context(), w.key, "x"); !errors.Is(err, state.ErrNone) {
		t.Errorf("after a destroy: %v", err)
	}
	must(t, w.store.Write(t.Context(), w.key, second, "c", []byte(`{"serial":5,"lineage":"L","encryption_version":"v0"}`)))
	_, _, err := w.store.Output(t.Context(), w.key, "x")
	wantRejected(t, err, decision.Opaque)
}

func plainText(message []byte) string { return string(message) }

// earlier returns an environment with a state that a version of Cairn without fingerprints wrote.
func earlier(t *testing.T, data []byte) *testEnv {
	t.Helper()
	w := newTestEnv(t, state.Options{Fingerprint: plainText})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", data))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	w.forget()
	return w
}

// forget removes the fields that an earlier version of Cairn does not write.
func (w *testEnv) forget() {
	w.Helper()
	st := w.object()
	st.Status.Outputs, st.Status.OutputsVersion = nil, 0
	must(w.T, apiserver.Kube.Update(w.Context(), st))
}

func (w *testEnv) object() *v1alpha1.State {
	w.Helper()
	st := &v1alpha1.State{}
	must(w.T, apiserver.Kube.Get(w.Context(), w.key, st))
	return st
}

// reconcile reconciles the State, and returns whether it was written.
func (w *testEnv) reconcile() (ctrl.Result, bool) {
	w.Helper()
	return w.reconcileFrom(apiserver.Kube, func() {})
}

// reconcileFrom is reconcile with another cache, and a function that runs right before the write.
func (w *testEnv) reconcileFrom(cache client.Reader, meanwhile func()) (result ctrl.Result, written bool) {
	w.Helper()
	kube := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*v1alpha1.State); ok {
				written = true
				meanwhile()
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	r := &state.Reconciler{Client: cache, States: state.New(kube, apiserver.Kube, w.bucket, w.store.Options)}
	result, err := r.Reconcile(w.Context(), ctrl.Request{NamespacedName: w.key})
	must(w.T, err)
	return result, written
}

func (w *testEnv) wantOutputs(version int64, want map[string]string) {
	w.Helper()
	st := w.status()
	if diff := cmp.Diff(want, st.Outputs); diff != "" || st.OutputsVersion != version {
		w.Errorf("outputs of version %d, want %d: %s", st.OutputsVersion, version, diff)
	}
}

func (w *testEnv) fingerprint(text string) map[string]string {
	return map[string]string{"x": `["` + w.namespace + `","net","x",false,"` + text + `"]`}
}

func TestFingerprintsAreAddedToAnOlderState(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	var rejection *decision.Rejection
	if _, _, err := w.store.Output(t.Context(), w.key, "x"); err == nil || errors.As(err, &rejection) || errors.Is(err, state.ErrNone) {
		t.Errorf("before: %v, want a transient error", err)
	}
	must(t, w.store.Orphan(t.Context(), w.key))
	before := w.object()
	if _, written := w.reconcile(); !written {
		t.Fatal("nothing was written")
	}
	w.wantOutputs(1, w.fingerprint("one"))
	after := w.object()
	before.Status.Outputs, before.Status.OutputsVersion = after.Status.Outputs, 1
	if diff := cmp.Diff(before.Status, after.Status); diff != "" || !cmp.Equal(before.Labels, after.Labels) {
		t.Errorf("more than the outputs changed: %s, labels %v", diff, after.Labels)
	}
	if _, written := w.reconcile(); written {
		t.Error("written again")
	}
	if _, fingerprint, err := w.store.Output(t.Context(), w.key, "x"); err != nil || fingerprint != w.fingerprint("one")["x"] {
		t.Errorf("%s, %v", fingerprint, err)
	}
}

func TestStateWithoutOutputsIsWrittenOnce(t *testing.T) {
	w := earlier(t, []byte(`{"version":4,"serial":1,"lineage":"L","outputs":{},"resources":[]}`))
	if _, written := w.reconcile(); !written {
		t.Fatal("nothing was written")
	}
	w.wantOutputs(1, nil)
	if _, written := w.reconcile(); written {
		t.Error("written again")
	}
}

func TestStatesWithoutFingerprintsAreNotWritten(t *testing.T) {
	for name, data := range map[string]string{
		"an encrypted state":        `{"serial":1,"lineage":"L","encryption_version":"v0"}`,
		"a state of another format": `{"version":5,"serial":1,"lineage":"L"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := earlier(t, []byte(data))
			if result, written := w.reconcile(); written || result.RequeueAfter != 0 {
				t.Errorf("written %v, %+v", written, result)
			}
		})
	}
	t.Run("a state before its first version", func(t *testing.T) {
		w := newTestEnv(t, state.Options{Fingerprint: plainText})
		w.lock(w.attempt(), "a")
		if _, written := w.reconcile(); written {
			t.Error("written")
		}
	})
	t.Run("a state that was written just now", func(t *testing.T) {
		w := newTestEnv(t, state.Options{Fingerprint: plainText})
		me := w.attempt()
		w.lock(me, "a")
		for serial, text := range []string{"", `"x":{"value":1}`} {
			data := `{"version":4,"serial":` + string(rune('1'+serial)) + `,"lineage":"L","outputs":{` + text + `}}`
			must(t, w.store.Write(t.Context(), w.key, me, "a", []byte(data)))
			if _, written := w.reconcile(); written {
				t.Errorf("written with outputs {%s}", text)
			}
		}
	})
	t.Run("a state with fingerprints without a version", func(t *testing.T) {
		w := earlier(t, stateFile(1, "L", "one", 1))
		st := w.object()
		st.Status.Outputs = map[string]string{"x": "under a key that is lost"}
		must(t, apiserver.Kube.Update(t.Context(), st))
		if _, written := w.reconcile(); written {
			t.Error("written")
		}
		if _, fingerprint, err := w.store.Output(t.Context(), w.key, "x"); err != nil || fingerprint != "under a key that is lost" {
			t.Errorf("%q, %v", fingerprint, err)
		}
	})
}

// TestStaleCacheAddsNoFingerprints checks a cache that is behind: the State has fingerprints already, has a newer
// version, or is deleted.
func TestStaleCacheAddsNoFingerprints(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	old := w.object()
	cache := interceptor.NewClient(apiserver.Kube, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			old.DeepCopyInto(o.(*v1alpha1.State))
			return nil
		},
	})
	w.reconcile()
	if _, written := w.reconcileFrom(cache, func() {}); written {
		t.Error("written again")
	}
	must(t, w.store.Purge(t.Context(), w.key))
	w.reconcileFrom(cache, func() {})
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("created again: %v", err)
	}
}

// TestFingerprintsOfANewerVersionAreKept checks a version that is written while an older one is read.
func TestFingerprintsOfANewerVersionAreKept(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	me := w.attempt()
	w.lock(me, "b")
	w.reconcileFrom(apiserver.Kube, func() {
		must(t, w.store.Write(t.Context(), w.key, me, "b", stateFile(2, "L", "two", 1)))
	})
	w.wantOutputs(2, w.fingerprint("two"))
}

func TestStateDeletedMeanwhileIsNotRecreated(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	w.reconcileFrom(apiserver.Kube, func() { must(t, w.store.Purge(t.Context(), w.key)) })
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("created again: %v", err)
	}
}

func TestDamagedStateIsRetriedAndCanBeDeleted(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	secret := w.secrets()[0]
	secret.Finalizers = nil
	must(t, apiserver.Kube.Update(t.Context(), &secret))
	must(t, apiserver.Kube.Delete(t.Context(), &secret))
	if result, written := w.reconcile(); written || result.RequeueAfter == 0 {
		t.Errorf("written %v, %+v", written, result)
	}
	must(t, apiserver.Kube.Delete(t.Context(), w.object()))
	w.reconcile()
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted State exists: %v", err)
	}
}
