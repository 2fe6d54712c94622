package httpapi

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line makes one line of valid text, of at most limit bytes.
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

func IsDigest(s string) bool { return digestPattern.MatchString(s) }
