package weightedlru

import (
	"fmt"
	"testing"
)

func TestMemoryForgetsWhatWasNotUsedForLongest(t *testing.T) {
	m := New[string, string](3*(1000+EntryOverhead), EntryOverhead)
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
		t.Errorf("%d are held, at most %d may be", m.held, m.most)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := New[string, int](10, 1)
	m.Add("a", 1, 3)
	m.Add("b", 2, 3)
	m.Add("a", 3, 3)
	if got, ok := m.Get("a"); !ok || got != 3 || m.held != 8 {
		t.Errorf("got %d, %d held", got, m.held)
	}
	m.Add("c", 4, 3)
	if _, ok := m.Get("b"); ok || m.held != 8 {
		t.Errorf("the oldest is still there, %d held", m.held)
	}
	m.Add("huge", 5, 10)
	if _, ok := m.Get("huge"); ok || m.held != 8 {
		t.Errorf("what is larger than all of it was taken in, %d held", m.held)
	}
}
