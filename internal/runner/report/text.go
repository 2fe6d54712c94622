package report

import (
	"strings"
	"unicode"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine/redact"
)

// LongestMessage is how many bytes a message in a report may have.
const LongestMessage = 1024

// Clean returns text that is fit to be shown to users: without secrets, one line, valid UTF-8, at most
// LongestMessage.
func Clean(secrets *redact.Redactor, text string) string {
	text = strings.ToValidUTF8(secrets.String(text), "�")
	isSpace := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }
	return shorten.Bytes(strings.Join(strings.FieldsFunc(text, isSpace), " "), LongestMessage)
}
