package run

import (
	"slices"
	"strings"
	"unicode"
)

// Steady is what is to be told again of a failure: what was told before, when the two differ in nothing but words with a digit in them. What
// others say of a failure may have in it the ID of a request, a time, or a port, which is another one each time. To tell it each time would be
// a write, and a write is an event, by which it would be tried again at once, for ever.
func Steady(before, now string) string {
	if slices.Equal(lasting(before), lasting(now)) {
		return before
	}
	return now
}

// lasting are the words of a text, without those that may be another one's each time.
func lasting(text string) []string {
	words := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`,;:"'()[]{}<>`, c) })
	for i, word := range words {
		if strings.ContainsFunc(word, unicode.IsDigit) {
			words[i] = "0"
		}
	}
	return words
}
