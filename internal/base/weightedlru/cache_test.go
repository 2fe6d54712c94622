package weightedlru

import (
	"fmt"
	"testing"
)

func TestLeastRecentlyUsedIsEvicted(t *testing.T) {
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
		t.Error("a value larger than the limit is cached")
	}
	if _, ok := m.Get("0"); !ok {
		t.Error("a value that is not cached evicted another")
	}
	if m.held > m.most {
		t.Errorf("the cached values weigh %d, and the limit is %d", m.held, m.most)
	}
}

func TestWeightIsLimited(t *testing.T) {
	m := New[string, int](10, 1)
	m.Add("a", 1, 3)
	m.Add("b", 2, 3)
	m.Add("a", 3, 3)
	if got, ok := m.Get("a"); !ok || got != 3 || m.held != 8 {
		t.Errorf("got %d, %d held", got, m.held)
	}
	m.Add("c", 4, 3)
	if _, ok := m.Get("b"); ok || m.held != 8 {
		t.Errorf("the oldest value was not evicted, %d held", m.held)
	}
	m.Add("huge", 5, 10)
	if _, ok := m.Get("huge"); ok || m.held != 8 {
		t.Errorf("a value larger than the limit was cached, %d held", m.held)
	}
}
