package engine

import (
	"errors"
	"strings"
	"testing"
)

// A state is whatever its runner sends, and a list of empty resources takes many times its text.
func TestAStateOfTooManyValuesIsNotLookedInto(t *testing.T) {
	for text, want := range map[string]int{
		`{}`:                                   1,
		`{"a":1,"b":[{},{}]}`:                  6,
		`{"a":",,,{{{[[[","b\"c,":"\\"}`:       2,
		`{"a":"\\\",","b":"` + "\u2028" + `"}`: 2,
	} {
		if hasMore([]byte(text), want) || !hasMore([]byte(text), want-1) {
			t.Errorf("%s has not %d values", text, want)
		}
	}
	state := `{"version":4,"resources":[` + strings.Repeat("{},", mostValues/2) + `{}]}`
	var refused *Refused
	if _, err := ReadInstances([]byte(state)); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
