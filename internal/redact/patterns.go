package redact

import (
	"encoding/binary"
	"strings"
)

// widest is how much white space in a text may stand for white space in a secret: line breaks and indentation.
const widest = 128

// patterns are texts to find, all at once. One bit excludes most positions of a text as the beginning of a pattern;
// only the others are compared.
//
// White space in a pattern matches any white space in the text, because the engine wraps and indents what it
// prints.
type patterns struct {
	// known are all of them.
	known map[string]bool
	// filter has a bit set for the hash of each head.
	filter [1 << 16 / 64]uint64
	// heads are patterns by their first four bytes, none of which is white space.
	heads map[uint32]*bucket
	// starts are the first one, two and three bytes of the patterns in heads.
	starts map[string]bool
	// loose are the other patterns, by their first byte.
	loose [256][]string
}

func newPatterns() patterns {
	return patterns{known: map[string]bool{}, heads: map[uint32]*bucket{}, starts: map[string]bool{}}
}

// add a text to be found. One that is too short to be hidden is left out.
func (p *patterns) add(text string) {
	text = normal(text)
	if len(text) < shortest || p.known[text] {
		return
	}
	p.known[text] = true
	if strings.Contains(text[:4], " ") {
		p.loose[text[0]] = append(p.loose[text[0]], text)
		return
	}
	head := binary.LittleEndian.Uint32([]byte(text))
	if p.heads[head] == nil {
		p.heads[head] = &bucket{}
	}
	p.heads[head].add(text)
	h := hash(head)
	p.filter[h>>6] |= 1 << (h & 63)
	p.starts[text[:1]], p.starts[text[:2]], p.starts[text[:3]] = true, true, true
}

// normal returns a text with one blank for white space within it and none around it.
func normal(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && space(byte(r)) }), " ")
}

// scan appends text to out with each find replaced by Mask; finds that overlap become one. The first covered bytes of
// text are part of a find that was replaced already. Unless final, text from held on is left for later, because a find
// may begin there; covered is how much of that is part of a find.
func (p *patterns) scan(out, text []byte, covered int, final bool) (_ []byte, held, _ int) {
	done, end := covered, covered // text before done is in out; text before end is hidden
	for held = 0; held < len(text); held++ {
		if !p.candidate(text[held:]) {
			continue
		}
		n, more := p.match(text[held:])
		if n > 0 {
			if held >= end {
				out = append(append(out, text[done:held]...), Mask...)
			}
			end = max(end, held+n)
			done = end
		}
		if more && !final {
			break
		}
	}
	if done < held {
		out = append(out, text[done:held]...)
	}
	return out, held, max(0, end-held)
}

// candidate is a quick look at whether a pattern may begin where text does.
func (p *patterns) candidate(text []byte) bool {
	if len(text) < 4 {
		return p.starts[string(text)] || p.loose[text[0]] != nil
	}
	h := hash(binary.LittleEndian.Uint32(text))
	return p.filter[h>>6]>>(h&63)&1 != 0 || p.loose[text[0]] != nil
}

// match returns the length of the longest pattern that text begins with, and whether a pattern continues past its
// end.
func (p *patterns) match(text []byte) (longest int, more bool) {
	try := func(list []string) {
		for _, pattern := range list {
			n, on := compare(pattern, text)
			longest, more = max(longest, n), more || on
		}
	}
	try(p.loose[text[0]])
	if len(text) < 4 {
		return longest, more || p.starts[string(text)]
	}
	if b := p.heads[binary.LittleEndian.Uint32(text)]; b != nil {
		try(b.few)
		n, on := b.find(text)
		longest, more = max(longest, n), more || on
	}
	return longest, more
}

// compare returns how much of text the pattern takes up, or whether text ends before that is known.
func compare(pattern string, text []byte) (n int, more bool) {
	for i := range len(pattern) {
		switch {
		case n == len(text):
			return 0, true
		case pattern[i] != ' ':
			if text[n] != pattern[i] {
				return 0, false
			}
			n++
		default:
			from := n
			for n < len(text) && space(text[n]) {
				n++
			}
			if n == from || n-from > widest {
				return 0, false
			}
		}
	}
	return n, false
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func hash(head uint32) uint32 { return head * 0x9E3779B1 >> 16 }
