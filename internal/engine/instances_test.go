package engine

import (
	"errors"
	"strings"
	"testing"
)

// TestStateWithTooManyValuesIsRejected checks a list of empty resources, which uses far more memory than its text.
func TestStateWithTooManyValuesIsRejected(t *testing.T) {
	state := `{"version":4,"resources":[` + strings.Repeat("{},", mostValues/2) + `{}]}`
	var rejected *Rejection
	if _, err := ReadInstances([]byte(state)); !errors.As(err, &rejected) {
		t.Errorf("got %v", err)
	}
}
