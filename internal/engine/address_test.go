package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCompareAddresses(t *testing.T) {
	ordered := []string{
		"",
		`a.b`,
		`a.b2`,
		`a.b10`,
		`a.b["01"]`,
		`a.b["1"]`,
		`a.b["1a"]`,
		`a.b["10"]`,
		`a.b["99999999999999999999"]`,
		`a.b["100000000000000000000"]`,
		`a.b[2]`,
		`a.b[2].c`,
		`a.b[10]`,
		`module.m2.a.b[3]`,
		`module.m10.a.b[0]`,
	}
	for range 20 {
		got := slices.Clone(ordered)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, CompareAddresses)
		if !slices.Equal(got, ordered) {
			t.Fatalf("got %q, want %q", got, ordered)
		}
	}
}
