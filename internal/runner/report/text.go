package report

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cairn.dev/cairn/internal/redact"
)

// LongestMessage is how many bytes a message in a report may have.
const LongestMessage = 1024

// Clean returns text that is fit to be shown to users: without secrets, one line, valid UTF-8, at most
// LongestMessage.
func Clean(secrets *redact.Redactor, text string) string {
	text = strings.ToValidUTF8(secrets.String(text), "�")
	isSpace := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }
	return Truncate(strings.Join(strings.FieldsFunc(text, isSpace), " "), LongestMessage)
}

// Truncate cuts a text to so many bytes, the last of which then are an ellipsis.
func Truncate(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	end := longest - len("…")
	if end < 0 {
		return ""
	}
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// Duration formats a duration without its zero parts: 1h, not 1h0m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
