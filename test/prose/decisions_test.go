package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// decisionNote is the head of a decision note: number, title, status and date.
var decisionNote = regexp.MustCompile(
	`\A# ([0-9]+)\. (.+)\n\n\*\*Status\*\*: ((?:accepted|proposed|replaced by \[decision [0-9]+\]\([^)]*\)), ([0-9-]{10})\.)`)

// TestDecisionsAreListed checks that each decision note has a number, a status and a date, and that the index has
// exactly the notes.
func TestDecisionsAreListed(t *testing.T) {
	const folder = "../../docs/contributing/decisions"
	index, err := os.ReadFile(filepath.Join(folder, "index.md"))
	if err != nil {
		t.Fatal(err)
	}
	notes, err := filepath.Glob(filepath.Join(folder, "0*.md"))
	if err != nil || len(notes) == 0 {
		t.Fatal(notes, err)
	}
	for _, note := range notes {
		text, err := os.ReadFile(note)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(note)
		head := decisionNote.FindStringSubmatch(string(text))
		if head == nil {
			t.Errorf("%s does not begin with its number, title, status and date", name)
			continue
		}
		status, _, _ := strings.Cut(head[3], ",")
		row := fmt.Sprintf("| %s | [%s](%s) | %s | %s |", head[1], head[2], name, status, head[4])
		if !strings.HasPrefix(name, fmt.Sprintf("%04s-", head[1])) || !strings.Contains(string(index), row+"\n") {
			t.Errorf("the index lacks the row %s", row)
		}
	}
	if rows := strings.Count(string(index), "](0"); rows != len(notes) {
		t.Errorf("the index has %d rows for %d notes", rows, len(notes))
	}
}
