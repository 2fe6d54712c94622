package redact

import (
	"slices"
	"strings"
)

// longestWord is from how many bytes on a word is so long that a line break in its midst may be one of a line that was
// wrapped, before as much of a secret was read as is needed to be sure.
const longestWord = 16

// A matcher reads a text from one position on as each of the patterns that it may be.
type matcher struct {
	index  *index
	digits bool
	text   []byte
	// word is the length of the word that ends before the text.
	word int
	// from is the position.
	from int
	// readings are those still to be followed.
	readings []reading
	// steps is how many there were, deepest how many bytes of a pattern were read.
	steps, deepest int
	// budget is how many bytes may still be read in this text, besides the readings without escapes and gaps.
	budget int

	// longest is the length of the longest match, of all that were counted; more: one may continue past the end of
	// the text.
	longest, matches int
	more             bool
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
	// wrapped: there is a gap that is not in the pattern; blank: what was read last is white space; other: there was an
	// escape or a gap.
	wrapped, blank, other bool
}

// match returns the length of the longest match at a position, and whether one may continue past the end of the text.
func (m *matcher) match(x *index, digits bool, from int) (longest int, more bool) {
	if !m.may(x, digits, from) {
		return 0, false
	}
	m.index, m.digits, m.from = x, digits, from
	m.steps, m.deepest, m.longest, m.matches, m.more = 0, 0, 0, 0, false
	m.follow(reading{at: from})
	m.finish(0)
	return m.longest, m.more
}

// may reports whether a pattern may begin at a position. It is quick, and mostly right.
func (m *matcher) may(x *index, digits bool, from int) bool {
	head := uint32(0)
	for i, c := range m.text[from:min(from+3, len(m.text))] {
		switch {
		case i > 0 && space(c):
			return x.begins(head|' '<<(8*i), i+1) || digits && i == 2 || wordBefore(m.text, from+i, m.word) == longestWord
		case kind[c] != 0, c == '+', digits && i == 2:
			return true
		case digits && 'A' <= c && c <= 'F':
			c |= 0x20
		}
		if head |= uint32(c) << (8 * i); !x.begins(head, i+1) {
			return false
		}
	}
	return true
}

// finish follows all readings but so many.
func (m *matcher) finish(others int) {
	for len(m.readings) > others {
		last := len(m.readings) - 1
		r := m.readings[last]
		m.readings = m.readings[:last]
		m.follow(r)
	}
}

// push keeps a reading to be followed later. The limits are far above what a secret needs in any form. They keep the
// time in proportion to the length of the text, and the text that is held back in proportion to that of a secret.
func (m *matcher) push(r reading) {
	if m.steps++; m.steps > 128+4*m.deepest || r.at-m.from > 1024+16*r.depth || m.budget <= 0 {
		return
	}
	r.other = true
	m.readings = append(m.readings, r)
}

const (
	// costOfEscape and costOfLine are about as much work as reading so many bytes.
	costOfEscape = 4
	costOfLine   = 64
)

// follow reads on, until no pattern is like that. Other readings on the way are followed later.
func (m *matcher) follow(r reading) {
	for {
		m.deepest = max(m.deepest, r.depth)
		if len(r.patterns) > 0 && len(r.patterns[0]) == r.depth {
			m.accept(r)
			if r.patterns = r.patterns[1:]; len(r.patterns) == 0 {
				return
			}
		}
		if r.at == len(m.text) {
			m.more = true
			return
		}
		if m.budget--; m.budget < 0 && r.other {
			return
		}
		c := m.text[r.at]
		if m.budget > 0 {
			m.others(r, c)
		}
		if space(c) {
			return
		}
		r.at++
		r.blank = false
		if r.patterns == nil {
			runs, ok := m.begin(&r, m.fold(c))
			if !ok {
				return
			}
			for i, run := range runs {
				if r.patterns = run; i < len(runs)-1 {
					m.readings = append(m.readings, r)
				}
			}
			continue
		}
		if r.patterns = narrow(r.patterns, r.depth, m.fold(c)); len(r.patterns) == 0 {
			return
		}
		r.depth++
	}
}

// others pushes the readings of an escape or a gap.
func (m *matcher) others(r reading, c byte) {
	if r.depth > 0 {
		m.gap(r, c)
	}
	if m.digits {
		m.separator(r, c)
	} else {
		m.escape(r, c)
	}
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

func (m *matcher) accept(r reading) {
	length := r.depth
	if m.digits {
		length /= 2
	}
	if !r.wrapped || length >= shortestPart {
		m.longest = max(m.longest, r.at-m.from)
		m.matches++
	}
}

func (m *matcher) fold(c byte) byte {
	if m.digits && 'A' <= c && c <= 'F' {
		c |= 0x20
	}
	return c
}

// read pushes what r becomes when the text up to a position is read as these bytes.
func (m *matcher) read(r reading, bytes string, to int) {
	if bytes != "" {
		r.blank = bytes == " "
	}
	for i := range len(bytes) {
		c := m.fold(bytes[i])
		if r.patterns != nil {
			if len(r.patterns[0]) == r.depth {
				r.patterns = r.patterns[1:]
			}
			if len(r.patterns) == 0 {
				return
			}
			if r.patterns = narrow(r.patterns, r.depth, c); len(r.patterns) == 0 {
				return
			}
			r.depth++
			continue
		}
		runs, ok := m.begin(&r, c)
		if !ok {
			return
		}
		for _, run := range runs {
			r.patterns = run
			m.read(r, bytes[i+1:], to)
		}
		if runs != nil {
			return
		}
	}
	r.at = to
	m.push(r)
}

// escape reads an escaped character.
func (m *matcher) escape(r reading, c byte) {
	if kind[c] == 0 && c != '+' {
		return
	}
	m.budget -= costOfEscape
	more := escapes(m.text[r.at:], func(e escape) {
		if !space(e.is[0]) || c == '+' { // otherwise it is a gap
			m.read(r, e.is, r.at+e.takes)
		}
	})
	if more && (kind[c] == special || m.reads(r, c)) {
		m.more = true
	}
}

// reads reports whether r continues with c.
func (m *matcher) reads(r reading, c byte) bool {
	c = m.fold(c)
	if r.patterns != nil {
		return len(narrow(r.patterns, r.depth, c)) > 0
	}
	_, ok := m.begin(&r, c)
	return ok
}

// separator reads what may stand between hexadecimal digits, besides white space.
func (m *matcher) separator(r reading, c byte) {
	if r.depth == 0 || r.depth%2 != 0 {
		return
	}
	r.wrapped = true
	if c != ' ' && strings.IndexByte(separators, c) >= 0 {
		r.at++
		m.push(r)
		return
	}
	if c != '0' {
		return
	}
	if r.at+1 == len(m.text) {
		m.more = true
	} else if m.text[r.at+1]|0x20 == 'x' {
		r.at += 2
		m.push(r)
	}
}

// gap reads on behind white space and control sequences.
func (m *matcher) gap(r reading, c byte) {
	if kind[c] != special && c != ' ' {
		return
	}
	mayWrap := r.depth >= 4 || wordBefore(m.text, r.at, m.word) >= longestWord
	if !m.reads(r, ' ') && !r.blank && !mayWrap && space(c) && (!m.digits || r.depth%2 != 0) {
		return
	}
	m.budget -= costOfEscape
	n := len(m.readings)
	m.read(r, " ", r.at)
	across := slices.Clip(slices.Clone(m.readings[n:]))
	m.readings = m.readings[:n]
	if r.blank {
		across = append(across, r)
	}
	wrapped := r
	wrapped.wrapped = true
	blank, breaks := across, across
	if m.digits && r.depth%2 == 0 {
		blank = append(blank, wrapped)
	}
	if mayWrap {
		breaks = append(breaks, wrapped)
	}
	if gaps(m.text[r.at:], func(g gap) {
		to := r.at + g.takes
		switch {
		case !g.blank:
			r := r
			r.at = to
			m.push(r)
		case !g.breaks:
			for _, next := range blank {
				next.at = to
				m.push(next)
			}
		case len(breaks) > 0:
			m.resume(breaks, to)
		}
	}) {
		m.more = true
	}
}

// resume reads on in another line. The first place with a match is the right one.
func (m *matcher) resume(readings []reading, from int) {
	m.budget -= costOfLine
	others, matches := len(m.readings), m.matches
	if resume(m.text[from:], func(at int, weak bool) bool {
		for _, next := range readings {
			next.at = from + at
			if !weak || m.likely(next) {
				m.push(next)
			}
		}
		m.finish(others)
		return m.matches == matches
	}) {
		m.more = true
	}
}

// likely reports whether the next four bytes of the text are as a pattern has them.
func (m *matcher) likely(r reading) bool {
	const enough = 4
	if r.patterns == nil {
		return false
	}
	for i := range enough {
		if len(r.patterns[0]) == r.depth {
			if r.patterns = r.patterns[1:]; len(r.patterns) == 0 {
				return false
			}
		}
		if r.at+i == len(m.text) {
			m.more = true
			return false
		}
		if r.patterns = narrow(r.patterns, r.depth, m.fold(m.text[r.at+i])); len(r.patterns) == 0 {
			return false
		}
		r.depth++
	}
	return true
}

// wordBefore returns how many bytes without white space end at a position of text, if the text itself begins after so
// many.
func wordBefore(text []byte, at, before int) int {
	n := 0
	for ; n < longestWord && n < at; n++ {
		if space(text[at-1-n]) {
			return n
		}
	}
	if n == at {
		n += before
	}
	return min(n, longestWord)
}
