package plan

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Codes for a terminal.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

// marks are the beginnings of lines that are colored, without the blanks before them. Longer ones come first.
var marks = []struct{ begin, color string }{
	{"-/+ ", red}, {"+/- ", red}, {"<= ", cyan}, {"+ ", green}, {"- ", red}, {"~ ", yellow}, {". ", red},
}

// headings are the beginnings of lines that are bold as a whole.
var headings = []string{"# ", "Plan: ", "No changes.", "Changes to Outputs:", "Changes to outputs:", "Error: ", "Warning: "}

// Colorize writes the engine's own text of a plan, colored by its symbols. Control characters in it are escaped, so
// that all codes in the result are ours.
func Colorize(w io.Writer, text io.Reader) error {
	in, out := bufio.NewReader(text), bufio.NewWriter(w)
	for {
		// The symbol is near the beginning of a line. Peek returns less at the end.
		start, err := in.Peek(200)
		if len(start) == 0 {
			if flush := out.Flush(); flush != nil || errors.Is(err, io.EOF) {
				return flush
			}
			return err
		}
		line, _, _ := strings.Cut(string(start), "\n")
		symbol := strings.TrimLeft(line, " │╷╵")
		blank := len(line) - len(symbol)
		code, end := colors(symbol)
		if err := copyLine(in, out, blank, code, end); err != nil {
			return errors.Join(err, out.Flush())
		}
	}
}

// colors returns the code for a line that begins so, and how many bytes of it are colored; -1 is all.
func colors(line string) (code string, n int) {
	for _, m := range marks {
		if strings.HasPrefix(line, m.begin) {
			return m.color, len(m.begin) - 1
		}
	}
	for _, h := range headings {
		if strings.HasPrefix(line, h) {
			return bold, -1
		}
	}
	return "", 0
}

// copyLine writes one line, which may be of any length.
func copyLine(in *bufio.Reader, out *bufio.Writer, blank int, code string, colored int) error {
	for at := 0; ; {
		r, n, err := in.ReadRune()
		end := errors.Is(err, io.EOF) || r == '\n' && err == nil
		if code != "" && (end && colored < 0 || at == blank+colored && at > blank) {
			_, _ = out.WriteString(reset) // the last write returns the error
			code = ""
		}
		switch {
		case end:
			if err == nil {
				return out.WriteByte('\n')
			}
			return nil
		case err != nil:
			return err
		}
		if code != "" && at == blank {
			_, _ = out.WriteString(code)
		}
		at += n
		raw := string(r)
		if r == '\t' {
			_, err = out.WriteString(raw)
		} else {
			_, err = out.WriteString(escapeRune(r, raw))
		}
		if err != nil {
			return err
		}
	}
}
