package main

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// unbroken is what has no place to break: a marker of a generator or a linter, and a table in a comment.
var unbroken = regexp.MustCompile(`^\s*//\s?(\+|go:)|//nolint:|^\s*//\s?\t`)

// TestLinesOfCodeAreShort checks that no line of Go has more than 120 columns, with four for a tab. Texts in backquotes
// have their own lines.
func TestLinesOfCodeAreShort(t *testing.T) {
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "*.go")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil || strings.Contains(name, "zz_generated") {
			continue // it was deleted, or nobody reads it
		}
		raw := linesOfTexts(text)
		for i, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if columns > longestLine && !raw[i] && !unbroken.MatchString(line) {
				t.Errorf("%s:%d: %d columns, and %d are the most", name, i+1, columns, longestLine)
			}
		}
	}
}

// linesOfTexts returns the lines, from 0, on which there is a part of a text in backquotes.
func linesOfTexts(text []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	raw := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return raw
		case kind == token.STRING && literal[0] == '`':
			for i := range strings.Count(literal, "\n") + 1 {
				raw[file.Line(at)-1+i] = true
			}
		}
	}
}
