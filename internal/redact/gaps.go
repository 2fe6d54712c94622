package redact

import "bytes"

const (
	// widest is how many bytes a gap may have: line breaks, indentation and control sequences.
	widest = 128
	// longestPrefix is how long a prefix of a line may be, such as a time or the name of a resource.
	longestPrefix = 256
	// longestControl is how many bytes a control sequence of a terminal may have.
	longestControl = 128
)

// A gap is what may stand between two characters of a secret: white space, also escaped, and control sequences of
// terminals.
type gap struct {
	// takes so many bytes of the text.
	takes int
	// blank: there is white space in it; breaks: there is a line break in it.
	blank, breaks bool
}

// gaps calls yield for each gap that text may begin with: as an escape may be one and may be part of the secret, there
// can be several. It returns whether there may be others when the text continues.
func gaps(text []byte, yield func(gap)) (more bool) {
	var g gap
	for g.takes < len(text) {
		if g.takes > widest {
			return false
		}
		rest := text[g.takes:]
		n, blank, breaks := 0, false, false
		switch c := rest[0]; c {
		case ' ', '\t':
			n, blank = 1, true
		case '\n', '\r':
			n, blank, breaks = 1, true, true
		case 0x1b:
			n, more = control(rest)
		case '\\', '%', '&':
			more = escapes(rest, func(e escape) {
				if space(e.is[0]) {
					n, blank, breaks = e.takes, true, e.is == "\n" || e.is == "\r"
				}
			})
		}
		if g.takes > 0 && !space(rest[0]) {
			yield(g)
		}
		if n == 0 {
			return more
		}
		g.takes, g.blank, g.breaks = g.takes+n, g.blank || blank, g.breaks || breaks
	}
	return true
}

// control returns the length of the control sequence that text, which begins with ESC, begins with. It is 0 if it is
// none.
func control(text []byte) (n int, more bool) {
	if len(text) == 1 {
		return 0, true
	}
	within := text[:min(len(text), longestControl)]
	incomplete := len(text) < longestControl
	switch text[1] {
	case '[': // CSI: parameters, then one byte that ends it
		for i, c := range within[2:] {
			if 0x40 <= c && c <= 0x7e {
				return 2 + i + 1, false
			}
			if c < 0x20 || c > 0x3f {
				return 0, false
			}
		}
		return 0, incomplete
	case ']', 'P', 'X', '^', '_': // a string that BEL or ST ends
		for i, c := range within[2:] {
			switch {
			case c == 0x07:
				return 2 + i + 1, false
			case c == 0x1b && 2+i+1 == len(within):
				return 0, incomplete
			case c == 0x1b && within[2+i+1] == '\\':
				return 2 + i + 2, false
			case c == '\n':
				return 0, false
			}
		}
		return 0, incomplete
	}
	for i, c := range within[1:] {
		if 0x30 <= c && c <= 0x7e {
			return 1 + i + 1, false
		}
		if c < 0x20 || c > 0x2f {
			return 0, false
		}
	}
	return 0, incomplete
}

// resume calls yield for each place of a line where a secret that was wrapped may continue, until it returns false:
// where the line begins, and after a prefix. Weak is a place within words, which needs more of the secret behind it. It
// returns whether there may be others when the text continues.
func resume(line []byte, yield func(at int, weak bool) bool) (more bool) {
	if !yield(0, false) {
		return false
	}
	for at := 1; at <= longestPrefix; at++ {
		if at >= len(line) {
			return true
		}
		ends, weak := false, false
		if before := line[at-1]; (!alphanumeric(before) || before == 'm') && line[at] != ' ' {
			ends, weak = prefix(line[:at])
		}
		switch c := line[at]; {
		case c == '\n', c == '\r': // an empty line of the secret
			if ends && !weak {
				yield(at, false)
			}
			return false
		case ends && !space(c) && !yield(at, weak):
			return false
		}
	}
	return false
}

// prefix reports whether a text may be the prefix of a line; weak: it ends with a word.
func prefix(text []byte) (ends, weak bool) {
	mark := bytes.TrimRight(text, " \t")
	if len(mark) == 0 {
		return true, false
	}
	last := mark[len(mark)-1]
	switch color := mark[max(0, len(mark)-16):]; {
	case bytes.IndexByte([]byte("|>:])"), last) >= 0, bytes.HasSuffix(mark, []byte("│")):
		return true, false
	case last == 'm' && bytes.IndexByte(color, 0x1b) >= 0:
		return true, false
	}
	return len(mark) < len(text), alphanumeric(last)
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
