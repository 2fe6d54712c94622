// Package jsonsize reads the parts of a JSON text where they are, and bounds the memory that they take once they are
// decoded.
package jsonsize

// HasMoreValues reports whether there are more than most values in JSON: each but the first in an object or a list
// follows a comma. However short a value is, it takes memory once it is decoded: of a list of empty objects some forty
// times its text.
func HasMoreValues(text []byte, most int) bool {
	n, quoted := 0, false
	for i := 0; i < len(text) && n <= most; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n > most
}
