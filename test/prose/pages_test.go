package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	longestLine = 120
	longestPage = 1500
)

// unbreakable is a part of a line without a place for a line break: a link or a code span.
var unbreakable = regexp.MustCompile("!?\\[[^\\]\\n]*\\]\\([^)\\n]*\\)|`[^`\\n]+`")

// marker is the beginning of a line before its text.
var marker = regexp.MustCompile(`^\s*(?:(?:[-*>]|\d+\.)\s+)*`)

// longLines returns the numbers of the lines of prose that are too long. Tables, blocks of code, comments, and lines
// that can be broken nowhere are not among them.
func longLines(page string) (numbers []int) {
	number, fenced, comment := 0, false, false
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\n")
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(text, "<!--") {
			comment = true
		}
		hidden := fenced || comment
		comment = comment && !strings.Contains(text, "-->")
		if hidden || strings.HasPrefix(text, "|") || strings.HasPrefix(line, "    ") ||
			utf8.RuneCountInString(line) <= longestLine {
			continue
		}
		words := unbreakable.ReplaceAllStringFunc(line[len(marker.FindString(line)):], func(part string) string {
			return strings.ReplaceAll(part, " ", "_")
		})
		if strings.Contains(words, " ") {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// TestPagesAreShort checks the length of lines of all pages, and the number of words of those that are read as a whole.
func TestPagesAreShort(t *testing.T) {
	root := "../.."
	pages, err := filepath.Glob(root + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root+"/docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil || len(pages) < 50 {
		t.Fatal(pages, err)
	}
	for _, file := range pages {
		name, _ := filepath.Rel(root, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if long := longLines(string(text)); len(long) > 0 {
			t.Errorf("%s: lines of more than %d columns: %v", name, longestLine, long)
		}
		if strings.HasPrefix(name, "docs/reference/") || strings.HasPrefix(name, "docs/contributing/decisions/") {
			continue
		}
		if n := len(strings.Fields(string(text))); n > longestPage {
			t.Errorf("%s: %d words, and %d are the most: split the page", name, n, longestPage)
		}
	}
}

func TestLongLines(t *testing.T) {
	word := strings.Repeat("word ", 30)
	for text, want := range map[string]int{
		word:                                     1,
		"- " + word:                              1,
		"   " + word:                             1,
		"| " + word + "|":                        0,
		"    " + word:                            0,
		"```\n" + word + "\n```":                 0,
		"- [" + word + "](x.md)":                 0,
		"2. `" + word + "`":                      0,
		"text [" + word + "](x.md)":              1,
		strings.Repeat("é", longestLine):         0,
		"<!-- a\n" + word + "\n-->\n" + word:     1,
		"```\n```\n" + word:                      1,
		"https://" + strings.Repeat("a/", 100):   0,
		"short\n" + strings.TrimSpace("a line "): 0,
	} {
		if got := longLines(text); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
