// Package shorten cuts texts for where they are shown, and leaves the zero parts of durations out.
package shorten

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Bytes returns a text of at most limit bytes; one that is longer ends with an ellipsis.
func Bytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len(ellipsis)
	if end < 0 {
		return ""
	}
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// Characters returns a text of at most so many characters; one that is longer ends with an ellipsis.
func Characters(s string, most int) string {
	n, last := 0, 0
	for i := range s {
		if n++; n == most {
			last = i
		} else if n > most {
			return s[:last] + ellipsis
		}
	}
	return s
}

// Line returns a text on one line of at most limit bytes: control characters and separators of lines become blanks. All
// else stays, also invisible characters, which the user interfaces mark.
func Line(s string, limit int) string {
	if len(s) > 2*limit {
		s = s[:2*limit]
	}
	return Bytes(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")), limit)
}

// List returns the first texts of many, and how many others there are: "a, b and 3 more".
func List(all []string, most int) string {
	text := strings.Join(all[:min(len(all), most)], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Count returns a number with a noun, whose plural has an s: "1 Stack", "2 Stacks".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
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
