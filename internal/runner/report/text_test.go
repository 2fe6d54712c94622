package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cairn.dev/cairn/internal/engine/redact"
)

func TestClean(t *testing.T) {
	secrets := redact.New()
	secrets.Add("hunter two")
	for text, want := range map[string]string{
		"plain":                    "plain",
		"two\n  lines\r\n":         "two lines",
		"nul \x00 esc \x1b[0m":     "nul esc [0m",
		"bad \xff\xfe":             "bad \ufffd",
		"a hunter\n  two b":        "a (sensitive) b",
		strings.Repeat("é", 600):   strings.Repeat("é", 510) + "…",
		strings.Repeat("x", 1024):  strings.Repeat("x", 1024),
		strings.Repeat("x ", 5000): strings.Repeat("x ", 510) + "x…",
	} {
		if got := Clean(secrets, text); got != want || !utf8.ValidString(got) {
			t.Errorf("%.40q became %q", text, got)
		}
	}
}
