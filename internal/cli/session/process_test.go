package session

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExitCodes(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error
		code   int
		output string
	}{
		"success prints nothing":         {nil, 0, ""},
		"any error is a failure":         {errors.New("no"), 1, "cairn: no\n"},
		"changes that wait are no error": {ErrChanges, 2, ""},
		"an exit code may come with an error": {ExitError{Code: ExitInterrupted, Err: errors.New("continues")},
			130, "cairn: continues\n"},
		"what it quotes does not steer a terminal": {errors.New("Stack a\x1b[2J\u202e:\n  no"), 1,
			"cairn: Stack a\ufffd[2J\ufffd:\n  no\n"},
		"a wrapped one keeps code and what it is": {
			fmt.Errorf("apply: %w", ExitError{Code: ExitChanges, Err: errors.New("waits")}), 2,
			"cairn: apply: waits\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := ExitCode(&out, "cairn", tt.err); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.output, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
