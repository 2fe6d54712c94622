package redact

// widest is how many bytes of white space in a text may be one blank of a secret: line breaks and indentation.
const widest = 128

// A matcher reads a text from one position on as each of the patterns that it may be.
type matcher struct {
	index   *index
	encoded bool
	text    []byte
	// from is the position.
	from int
	// readings are those still to be followed.
	readings []reading
	// steps is how many there were, deepest how many bytes of a pattern were read.
	steps, deepest int
	// budget is how many bytes may still be read in this text, besides the readings without escapes.
	budget int

	// longest is the length of the longest match; more: one may continue past the end of the text.
	longest int
	more    bool
}

// A reading is a way to read the text up to a position: as the beginning of patterns.
type reading struct {
	// patterns are those that begin with what was read, sorted; nil for less than four bytes.
	patterns []string
	// head is what was read, up to four bytes; depth is how many bytes were.
	head  uint32
	depth int
	// at is the position.
	at int
	// blanks is how much white space was read last; broken: some is not in the pattern; escaped: there was an escape.
	blanks          int
	broken, escaped bool
}

// match returns the length of the longest match at a position, and whether one may continue past the end of the text.
func (m *matcher) match(x *index, encoded bool, from int) (longest int, more bool) {
	m.index, m.encoded, m.from = x, encoded, from
	if !m.may() {
		return 0, false
	}
	m.steps, m.deepest, m.longest, m.more = 0, 0, 0, false
	m.follow(reading{at: from})
	for len(m.readings) > 0 {
		last := len(m.readings) - 1
		r := m.readings[last]
		m.readings = m.readings[:last]
		m.follow(r)
	}
	return m.longest, m.more
}

// may reports whether a pattern may begin at the position. It is quick, and mostly right.
func (m *matcher) may() bool {
	head := uint32(0)
	for i, c := range m.text[m.from:min(m.from+3, len(m.text))] {
		switch {
		case i > 0 && m.encoded && isBreak(c):
			return true
		case i > 0 && space(c):
			return m.index.begins(head|' '<<(8*i), i+1)
		case kind[c] != 0, c == '+' && !m.encoded:
			return true
		}
		if head |= uint32(c) << (8 * i); !m.index.begins(head, i+1) {
			return false
		}
	}
	return true
}

// push keeps a reading to be followed later. The limits are far above what a secret needs in any form. They keep the
// time in proportion to the length of the text, and the text that is held back in proportion to that of a secret.
func (m *matcher) push(r reading) {
	if m.steps++; m.steps > 128+4*m.deepest || r.at-m.from > 1024+16*r.depth || m.budget <= 0 {
		return
	}
	r.escaped = true
	m.readings = append(m.readings, r)
}

// costOfEscape is about as much work as reading so many bytes.
const costOfEscape = 4

// follow reads on, until no pattern is like that. Other readings on the way are followed later.
func (m *matcher) follow(r reading) {
	for {
		m.deepest = max(m.deepest, r.depth)
		if len(r.patterns) > 0 && len(r.patterns[0]) == r.depth {
			if !r.broken || r.depth >= shortestPart {
				m.longest = max(m.longest, r.at-m.from)
			}
			if r.patterns = r.patterns[1:]; len(r.patterns) == 0 {
				return
			}
		}
		if r.at == len(m.text) {
			m.more = true
			return
		}
		if m.budget--; m.budget < 0 && r.escaped {
			return
		}
		c := m.text[r.at]
		if m.budget > 0 {
			m.escape(r, c)
		}
		r.at++
		runs, ok := m.read(&r, c)
		if !ok {
			return
		}
		for i, run := range runs {
			if r.patterns = run; i < len(runs)-1 {
				m.readings = append(m.readings, r)
			}
		}
	}
}

// read adds a byte to a reading, and reports whether patterns have it. For the fourth byte it returns the patterns
// with this head.
func (m *matcher) read(r *reading, c byte) (runs [][]string, ok bool) {
	switch {
	case m.encoded && isBreak(c):
		r.blanks, r.broken = r.blanks+1, true
		return nil, r.depth > 0 && r.blanks <= widest
	case space(c):
		if r.blanks++; r.blanks > 1 {
			return nil, r.blanks <= widest
		}
		c = ' '
	default:
		r.blanks = 0
	}
	if r.patterns == nil {
		return m.begin(r, c)
	}
	r.patterns = narrow(r.patterns, r.depth, c)
	r.depth++
	return nil, len(r.patterns) > 0
}

// begin adds a byte to the head of a reading. For the last one, it returns the patterns with this head.
func (m *matcher) begin(r *reading, c byte) (runs [][]string, ok bool) {
	r.head |= uint32(c) << (8 * r.depth)
	if r.depth++; r.depth < 4 {
		return nil, m.index.begins(r.head, r.depth)
	}
	if b := m.index.heads[r.head]; b != nil {
		return b.runs, true
	}
	return nil, false
}

// escape pushes the readings of an escaped character.
func (m *matcher) escape(r reading, c byte) {
	if kind[c] == 0 && (c != '+' || m.encoded) {
		return
	}
	m.budget -= costOfEscape
	if escapes(m.text[r.at:], func(e escape) { m.unescape(r, e.is, r.at+e.takes) }) && (kind[c] == special ||
		m.reads(r, c)) {
		m.more = true
	}
}

// unescape pushes what r becomes when the text up to a position is read as these bytes.
func (m *matcher) unescape(r reading, bytes string, to int) {
	for i := range len(bytes) {
		if len(r.patterns) > 0 && len(r.patterns[0]) == r.depth {
			if r.patterns = r.patterns[1:]; len(r.patterns) == 0 {
				return
			}
		}
		runs, ok := m.read(&r, bytes[i])
		if !ok {
			return
		}
		for _, run := range runs {
			r.patterns = run
			m.unescape(r, bytes[i+1:], to)
		}
		if runs != nil {
			return
		}
	}
	r.at = to
	m.push(r)
}

// reads reports whether r continues with c.
func (m *matcher) reads(r reading, c byte) bool {
	_, ok := m.read(&r, c)
	return ok
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// isBreak reports whether a byte may be between the characters of an encoded value: lines of base64, pairs of
// hexadecimal digits.
func isBreak(c byte) bool { return space(c) || c == ':' }
