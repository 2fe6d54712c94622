package screen

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// longestColor is how many bytes the sequence for a color may have.
const longestColor = 64

// A Terminal writes untrusted text to a terminal. It keeps colors, line breaks and tabs, and removes every other
// control character and control sequence: they could write to the clipboard, move the cursor, or hide and replace other
// lines. A carriage return that does not end a line, as of a progress bar, becomes a line break.
type Terminal struct {
	to io.Writer
	// pending is the beginning of a sequence, or of a character.
	pending []byte
	state   terminalState
	// returned: the text before ends with a carriage return.
	returned bool
	out      []byte
}

type terminalState int

const (
	stateText terminalState = iota
	// stateEscape is behind ESC, with the bytes that may follow until one ends the sequence.
	stateEscape
	// stateCSI is in a sequence of parameters, such as a color.
	stateCSI
	// stateString is in a string for the terminal, until BEL or ST; stateStringEscape is behind ESC in it.
	stateString
	stateStringEscape
)

// NewTerminal returns a Terminal that writes to w.
func NewTerminal(w io.Writer) *Terminal { return &Terminal{to: w} }

// Write writes text. A sequence may be split between two writes.
func (t *Terminal) Write(p []byte) (int, error) {
	t.out = t.out[:0]
	for _, c := range p {
		t.next(c)
	}
	if _, err := t.to.Write(t.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *Terminal) next(c byte) {
	switch t.state {
	case stateText:
		t.text(c)
	case stateEscape:
		switch {
		case c == '[':
			t.state, t.pending = stateCSI, append(t.pending[:0], 0x1b, '[')
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			t.state = stateString
		case 0x20 <= c && c <= 0x2f:
		case 0x30 <= c && c <= 0x7e:
			t.state = stateText
		default:
			t.state = stateText
			t.next(c)
		}
	case stateCSI:
		t.parameter(c)
	case stateString:
		switch c {
		case 0x07, '\n': // a string has no line break: the rest of the log must not be lost
			t.state = stateText
		case 0x1b:
			t.state = stateStringEscape
		}
	case stateStringEscape:
		t.state = stateEscape
		if c == '\\' {
			t.state = stateText
			return
		}
		t.next(c)
	}
}

// parameter reads a byte of a sequence. Only one for a color is kept.
func (t *Terminal) parameter(c byte) {
	switch {
	case c == 'm' && len(t.pending) < longestColor && isColor(t.pending[2:]):
		t.out = append(append(t.out, t.pending...), 'm')
		fallthrough
	case 0x40 <= c && c <= 0x7e:
		t.state, t.pending = stateText, t.pending[:0]
	case 0x20 <= c && c <= 0x3f:
		if len(t.pending) < longestColor {
			t.pending = append(t.pending, c)
		}
	default:
		t.state, t.pending = stateText, t.pending[:0]
		t.next(c)
	}
}

func isColor(parameters []byte) bool {
	for _, c := range parameters {
		if (c < '0' || c > '9') && c != ';' && c != ':' {
			return false
		}
	}
	return true
}

// text reads a byte of text. A character is written when it is complete.
func (t *Terminal) text(c byte) {
	t.pending = append(t.pending, c)
	for len(t.pending) > 0 && utf8.FullRune(t.pending) {
		r, n := utf8.DecodeRune(t.pending)
		character := t.pending[:n]
		if returned := t.returned; r != '\r' {
			if t.returned = false; returned && r != '\n' {
				t.out = append(t.out, '\n')
			}
		}
		switch {
		case r == 0x1b:
			t.state, t.pending = stateEscape, t.pending[:0]
			return
		case r == 0x9b: // one character for ESC [
			t.state, t.pending = stateCSI, append(t.pending[:0], 0x1b, '[')
			return
		case r == 0x90, r == 0x98, r == 0x9d, r == 0x9e, r == 0x9f:
			t.state, t.pending = stateString, t.pending[:0]
			return
		case r == '\r':
			t.returned = true
		case r == utf8.RuneError && n == 1:
			t.out = append(t.out, string(unicode.ReplacementChar)...)
		case r == '\n', r == '\t', !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r):
			t.out = append(t.out, character...)
		}
		t.pending = t.pending[:copy(t.pending, t.pending[n:])]
	}
}
