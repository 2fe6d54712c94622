package httpapi

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine replaces what is not printable and shortens a text to at most limit bytes.
func OneLine(text string, limit int) string {
	if len(text) > 2*limit {
		text = text[:2*limit]
	}
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsDigest checks the form of a SHA256 digest.
func IsDigest(s string) bool { return digestPattern.MatchString(s) }
