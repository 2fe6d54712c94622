package jsonsize

import (
	"bytes"
	"errors"
)

// ErrKind is the error of a text that is no list, or no object.
var ErrKind = errors.New("a JSON value of another kind")

// ForEach calls do for each element of a list, which begins with '[', or each field of an object, which begins with
// '{'. The text has to be valid JSON. The quoted name, which is empty in a list, and the value are parts of the text,
// so that nothing of it is copied. Null has no elements.
func ForEach(text []byte, begin byte, do func(quoted, value []byte) error) error {
	text = bytes.TrimLeft(text, space)
	switch {
	case text[0] == 'n':
		return nil
	case text[0] != begin:
		return ErrKind
	}
	for text = bytes.TrimLeft(text[1:], space); text[0] != ']' && text[0] != '}'; text = bytes.TrimLeft(text, space) {
		var quoted, value []byte
		if begin == '{' {
			quoted, text = cut(text)
			text = bytes.TrimLeft(text, space+":")
		}
		value, text = cut(text)
		if err := do(quoted, value); err != nil {
			return err
		}
		text = bytes.TrimLeft(text, space+",")
	}
	return nil
}

// space is what may be between the tokens of JSON.
const space = " \t\r\n"

// cut cuts the value off with which a text begins.
func cut(text []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return text[:i+1], text[i+1:]
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 { // of what a number, or a word, is in
				return text[:i], text[i:]
			}
			if depth--; depth == 0 {
				return text[:i+1], text[i+1:]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return text[:i], text[i:]
			}
		}
	}
	return text, nil
}
