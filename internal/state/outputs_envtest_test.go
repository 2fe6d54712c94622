//go:build envtest

package state_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/state"
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
	refused(t, err, state.Opaque)
}
