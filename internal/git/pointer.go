package git

import (
	"strconv"
	"strings"
)

// mostPointer is how large a pointer may be, by LFS's specification.
const mostPointer = 1024

// pointer is what git has in place of a file that is in LFS.
type pointer struct {
	oid  string // sha256, in hex
	size int64
}

// parsePointer reads a pointer. Any other content is none.
func parsePointer(data []byte) (pointer, bool) {
	text, ok := strings.CutPrefix(string(data), "version https://git-lfs.github.com/spec/v1\n")
	if !ok || len(data) >= mostPointer {
		return pointer{}, false
	}
	p := pointer{size: -1}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "oid":
			p.oid, _ = strings.CutPrefix(value, "sha256:")
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return pointer{}, false
			}
			p.size = n
		}
	}
	return p, len(p.oid) == 64 && isID(p.oid) && p.size >= 0
}
