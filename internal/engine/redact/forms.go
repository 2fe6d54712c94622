package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// shortestPart is the length from which a part of a value (a line, a string within a JSON document) is hidden where it
// is on its own, and from which an encoded value is hidden that is not in one piece.
const shortestPart = 8

// An encoder returns forms of a value. Escapes need no encoder: they are decoded from the text, see escapes.go.
type encoder struct {
	form   string
	encode func(value string) []string
	// encoded: white space between two characters of the forms, and a colon, is not part of them.
	encoded bool
}

// encoders are the forms in which values are hidden.
var encoders = []encoder{
	{form: "the value and its parts", encode: func(value string) []string { return append(parts(value), value) }},
	{form: "with replacement characters, as in JSON", encode: replaced},
	{form: "base64", encoded: true, encode: func(value string) []string {
		return aligned(value, 6, base64.RawStdEncoding.EncodeToString, 64, 76)
	}},
	{form: "base64 for URLs", encoded: true, encode: func(value string) []string {
		return aligned(value, 6, base64.RawURLEncoding.EncodeToString, 64, 76)
	}},
	{form: "base32", encoded: true, encode: func(value string) []string {
		return aligned(value, 5, base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString, 64, 76)
	}},
	{form: "hexadecimal", encoded: true, encode: func(value string) []string {
		digits := hex.EncodeToString([]byte(value))
		return append(lines(digits, 60, 64), digits, strings.ToUpper(digits))
	}},
}

// aligned returns a value in an encoding with so many bits in a character, with each of the ways it can lie in a
// longer text that was encoded as a whole. The characters at both ends, which depend on what is around the value,
// are left out. Of the value alone it returns the lines of these widths, too, because other lines of a log can stand
// between them.
func aligned(value string, bits int, encode func([]byte) string, widths ...int) []string {
	all := lines(encode([]byte(value)), widths...)
	for before := range bits * 8 / gcd(bits, 8) / 8 {
		padded := append(make([]byte, before), value...)
		first, last := (before*8+bits-1)/bits, len(padded)*8/bits
		all = append(all, encode(padded)[first:last])
	}
	return all
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// lines returns the lines of a text that is longer than these widths.
func lines(text string, widths ...int) []string {
	var all []string
	for _, width := range widths {
		if len(text) <= width {
			continue
		}
		for line := range slices.Chunk([]byte(text), width) {
			if len(line) >= 2*shortestPart {
				all = append(all, string(line))
			}
		}
	}
	return all
}

// replaced returns a value that is not UTF-8 as JSON has it.
func replaced(value string) []string {
	if utf8.ValidString(value) {
		return nil
	}
	return []string{string([]rune(value))}
}

// parts returns the lines of a value that has several, and the strings within a value that is a JSON document: the
// engine shows such values piece by piece.
func parts(value string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= shortestPart {
			all = append(all, s)
		}
	}
	addLines := func(s string) {
		for line := range strings.Lines(s) {
			add(line)
		}
	}
	if strings.Contains(value, "\n") {
		addLines(value)
	}
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		var document any
		if json.Unmarshal([]byte(value), &document) == nil {
			for _, leaf := range leaves(nil, document) {
				add(leaf)
				addLines(leaf)
			}
		}
	}
	return all
}
