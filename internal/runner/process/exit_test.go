package process

import (
	"testing"

	"cairn.dev/cairn/internal/engine"
)

// TestFirstCauseIsShown checks that messages have the reason for a failure, and not what programs print after it.
func TestFirstCauseIsShown(t *testing.T) {
	const git = "No user exists for uid 1000680000\nfatal: Could not read from remote repository.\n\n" +
		"Please make sure you have the correct access rights\nand the repository exists.\n"
	for _, c := range []struct{ printed, want string }{
		{"", "it ended with exit code 1 and printed nothing"},
		{"one\n", "it ended with exit code 1: one"},
		{"zero\none\n\ntwo\nthree\nthree\n", "it ended with exit code 1: one; two; three"},
		{"Cloning into 'x'...\n" + git, "it ended with exit code 1: Cloning into 'x'...; No user exists for " +
			"uid 1000680000"},
		{git + "Unable to determine underlying exit code, so Terragrunt will exit with error code 1\n",
			"it ended with exit code 1: No user exists for uid 1000680000"},
		{"subprocess exited with status 3\n", "it ended with exit code 1: subprocess exited with status 3"},
	} {
		if got := (Exit{Code: 1, Last: c.printed}).Explain("it", engine.Events{}); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.printed, got, c.want)
		}
	}
}
