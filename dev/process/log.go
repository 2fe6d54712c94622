package process

import (
	"io"
	"os"
	"strings"
)

// LastLine of a log: most often what the end was about.
func LastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "no log"
	}
	defer func() { _ = f.Close() }()
	const enough = 4 << 10
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, end-enough), io.SeekStart)
	}
	tail, _ := io.ReadAll(io.LimitReader(f, enough))
	lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
