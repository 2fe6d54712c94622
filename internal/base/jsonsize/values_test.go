package jsonsize

import "testing"

func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		`{}`:                                   1,
		`{"a":1,"b":[{},{}]}`:                  6,
		`{"a":",,,{{{[[[","b\"c,":"\\"}`:       2,
		`{"a":"\\\",","b":"` + "\u2028" + `"}`: 2,
	} {
		if HasMoreValues([]byte(text), want) || !HasMoreValues([]byte(text), want-1) {
			t.Errorf("%s has not %d values", text, want)
		}
	}
}
