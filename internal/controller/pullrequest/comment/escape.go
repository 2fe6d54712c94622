package comment

import (
	"fmt"
	"html"
	"strings"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine/plan"
)

// Maximum lengths of one name in a code span, and of one line in a block.
const (
	widest  = 320
	longest = 2000
)

// backticks returns a run of backticks that is longer than any in the text, and at least as long as least.
func backticks(text string, least int) string {
	run := 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		least = max(least, run+1)
	}
	return strings.Repeat("`", least)
}

// span writes text as a code span.
func span(s string) string {
	s = shorten.Characters(plan.Escape(s), widest)
	fence := backticks(s, 1)
	if s == "" || len(fence) > 1 || s[0] == ' ' || s[len(s)-1] == ' ' || s[0] == '`' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// cell writes text as a code span of a table, where a pipe ends the cell, even in code, and a backslash may escape it.
func cell(s string) string { return span(strings.NewReplacer("|", "¦", `\`, "⧵").Replace(s)) }

// element writes text as an HTML element with code.
func element(s string) string {
	return "<code>" + html.EscapeString(shorten.Characters(plan.Escape(s), widest)) + "</code>"
}

// link writes a link. What it shows is Markdown already. Without an address of HTTP there is no link.
func link(shown, address string) string {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || len(address) > 2048 {
		return shown
	}
	return "[" + shown + "](" + escaped(address, "-._~:/?#=&%+,;") + ")"
}

// escaped writes every byte as %XX but for letters, digits and the ones that are allowed.
func escaped(s, allowed string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(allowed, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// line writes a line of a code block. No line begins with a slash: GitLab executes such lines as quick actions, and its
// search for code blocks knows fences of three backticks only.
func line(s string) string {
	s = strings.ReplaceAll(strings.TrimSuffix(shorten.Characters(s, longest), "\r"), "\t", "  ")
	s = shorten.Characters(plan.Escape(s), longest)
	if strings.HasPrefix(s, "/") {
		return " " + s
	}
	return s
}

// diff moves the symbol of a change to the begin of a line of internal/engine/plan, where a block of the language
// diff has it.
func diff(s string) string {
	if strings.HasPrefix(s, "+/- ") { // not in the color of what is created
		return "-/+ " + s[4:]
	}
	for _, column := range []int{2, 6, 10} {
		if len(s) < column+2 || strings.Trim(s[:column], " ") != "" || s[column+1] != ' ' {
			continue
		}
		switch s[column] {
		case '+', '-':
			return s[column:column+1] + s[:column] + s[column+1:]
		case '~':
			return "!" + s[:column] + s[column+1:]
		}
	}
	return s
}

// size is the length of text as the strictest provider counts it: in UTF-16.
func size(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}
