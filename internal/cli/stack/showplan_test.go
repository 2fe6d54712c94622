package stack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteRawRemovesControlCharacters, whether colors are wanted or not.
func TestWriteRawRemovesControlCharacters(t *testing.T) {
	const text = "Plan: 1 to add\n  + name = \"\x1b]0;you\a\"\n\xc2\x9b2Jlast"
	for name, tt := range map[string]struct {
		color, screen bool
		want          string
	}{
		"a terminal without color": {false, true, "Plan: 1 to add\n  + name = \"�]0;you�\"\n�2Jlast"},
		"a terminal with color":    {true, true, "\x1b[1mPlan: 1 to add\x1b[0m\n  \x1b[32m+\x1b[0m name = \"\\u001b]0;you\\u0007\"\n\\u009b2Jlast"},
		"a pipe gets it as it is":  {false, false, text},
	} {
		s, out, _ := quietStack()
		s.Color, s.Screen = tt.color, tt.screen
		if err := writeRaw(s, strings.NewReader(text)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
