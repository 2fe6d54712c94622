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

// However a version comes to count, the fingerprints are of its outputs.
func TestTheFingerprintsAreThoseOfTheCurrentVersion(t *testing.T) {
	w := newWorld(t, state.Options{Fingerprint: func(message []byte) string { return string(message) }})
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
	rejectFollow(t, err, decision.Opaque)
}

func plainly(message []byte) string { return string(message) }

// earlier is a world with a state that a Cairn wrote which knew of no fingerprints.
func earlier(t *testing.T, data []byte) *world {
	t.Helper()
	w := newWorld(t, state.Options{Fingerprint: plainly})
	me := w.attempt()
	w.lock(me, "a")
	must(t, w.store.Write(t.Context(), w.key, me, "a", data))
	must(t, w.store.Unlock(t.Context(), w.key, me, "a"))
	w.forget()
	return w
}

// forget takes away what an earlier Cairn would not have written.
func (w *world) forget() {
	w.Helper()
	st := w.object()
	st.Status.Outputs, st.Status.OutputsVersion = nil, 0
	must(w.T, apiserver.Kube.Update(w.Context(), st))
}

func (w *world) object() *v1alpha1.State {
	w.Helper()
	st := &v1alpha1.State{}
	must(w.T, apiserver.Kube.Get(w.Context(), w.key, st))
	return st
}

// reconcile looks at the State, and says whether it was written.
func (w *world) reconcile() (ctrl.Result, bool) {
	w.Helper()
	return w.reconcileFrom(apiserver.Kube, func() {})
}

// reconcileFrom is reconcile with another cache, and with something that happens right before the write.
func (w *world) reconcileFrom(cache client.Reader, meanwhile func()) (result ctrl.Result, written bool) {
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

func (w *world) wantOutputs(version int64, want map[string]string) {
	w.Helper()
	st := w.status()
	if diff := cmp.Diff(want, st.Outputs); diff != "" || st.OutputsVersion != version {
		w.Errorf("outputs of version %d, want %d: %s", st.OutputsVersion, version, diff)
	}
}

func (w *world) fingerprint(text string) map[string]string {
	return map[string]string{"x": `["` + w.namespace + `","net","x",false,"` + text + `"]`}
}

func TestAStateFromBeforeFingerprintsGetsThemOnce(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	var rejection *decision.Rejection
	if _, _, err := w.store.Output(t.Context(), w.key, "x"); err == nil || errors.As(err, &rejection) || errors.Is(err, state.ErrNone) {
		t.Errorf("before: %v, want an error that passes", err)
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

func TestAStateThatHasNoOutputsIsWrittenOnce(t *testing.T) {
	w := earlier(t, []byte(`{"version":4,"serial":1,"lineage":"L","outputs":{},"resources":[]}`))
	if _, written := w.reconcile(); !written {
		t.Fatal("nothing was written")
	}
	w.wantOutputs(1, nil)
	if _, written := w.reconcile(); written {
		t.Error("written again")
	}
}

func TestWhatNeedsNoFingerprintsIsNotWritten(t *testing.T) {
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
		w := newWorld(t, state.Options{Fingerprint: plainly})
		w.lock(w.attempt(), "a")
		if _, written := w.reconcile(); written {
			t.Error("written")
		}
	})
	t.Run("a state that was written just now", func(t *testing.T) {
		w := newWorld(t, state.Options{Fingerprint: plainly})
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
	t.Run("a state with fingerprints whose version is not told", func(t *testing.T) {
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

// The cache may be behind: then the State has been filled, has a newer version, or is gone.
func TestAnOldViewOfAStateFillsNothing(t *testing.T) {
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
		t.Error("filled again")
	}
	must(t, w.store.Purge(t.Context(), w.key))
	w.reconcileFrom(cache, func() {})
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("made anew: %v", err)
	}
}

// A version that comes to count while an older one is read keeps its own fingerprints.
func TestAFasterWriterIsNotOverwritten(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	me := w.attempt()
	w.lock(me, "b")
	w.reconcileFrom(apiserver.Kube, func() {
		must(t, w.store.Write(t.Context(), w.key, me, "b", stateFile(2, "L", "two", 1)))
	})
	w.wantOutputs(2, w.fingerprint("two"))
}

func TestAStateThatGoesMeanwhileIsLeftAlone(t *testing.T) {
	w := earlier(t, stateFile(1, "L", "one", 1))
	w.reconcileFrom(apiserver.Kube, func() { must(t, w.store.Purge(t.Context(), w.key)) })
	if err := apiserver.Kube.Get(t.Context(), w.key, &v1alpha1.State{}); !apierrors.IsNotFound(err) {
		t.Errorf("made anew: %v", err)
	}
}

func TestADamagedStateIsReadAgainLaterAndMayStillGo(t *testing.T) {
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
		t.Errorf("a deleted State stays: %v", err)
	}
}
