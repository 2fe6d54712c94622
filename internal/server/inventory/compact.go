package inventory

import (
	"encoding/binary"
	"slices"
	"strings"
	"unique"

	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/userapi"
)

// compact is an index in memory. Of each instance it has how many bytes its address shares with the one before, and the
// other bytes.
type compact struct {
	sha256 string
	// providers are interned: most states have the same ones.
	providers []string
	text      string
	// addresses is how many bytes all addresses have.
	addresses int
	omitted   bool
}

// Flags of an instance.
const (
	tainted = 1 << iota
	deposed
)

func pack(index document.Index) *compact {
	c := &compact{sha256: index.SHA256, omitted: index.Omitted > 0}
	var text []byte
	before := ""
	for _, r := range index.Resources {
		provider := slices.Index(c.providers, r.Provider)
		if provider < 0 {
			provider = len(c.providers)
			c.providers = append(c.providers, unique.Make(r.Provider).Value())
		}
		for _, i := range r.Instances {
			address := r.Address(i)
			shared := sharedPrefix(before, address)
			flags := 0
			if i.Tainted {
				flags |= tainted
			}
			if i.Deposed != "" {
				flags |= deposed
			}
			for _, n := range []int{flags, provider, len(r.Module), len(r.Type), shared} {
				text = binary.AppendUvarint(text, uint64(n))
			}
			text = appendText(text, address[shared:])
			if i.Deposed != "" {
				text = appendText(text, i.Deposed)
			}
			c.addresses += len(address)
			before = address
		}
	}
	c.text = string(text)
	return c
}

// rows calls yield for each instance, with a row that is valid until the next one. It returns false if yield does.
func (c *compact) rows(namespace, stack string, yield func(*userapi.Resource) bool) bool {
	row := userapi.Resource{Namespace: namespace, Stack: stack}
	var all strings.Builder // it never moves, so that addresses are parts of it
	all.Grow(c.addresses)
	for text := c.text; text != ""; {
		var flags, provider, module, kind, shared int
		for _, n := range []*int{&flags, &provider, &module, &kind, &shared} {
			*n, text = cutNumber(text)
		}
		before := row.Address
		begin := all.Len()
		all.WriteString(before[:shared])
		var rest string
		rest, text = cutText(text)
		all.WriteString(rest)
		row.Address = all.String()[begin:]
		row.Module = row.Address[:module]
		row.Type = strings.TrimPrefix(row.Address[module:], ".")[:kind]
		row.Provider = c.providers[provider]
		row.Tainted = flags&tainted != 0
		row.Deposed = ""
		if flags&deposed != 0 {
			row.Deposed, text = cutText(text)
		}
		if !yield(&row) {
			return false
		}
	}
	return true
}

// size is what an index takes in memory; nothing for none.
func (c *compact) size() int {
	if c == nil {
		return 0
	}
	return perState + len(c.text) + 16*len(c.providers)
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func cutText(from string) (text, rest string) {
	n, rest := cutNumber(from)
	return rest[:n], rest[n:]
}

// cutNumber is binary.Uvarint for a string.
func cutNumber(from string) (n int, rest string) {
	for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
		n |= int(from[i]&0x7f) << shift
		if from[i] < 0x80 {
			return n, from[i+1:]
		}
	}
}
