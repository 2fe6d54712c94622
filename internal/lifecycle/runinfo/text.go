package runinfo

import (
	"slices"
	"strings"
	"unicode"

	"cairn.dev/cairn/internal/base/shorten"
)

// Clip shortens a text to what an object may hold.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 { // not within a character
		limit--
	}
	return s[:limit]
}

// maxNote is the maximum length of an event's note: the API server rejects a longer one.
const maxNote = 1024

// Note returns a text as the note of an event: one line, of the maximum length, of characters that a terminal prints.
func Note(s string) string {
	return shorten.Line(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s), maxNote)
}

// KeepIfEquivalent returns before when the two messages differ only in words with a digit, and now otherwise. A quoted
// message may contain the ID of a request, a time or a port, which differs each time. To write it each time would be an
// event each time, which would cause a retry at once, without end.
func KeepIfEquivalent(before, now string) string {
	if slices.Equal(stableWords(before), stableWords(now)) {
		return before
	}
	return now
}

// stableWords are the words of a text, without those that may be another one's each time.
func stableWords(text string) []string {
	words := strings.FieldsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(`,;:"'()[]{}<>`, c)
	})
	for i, word := range words {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			words[i] = "0"
		}
	}
	return words
}
