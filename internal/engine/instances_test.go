package engine

import (
	"errors"
	"strings"
	"testing"
)

// A state is whatever its runner sends, and a list of empty resources takes many times its text.
func TestAStateOfTooManyValuesIsNotLookedInto(t *testing.T) {
	state := `{"version":4,"resources":[` + strings.Repeat("{},", mostValues/2) + `{}]}`
	var refused *Rejection
	if _, err := ReadInstances([]byte(state)); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
