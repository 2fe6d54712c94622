package sim

import (
	"testing"
)

// A few of the histories that `make sim` lives through.
func TestHistories(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	found, sum := Histories(1, n, 0, 3)
	for _, v := range found {
		t.Errorf("%v\nreplay: make sim SEED=%d", v, v.Seed)
	}
	if sum.Applies < n/4 || sum.Faults < n/2 || sum.Creates < n/4 {
		t.Errorf("too little happens in %d histories: %+v", n, sum)
	}
}

// Each of these histories broke an invariant once. What a seed means changes with the model, so they show less as time goes by.
func TestHistoriesThatWereBroken(t *testing.T) {
	for name, seed := range map[string]uint64{
		"a leader that is one no more writes a Stack's status last": 825,
		"the same, of a Run that failed":                            1498,
		"a Run that was deleted by hand is made again":              8012,
		"a Stack is made again under its name":                      35628,
	} {
		t.Run(name, func(t *testing.T) {
			if v, _ := newShared().run(Options{Seed: seed, Limit: -1}); v != nil {
				t.Error(v)
			}
		})
	}
}

func TestAHistoryReplays(t *testing.T) {
	_, first, _ := Replay(Options{Seed: 7, Limit: -1})
	_, second, _ := Replay(Options{Seed: 7, Limit: -1})
	if len(first) == 0 || len(first) != len(second) {
		t.Fatalf("traces of %d and %d lines", len(first), len(second))
	}
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("line %d: %q, then %q", i, first[i], second[i])
		}
	}
}

// Readers share what the API server keeps, since copies take long. That is as good only while nobody changes it.
func TestNothingThatIsKeptIsChanged(t *testing.T) {
	s := newShared()
	defer s.end()
	for seed := range uint64(200) {
		if v, _ := s.run(Options{Seed: seed, Limit: -1, Checked: true}); v != nil {
			t.Error(v)
		}
	}
}

// One in some hundreds of the small scope.
func TestSmallScope(t *testing.T) {
	n, found := Exhaust(0, 400)
	for _, f := range found {
		t.Error(f)
	}
	if n < 50 {
		t.Errorf("only %d histories", n)
	}
}

func BenchmarkHistory(b *testing.B) {
	s := newShared()
	defer s.end()
	defer rarelyCollect()()
	b.ReportAllocs()
	for i := range b.N {
		if v, _ := s.run(Options{Seed: uint64(i) + 1, Limit: -1}); v != nil {
			b.Fatal(v)
		}
	}
}
