package report

import (
	"strings"
	"testing"
	"time"
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

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 10 * time.Second: "10s", 10 * time.Minute: "10m",
		time.Hour + time.Second: "1h0m1s", 20 * time.Hour: "20h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
