package inputs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestMemoryForgetsWhatWasNotUsedForLongest(t *testing.T) {
	m := NewMemory[string](3 * (1000 + overhead))
	for i := range 3 {
		m.Add(fmt.Sprint(i), "v", 1000)
	}
	m.Get("0")
	m.Add("3", "v", 1000)
	m.Add("3", "again", 1000) // in place of what was there: it does not weigh twice
	for key, want := range map[string]bool{"0": true, "1": false, "2": true, "3": true} {
		if _, ok := m.Get(key); ok != want {
			t.Errorf("%s is kept: %v, want %v", key, ok, want)
		}
	}
	m.Add("large", "v", 1<<20)
	if _, ok := m.Get("large"); ok {
		t.Error("one that is larger than all there may be is kept")
	}
	if _, ok := m.Get("0"); !ok {
		t.Error("one that is not kept took the place of another")
	}
	if m.held > m.most {
		t.Errorf("%d bytes are held, at most %d may be", m.held, m.most)
	}
}

func TestADocumentThatIsTooLargeIsNotKept(t *testing.T) {
	d := document()
	d.Hooks = []Hook{{Step: "plan", When: v1alpha1.HookBefore, Script: strings.Repeat("x", MaxSize)}}
	bucket := memory{}
	if _, err := NewStore(bucket).Put(t.Context(), d); !errors.Is(err, ErrTooLarge) || len(bucket) > 0 {
		t.Errorf("got %v, and %d objects", err, len(bucket))
	}
}
