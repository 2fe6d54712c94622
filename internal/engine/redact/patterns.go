package redact

import (
	"encoding/binary"
	"strings"
)

// patterns are texts to match, all at once. One bit excludes most positions of a text as the beginning of a match; only
// at the others the text is read as a secret, with its escapes and breaks.
type patterns struct {
	// texts are the patterns of values, encoded those of encodings, which may be in several lines.
	texts, encoded index
	// filter has a bit set for the hash of each head as it may be in a text, if there is no special byte in it.
	filter []uint64
	// shift reduces a hash to the size of the filter.
	shift uint
}

// An index has patterns by their first four bytes, their head.
type index struct {
	heads map[uint32]*bucket
	// starts has the first byte of each pattern, pairs the first two, triples the hash of the first three.
	starts         [1 << 8 / 64]uint64
	pairs, triples [1 << 16 / 64]uint64
}

func newPatterns() patterns {
	return patterns{
		texts: index{heads: map[uint32]*bucket{}}, encoded: index{heads: map[uint32]*bucket{}},
		filter: make([]uint64, 1<<16/64), shift: 32 - 16,
	}
}

// add adds a text, or an encoded one. One that is too short to be hidden is ignored.
func (p *patterns) add(text string, encoded bool) {
	text = normal(text)
	if len(text) < shortest {
		return
	}
	to := &p.texts
	if encoded {
		to = &p.encoded
	}
	head := binary.LittleEndian.Uint32([]byte(text))
	b := to.heads[head]
	if b == nil {
		b = &bucket{}
		to.heads[head] = b
		to.start(head)
		p.see(head, encoded)
	}
	b.add(text)
}

func (x *index) start(head uint32) {
	set(x.starts[:], head&0xff)
	set(x.pairs[:], head&0xffff)
	set(x.triples[:], hash(head&0xffffff)>>16)
}

// begins reports whether a pattern may begin with these bytes, at most three.
func (x *index) begins(head uint32, n int) bool {
	switch n {
	case 1:
		return get(x.starts[:], head)
	case 2:
		return get(x.pairs[:], head)
	}
	return get(x.triples[:], hash(head)>>16)
}

// see adds a head to the filter, which is enlarged when it is a sixteenth full.
func (p *patterns) see(head uint32, encoded bool) {
	if most := len(p.filter) * 64 / 16; len(p.texts.heads)+3*len(p.encoded.heads) > most && p.shift > 32-22 {
		p.shift -= 2
		p.filter = make([]uint64, 4*len(p.filter))
		for head := range p.texts.heads {
			p.mark(head, false)
		}
		for head := range p.encoded.heads {
			p.mark(head, true)
		}
	}
	p.mark(head, encoded)
}

// mark sets the bits of a head in each way that it may be in a text without a special byte.
func (p *patterns) mark(head uint32, encoded bool) {
	one := func(text string) { set(p.filter, hash(binary.LittleEndian.Uint32([]byte(text)))>>p.shift) }
	text := string(binary.LittleEndian.AppendUint32(nil, head))
	one(text)
	if encoded { // two digits and two others
		one(text[:2] + " " + text[2:3])
		one(text[:2] + ":" + text[2:3])
		return
	}
	one(strings.ReplaceAll(text, " ", "+"))
}

// normal returns a text with one blank for white space within it and none around it.
func normal(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && space(byte(r)) }), " ")
}

// kind is what a byte may be besides itself, at the beginning of a pattern.
var kind = func() (kinds [256]byte) {
	for _, c := range "%&\\\t\n\r" {
		kinds[c] = special
	}
	for _, c := range "$'\" " {
		kinds[c] = doubled
	}
	return kinds
}()

const (
	// special bytes begin an escape, or are white space besides a blank.
	special = iota + 1
	// doubled bytes do so when there are two.
	doubled
)

// isSpecial reports whether an escape or white space may begin at a position of text, other than a single blank.
func isSpecial(text []byte, at int) bool {
	switch kind[text[at]] {
	case special:
		return true
	case doubled:
		return at+1 == len(text) || text[at+1] == text[at] || text[at] == '\'' && text[at+1] == '"'
	}
	return false
}

// scan appends text to out with each match replaced by Mask; matches that overlap become one. The first covered bytes
// of text are part of a match that was replaced already. Unless final, text from held on is left for later, because a
// match may begin there; covered is how much of that is part of a match. found is
// called with what each Mask replaces; nil for none.
func (p *patterns) scan(
	out, text []byte, covered int, final bool, found func(match []byte),
) (_ []byte, held, _ int) {
	start := covered              // of the match that ends at end
	done, end := covered, covered // text before done is in out; text before end is hidden
	m := matcher{text: text, budget: 4096 + 32*len(text)}
	for plain := 0; held < len(text); held++ {
		plain = max(plain, held) // no byte from held on and before plain is special
		for plain < min(held+4, len(text)) && !isSpecial(text, plain) {
			plain++
		}
		if plain-held >= 4 {
			if held, plain = p.skip(text, held); plain-held < 4 {
				held--
				continue
			}
		} else if space(text[held]) {
			continue
		}
		n, more := p.match(&m, held)
		if n > 0 {
			if held >= end {
				if found != nil && start < end {
					found(text[start:end])
				}
				start = held
				out = append(append(out, text[done:held]...), Mask...)
			}
			end = max(end, held+n)
			done = end
		}
		if more && !final {
			break
		}
	}
	if found != nil && start < end {
		found(text[start:end])
	}
	if done < held {
		out = append(out, text[done:held]...)
	}
	return out, held, max(0, end-held)
}

// skip returns the first position from which a pattern may begin, or with less than four bytes before the next special
// one; plain is the end of those that are not. The first four are not.
func (p *patterns) skip(text []byte, from int) (at, plain int) {
	filter, shift := p.filter, p.shift
	head := binary.LittleEndian.Uint32(text[from:])
	for plain = from + 4; ; plain++ {
		h := hash(head) >> shift
		if filter[h>>6]>>(h&63)&1 != 0 {
			return plain - 4, plain
		}
		if plain == len(text) {
			return plain - 3, plain
		}
		c := text[plain]
		if kind[c] != 0 && isSpecial(text, plain) {
			return plain - 3, plain
		}
		head = head>>8 | uint32(c)<<24
	}
}

// match returns the length of the longest match at a position, and whether one may continue past the end of the text.
func (p *patterns) match(m *matcher, from int) (longest int, more bool) {
	longest, more = m.match(&p.texts, false, from)
	n, on := m.match(&p.encoded, true, from)
	return max(longest, n), more || on
}

func hash(head uint32) uint32 { return head * 0x9E3779B1 }

func set(bits []uint64, n uint32)      { bits[n>>6] |= 1 << (n & 63) }
func get(bits []uint64, n uint32) bool { return bits[n>>6]>>(n&63)&1 != 0 }
