package git

import (
	"errors"
	"os/exec"
	"testing"
)

func TestOutputOfACommandIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		out  bounded
		want string
		over bool
	}{
		"what fits": {bounded{limit: 100}, "git version", false},
		"output above the limit ends the command": {bounded{limit: 3}, "", true},
		"output above the limit is dropped":       {bounded{limit: 3, drop: true}, "git", true},
	} {
		t.Run(name, func(t *testing.T) {
			out := tt.out
			cmd := exec.CommandContext(t.Context(), "git", "version")
			cmd.Stdout = &out
			err := cmd.Run()
			got := out.kept.String()
			if got[:min(len(got), len(tt.want))] != tt.want || len(got) > out.limit || out.over != tt.over ||
				errors.Is(err, ErrTooLarge) != (tt.over && !out.drop) {
				t.Errorf("kept %q, over %v, %v", got, out.over, err)
			}
		})
	}
}
