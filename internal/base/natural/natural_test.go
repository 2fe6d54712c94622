package natural

import (
	"cmp"
	"testing"
)

func TestCompare(t *testing.T) {
	sorted := []string{
		"", "a", `a.b["x"]`, "a.b[2]", "a.b[10]", "a02", "a2", "a2.b", "a10.b", "b9", "b99999999999999999999999",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := Compare(a, b); got != cmp.Compare(i, j) {
				t.Errorf("Compare(%q, %q) = %d", a, b, got)
			}
		}
	}
}
