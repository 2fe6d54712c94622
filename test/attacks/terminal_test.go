package attacks

import (
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"cairn.dev/cairn/internal/cli/session"
)

// A hook prints sequences that write to the clipboard of a user who reads the log, or
// replace the lines before. A terminal gets the text and its colors.
func TestControlSequencesOfALogAreEscaped(t *testing.T) {
	const log = "\x1b[32mok\x1b[0m\x1b]52;c;Y3VybCBldmls\x07\x1b[1A\x1b[2K\u009b2J\x1bPx\x1b\\ plan: 1 to " +
		"destroy\rplan: no changes\n"
	for screen, want := range map[bool]string{true: "\x1b[32mok\x1b[0m plan: 1 to destroy\nplan: no changes\n",
		false: log} {
		var out strings.Builder
		s := session.New(genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}, "cairn")
		s.Screen = screen
		if _, err := io.WriteString(s.Text(), log); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("terminal %v: %q, want %q", screen, out.String(), want)
		}
	}
}
