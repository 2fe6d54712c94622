package runinfo

import (
	"slices"
	"strings"
	"unicode"
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

// longestNote is how much an event may say: the API server does not take one that says more.
const maxNote = 1024

// Note shortens a text to what an event may say.
func Note(s string) string {
	const more = "…"
	if len(s) <= maxNote {
		return s
	}
	return Clip(s, maxNote-len(more)) + more
}

// Steady is what is to be told again of a failure: what was told before, when the two differ in nothing but words with a digit in them. What
// others say of a failure may have in it the ID of a request, a time, or a port, which is another one each time. To tell it each time would be
// a write, and a write is an event, by which it would be tried again at once, for ever.
func KeepIfEquivalent(before, now string) string {
	if slices.Equal(stableWords(before), stableWords(now)) {
		return before
	}
	return now
}

// lasting are the words of a text, without those that may be another one's each time.
func stableWords(text string) []string {
	words := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`,;:"'()[]{}<>`, c) })
	for i, word := range words {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			words[i] = "0"
		}
	}
	return words
}
