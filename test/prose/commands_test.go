package main

import (
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli"
)

var (
	// commandInText is a command in a text, with its first argument. Prose after the name of the program is not: see notCommands. Nor
	// is /cairn, which begins a command in a comment of a pull request.
	commandInText = regexp.MustCompile(`(?:^|[^/\w])cairn ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?`)
	// commandInMarkdown is one in a code span or at the start of a line of code.
	commandInMarkdown = regexp.MustCompile("(?m)(?:`| {4}|\\| )(?:kubectl )?cairn ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
	// notCommands follow "cairn" where it names an object or the program, or is part of a purpose string of a key.
	notCommands = []string{"does", "of", "or", "session", "sign-in"}
)

// TestCommandsInTextsExist checks the commands in messages, notes, help texts and pages of the documentation.
func TestCommandsInTextsExist(t *testing.T) {
	cmd := cli.Command()
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd()
	all := map[string]bool{}
	var collect func(*cobra.Command)
	collect = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			all[sub.Name()] = true
			collect(sub)
		}
	}
	collect(cmd)
	exists := func(words []string) bool {
		at, rest, err := cmd.Find(words)
		if err != nil || at == cmd || len(rest) == 0 {
			return err == nil && at != cmd
		}
		return !at.HasSubCommands() && !all[rest[0]] // the name of another command is no name of a Stack here
	}
	seen := 0
	check := func(where string, found [][]string) {
		for _, m := range found {
			words := slices.DeleteFunc(m[1:], func(word string) bool { return word == "" })
			if slices.Contains(notCommands, words[0]) {
				continue
			}
			if seen++; !exists(words) {
				t.Errorf("%s names %q, which is not a command", where, m[0])
			}
		}
	}
	for _, p := range program(t) {
		for _, file := range p.Syntax {
			textsOf(p.TypesInfo, file, func(at token.Pos, text string) {
				check(p.Fset.Position(at).String(), commandInText.FindAllStringSubmatch(text, -1))
			})
		}
	}
	for _, folder := range []string{"api", "charts", "cmd", "docs", "internal", "migrate"} {
		err := filepath.WalkDir("../../"+folder, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err == nil && entry.Name() == "node_modules":
				return filepath.SkipDir
			case err != nil:
			case strings.HasSuffix(file, ".md"), strings.HasSuffix(file, "NOTES.txt"):
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				check(file, commandInMarkdown.FindAllStringSubmatch(string(text), -1))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands were found in texts", seen)
	}
}
