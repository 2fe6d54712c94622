// Package tutorials runs the commands of pages of the documentation against a real `cairn dev`, and compares their
// output with that of the page.
//
// A page marks its fenced blocks in the info string, after the language:
//
//	sh test          a command of the reader, which the test runs. It has to succeed; `exit=1` is for one that does not.
//	answer=yes       beside test: the command asks the reader at a terminal, who enters yes. The test has no terminal, and adds --yes.
//	sh test=retry    a command that only reads. The test repeats it until it prints what the page has.
//	sh test=no       a command that cannot run here, such as helm. The next line of the page has the note "Not run in our tests".
//	text output      the output of the command above. A command without this block prints nothing.
//	yaml file=NAME   a file that the reader creates, of any language.
//
// An HTML comment that begins with a line `<!-- test` has lines of testscript, for what the test does in place of a
// command that it cannot run.
//
// In an output, `...` stands for any text of a line, and a line `...` for any number of lines. Ages and durations are
// all equal, and columns can have any width. Commands keep the working directory and exported variables of those above.
package tutorials

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Notice is the note of a page below a block that the test does not run.
const Notice = "Not run in our tests"

// step is a marked block of a page.
type step struct {
	line   int
	kind   kind
	text   string // a command, or the content of a file
	name   string // of the file
	exit   string // exit code that a command ends with
	answer bool   // the reader answers the question of the command
	output string
}

type kind int

const (
	run kind = iota
	retry
	file
	script // lines of testscript
	skipped
)

// page is what the test does for a page.
type page struct {
	path  string
	steps []step
}

// block is a fenced block, or an HTML comment.
type block struct {
	line, end int
	info      string
	text      string
}

// comment is the info of an HTML comment.
const comment = "<!-- test"

// parse reads the marked blocks of a page. A page without a command that the test runs is an error.
func parse(path string) (page, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return page{}, err
	}
	p := page{path: path}
	lines := strings.Split(string(data), "\n")
	commands := 0
	var last *step // the command whose output may follow
	for _, b := range blocks(lines) {
		s, isStep, err := parseBlock(b, last, lines)
		if err != nil {
			return page{}, fmt.Errorf("%s:%d: %w", path, b.line, err)
		}
		last = nil
		if !isStep {
			continue
		}
		p.steps = append(p.steps, s)
		if s.kind == run || s.kind == retry {
			commands++
			last = &p.steps[len(p.steps)-1]
		}
	}
	if commands == 0 {
		return page{}, fmt.Errorf("%s: no block is marked with test: the test would run nothing", path)
	}
	return p, nil
}

// parseBlock returns the step of a block. The output of the last command is no step of its own, and becomes part of
// that.
func parseBlock(b block, last *step, lines []string) (s step, isStep bool, err error) {
	s = step{line: b.line, text: b.text}
	if b.info == comment {
		s.kind = script
		return s, true, nil
	}
	words := strings.Fields(b.info)
	for _, word := range words[min(1, len(words)):] {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case word == "test":
			s.kind, isStep = run, true
		case word == "test=retry":
			s.kind, isStep = retry, true
		case word == "test=no":
			s.kind, isStep = skipped, true
			if !strings.Contains(next(lines, b.end), Notice) {
				return s, false, fmt.Errorf("the line after a block with test=no has no note %q", Notice)
			}
		case word == "answer=yes":
			s.answer = true
		case name == "exit" && value != "":
			s.exit = value
		case name == "file" && value != "":
			s.kind, s.name, isStep = file, value, true
		case word == "output" && last == nil:
			return s, false, fmt.Errorf("the block above this output is no command that the test runs")
		case word == "output" && strings.TrimSpace(b.text) == "":
			return s, false, fmt.Errorf("an output has no text")
		case word == "output":
			last.output = b.text
		default:
			return s, false, fmt.Errorf("%q is no marker of a block", word)
		}
	}
	return s, isStep, nil
}

// next is the first line after a block that is not empty.
func next(lines []string, end int) string {
	for _, line := range lines[min(end, len(lines)):] {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// blocks returns the fenced blocks of a page and the HTML comments for the test. Blocks of a list are indented.
func blocks(lines []string) (all []block) {
	for i := 0; i < len(lines); i++ {
		first := strings.TrimLeft(lines[i], " ")
		indent := strings.Repeat(" ", len(lines[i])-len(first))
		info, fenced := strings.CutPrefix(first, "```")
		end := "```"
		if !fenced {
			if first != comment {
				continue
			}
			info, end = comment, "-->"
		}
		b := block{line: i + 1, info: strings.TrimSpace(info)}
		var text strings.Builder
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != end; i++ {
			text.WriteString(strings.TrimPrefix(lines[i], indent) + "\n")
		}
		b.text, b.end = text.String(), i+1
		all = append(all, b)
	}
	return all
}

// testscript is the script of a page. Its commands step are those of the parameters that runs it.
func (p page) testscript() string {
	var text strings.Builder
	for i, s := range p.steps {
		switch s.kind {
		case skipped:
		case script:
			fmt.Fprintf(&text, "# %s:%d\n%s", filepath.Base(p.path), s.line, s.text)
		default:
			title, _, _ := strings.Cut(s.text, "\n")
			if s.kind == file {
				title = s.name
			}
			fmt.Fprintf(&text, "# %s:%d: %s\nstep %d\n", filepath.Base(p.path), s.line, title, i)
		}
	}
	return text.String()
}

// question is a command that asks the reader at a terminal.
var question = regexp.MustCompile(`(?m)^cairn .*\b(approve|reject) .*$`)

// command is what the test runs of a step.
func (s step) command() string {
	if !s.answer {
		return s.text
	}
	return question.ReplaceAllString(s.text, "$0 --yes")
}

// duration is an age, or how long something took.
var duration = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h|d))+\b`)

// commit is the ID of a commit, as git and Cairn shorten it.
var commit = regexp.MustCompile(`\b[0-9a-f]{7}([0-9a-f]{5}([0-9a-f]{28})?)?\b`)

// columns is the space between columns of a table.
var columns = regexp.MustCompile(`(\S)  +`)

// normal replaces what may differ between two outputs that are equal.
func normal(output string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(output)) {
		line = strings.TrimRight(line, " \n")
		line = commit.ReplaceAllString(duration.ReplaceAllString(line, "1s"), "0000000")
		lines = append(lines, columns.ReplaceAllString(line, "$1 "))
	}
	return strings.Join(lines, "\n")
}

// matches returns whether a command printed what a page has.
func matches(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for line := range strings.Lines(normal(want)) {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?s:.*)`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`))
	}
	pattern.WriteString(`\n?$`)
	return regexp.MustCompile(pattern.String()).MatchString(normal(got) + "\n") // also if ... stands for no line
}
