package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longest is how many bytes of a value are shown.
const longest = 400

// Escape returns text on one line that is safe to show, as in a View that is written.
func Escape(s string) string { return escape(s) }

// escape returns a text that is safe for a terminal: what is not printed, codes for terminals and marks that change
// the direction of writing among it, is written as an escape sequence.
func escape(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !printable(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		b.WriteString(escapeRune(r, s[:n]))
		s = s[n:]
	}
	return b.String()
}

func printable(r rune) bool { return strconv.IsPrint(r) && !invisible(r) }

// invisible characters count as printed with some, and are not seen: with them two names are indistinguishable.
func invisible(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0':
		return true
	}
	return r >= '\uFE00' && r <= '\uFE0F' || r >= '\U000E0100' && r <= '\U000E01EF'
}

func escapeRune(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case printable(r):
		return raw
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// text quotes a text.
func text(s string) string {
	begin := head(s)
	return `"` + escape(quotes.Replace(begin)) + `"` + more(len(s)-len(begin))
}

// cut shortens a text that is safe already.
func cut(s string) string {
	begin := head(s)
	return begin + more(len(s)-len(begin))
}

// head returns the first bytes of a text, and no half character.
func head(s string) string {
	if len(s) <= longest {
		return s
	}
	s = s[:longest]
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				s = s[:i]
			}
			break
		}
	}
	return s
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" … and %d bytes more", n)
}

// brief writes a JSON value on one line; nothing for an absent one.
func brief(value json.RawMessage, sensitive bool) string {
	if value == nil {
		return ""
	}
	if sensitive {
		return Hidden
	}
	if s, ok := textOf(value); ok {
		return text(s)
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return "(not JSON)"
	}
	return cut(escape(b.String()))
}
