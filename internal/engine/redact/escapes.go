package redact

import (
	"bytes"
	"html"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is how many escapes may be within each other, as in a document within a document.
const deepest = 3

// longestEntity is more than any HTML entity has, with leading zeros.
const longestEntity = 32

// An escape is a reading of the beginning of a text as an escaped character.
type escape struct {
	// is the character, one to four bytes.
	is string
	// takes so many bytes of the text.
	takes int
}

// escapes calls yield for each reading of the beginning of text as an escaped character. It returns whether there may
// be others when the text continues. A character as it is, is no escape.
func escapes(text []byte, yield func(escape)) (more bool) {
	switch text[0] {
	case '%':
		return percent(text, yield)
	case '&':
		return entity(text, yield)
	case '\\':
		return backslash(text, yield)
	case '\'':
		return quote(text, yield, `''`, `'\''`, `'"'"'`)
	case '"':
		return quote(text, yield, `""`)
	case '$':
		return quote(text, yield, `$${`)
	case '+':
		yield(escape{" ", 1})
	}
	return false
}

// percent reads percent-encoding, also of percent-encoding, and the engine's %%{.
func percent(text []byte, yield func(escape)) (more bool) {
	more = quote(text, yield, `%%{`)
	for n := 1; n <= 1+2*deepest; n += 2 {
		if len(text) < n+2 {
			return more || number(text[n:], 16, 0) >= 0
		}
		b := number(text[n:n+2], 16, 2)
		if b < 0 {
			return more
		}
		yield(escape{string([]byte{byte(b)}), n + 2})
		if b != '%' {
			return more
		}
	}
	return more
}

// entity reads the entities of HTML, also of entities.
func entity(text []byte, yield func(escape)) (more bool) {
	from := 1
	for range deepest {
		rest := text[from:min(len(text), from+longestEntity)]
		end := bytes.IndexByte(rest, ';')
		for i, c := range rest[:max(end, 0)] {
			if c != '#' && !alphanumeric(c) || c == '#' && i > 0 {
				return false
			}
		}
		if end < 0 {
			return len(text) < from+longestEntity && bytes.IndexFunc(rest, func(r rune) bool {
				return r >= utf8.RuneSelf || r != '#' && !alphanumeric(byte(r))
			}) < 0
		}
		is := html.UnescapeString("&" + string(rest[:end+1]))
		if len(is) > 0 && len(is) <= utf8.UTFMax && (is == "&" || is[0] != '&') {
			yield(escape{is, from + end + 1})
		}
		if is != "&" {
			return false
		}
		from += end + 1
	}
	return false
}

// backslash reads the escapes of JSON, Go, the engine and shells. A document within a document has more backslashes.
func backslash(text []byte, yield func(escape)) (more bool) {
	const most = 1 << deepest
	n := 1
	for n < len(text) && n < most && text[n] == '\\' {
		n++
	}
	for two := 2; two <= n; two *= 2 {
		yield(escape{`\`, two})
	}
	if n == len(text) {
		return true
	}
	switch c := text[n]; c {
	case '\\':
		return false
	case 'x':
		return digits(text, n+1, 2, 16, yield)
	case 'u':
		return unicodeEscape(text, n, yield)
	case 'U':
		return digits(text, n+1, 8, 16, yield)
	case '0', '1', '2', '3':
		return digits(text, n, 3, 8, yield)
	default:
		if at := bytes.IndexByte([]byte("abfnrtve"), c); at >= 0 {
			yield(escape{"\a\b\f\n\r\t\v\x1b"[at : at+1], n + 1})
		} else if !alphanumeric(c) && c < utf8.RuneSelf {
			yield(escape{string(rune(c)), n + 1})
		}
	}
	return false
}

// unicodeEscape reads what follows the backslashes of \u0041, of which there are n; a character may take two of them.
func unicodeEscape(text []byte, n int, yield func(escape)) (more bool) {
	high := rune(-1)
	more = digits(text, n+1, 4, 16, func(e escape) {
		if high = rune(number(text[n+1:n+5], 16, 4)); !utf16.IsSurrogate(high) {
			yield(e)
		}
	})
	if more || !utf16.IsSurrogate(high) {
		return more
	}
	second := text[n+5:]
	if len(second) < n+1+4 {
		return len(bytes.TrimLeft(second[:min(n, len(second))], `\`)) == 0
	}
	if !bytes.Equal(second[:n+1], text[:n+1]) {
		return false
	}
	if r := utf16.DecodeRune(high, rune(number(second[n+1:n+5], 16, 4))); r != utf8.RuneError {
		yield(escape{string(r), 2 * (n + 5)})
	}
	return false
}

// digits reads the number of a character, which begins at text[from].
func digits(text []byte, from, length, base int, yield func(escape)) (more bool) {
	if len(text) < from+length {
		return number(text[from:], base, 0) >= 0
	}
	n := number(text[from:from+length], base, length)
	switch {
	case n < 0:
	case length < 4:
		if n < 256 {
			yield(escape{string([]byte{byte(n)}), from + length})
		}
	default:
		yield(escape{string(rune(n)), from + length})
	}
	return false
}

// number returns the number that text is, or -1. No digits are zero when none are required.
func number(text []byte, base, required int) int {
	if len(text) == 0 && required == 0 {
		return 0
	}
	n, err := strconv.ParseUint(string(text), base, 31)
	if err != nil || len(text) < required || text[0] == '+' {
		return -1
	}
	return int(n)
}

// quote reads a character that is escaped by other ones of its kind. A brace after it is not part of it.
func quote(text []byte, yield func(escape), written ...string) (more bool) {
	for _, w := range written {
		switch {
		case bytes.HasPrefix(text, []byte(w)):
			takes := len(w)
			if w[takes-1] == '{' {
				takes--
			}
			yield(escape{w[:1], takes})
		case len(text) < len(w) && w[:len(text)] == string(text):
			more = true
		}
	}
	return more
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
