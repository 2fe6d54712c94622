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
	// commandInText is a command in a text, with its first argument. Prose after the name of the program is not: see
	// notCommands. Nor is /cairn, which begins a command in a comment of a pull request.
	commandInText = regexp.MustCompile(`(?:^|[^/\w])cairn ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?`)
	// commandInMarkdown is one in a code span or at the start of a line of code.
	commandInMarkdown = regexp.MustCompile("(?m)(?:`| {4}|\\| )(?:kubectl )?cairn ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
	// commandLine is a command in a text up to its end, as far as that shows: the end of a code span, of a line, or of
	// a command of the shell.
	commandLine = regexp.MustCompile("(?:^|[^/\\w])cairn ((?:[a-z][a-z-]*)(?: [^`\n|;&#<>()]+)?)")
	// flagInText is a flag, with or without a value.
	flagInText = regexp.MustCompile(`^(?:--[a-z][a-z-]*(?:=.*)?|-[a-zA-Z])$`)
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
	seen, seenFlags := 0, 0
	checkFlags := func(where, text string) {
		text = strings.ReplaceAll(text, " cairn ", "\ncairn ") // a text can have several
		for _, line := range commandLine.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(line[1])
			at, rest, err := cmd.Find(words)
			if err != nil || at == cmd || at.DisableFlagParsing { // see above, and cairn-controller has those
				continue
			}
			for _, word := range rest {
				if word == "--" { // for another program
					break
				}
				name := strings.TrimRight(word, ".,:;)'\"")
				if !flagInText.MatchString(name) {
					continue
				}
				if seenFlags++; !hasFlag(at, name) {
					t.Errorf("%s: %q has no flag %s", where, at.CommandPath(), name)
				}
			}
		}
	}
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
				checkFlags(p.Fset.Position(at).String(), text)
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
				checkFlags(file, strings.ReplaceAll(string(text), "\\\n", " ")) // commands of several lines
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 || seenFlags < 100 {
		t.Errorf("only %d commands with %d flags were found in texts", seen, seenFlags)
	}
}

// hasFlag returns whether a command has a flag, --name or --name=value or -n.
func hasFlag(cmd *cobra.Command, word string) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		return name == "help" || name == "version" || cmd.Flag(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
	}
	short := strings.TrimPrefix(word, "-")
	return short == "h" || cmd.Flags().ShorthandLookup(short) != nil ||
		cmd.PersistentFlags().ShorthandLookup(short) != nil ||
		cmd.InheritedFlags().ShorthandLookup(short) != nil
}
