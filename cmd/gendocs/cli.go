package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn.dev/cairn/cmd/cairn-controller/app"
	"cairn.dev/cairn/internal/cli"
)

// commandsPage returns a section for each group of commands of cairn.
func commandsPage(fs.FS) (string, error) {
	root := cli.Command()
	// cairn-controller has the flags and the help of what runs on this machine.
	for _, own := range app.Command().Commands() {
		for _, c := range root.Commands() {
			if c.Name() == own.Name() && c.DisableFlagParsing {
				own.GroupID = c.GroupID
				root.RemoveCommand(c)
				root.AddCommand(own)
			}
		}
	}
	// The flags of the session are the same for all commands that connect to a cluster.
	apply, _, err := root.Find([]string{"apply"})
	if err != nil {
		return "", err
	}
	common := pflag.NewFlagSet("common", pflag.ContinueOnError)
	apply.PersistentFlags().VisitAll(common.AddFlag)

	var out strings.Builder
	for _, group := range root.Groups() {
		fmt.Fprintf(&out, "## %s\n\n", strings.TrimSuffix(group.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == group.ID {
				command(&out, "###", c, common)
			}
		}
	}
	out.WriteString("## Common flags\n\nAll commands for Stacks and Runs have these flags.\n\n")
	out.WriteString(flags(common, nil))
	return out.String(), nil
}

// command writes the sections of a command and of its subcommands.
func command(out *strings.Builder, heading string, c *cobra.Command, common *pflag.FlagSet) {
	fmt.Fprintf(out, "%s %s\n\n", heading, c.CommandPath())
	long := c.Long
	if long == "" {
		long = c.Short
	}
	out.WriteString(help(long))
	if len(c.Aliases) > 0 {
		fmt.Fprintf(out, "Alias: `%s`.\n\n", strings.Join(c.Aliases, "`, `"))
	}
	if !c.HasSubCommands() {
		out.WriteString(code("", c.UseLine()))
	}
	if c.Example != "" {
		out.WriteString("Examples:\n\n" + code("sh", unindent(c.Example)))
	}
	out.WriteString(flags(c.NonInheritedFlags(), common))
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			command(out, "####", sub, common)
		}
	}
}

// help returns the text of a command as Markdown: indented lines are a block.
func help(text string) string {
	var out strings.Builder
	for _, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		var plain, block []string
		for line := range strings.Lines(part) {
			if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "  ") {
				block = append(block, line)
			} else {
				plain = append(plain, line)
			}
		}
		if len(plain) > 0 {
			out.WriteString(paragraph(prose(quoteCommands(stop(strings.Join(plain, " "))))))
		}
		if len(block) > 0 {
			out.WriteString(code("", unindent(strings.Join(block, "\n"))))
		}
	}
	return out.String()
}

// quotedCommand is a command in a text: the quotes are for a terminal.
var quotedCommand = regexp.MustCompile(`"(cairn [a-z -]+)"`)

func quoteCommands(text string) string { return quotedCommand.ReplaceAllString(text, "`$1`") }

// unindent removes the indentation of the first line from all lines.
func unindent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.TrimPrefix(line, indent), " ")
	}
	return strings.Join(lines, "\n")
}

// flags returns the table of flags, without hidden ones, --help and those of except.
func flags(all, except *pflag.FlagSet) string {
	var rows [][]string
	all.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || except != nil && except.Lookup(f.Name) != nil {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind := f.Value.Type()
		if of, ok := flagTypes[kind]; ok {
			kind = of
		}
		value, usage := pflag.UnquoteUsage(f)
		if strings.Contains(f.Usage, "`") {
			kind = value
		}
		usage = prose(stop(upper(usage)))
		if unset := defaultOf(f); unset != "" {
			usage += " Default: " + unset + "."
		}
		rows = append(rows, []string{name, kind, usage})
	})
	return table([]string{"Flag", "Type", "Description"}, rows)
}

// flagTypes are the names of the types of flags, where they are not those of the library.
var flagTypes = map[string]string{
	"bool": "boolean", "int": "integer", "int32": "integer", "strings": "list", "stringArray": "list",
	"stringSlice":    "list",
	"stringToString": "map", "text": "string", "builder=image": "map", "policy": "string", "": "string",
}

// upper returns the description of a flag with an upper-case letter at its beginning, unless it begins with a literal.
func upper(usage string) string {
	first, _, _ := strings.Cut(strings.ReplaceAll(usage, ",", " "), " ")
	if slices.Contains([]string{"json", "kubeconfig", "Secret", "debug"}, first) || usage == "" {
		return usage
	}
	return strings.ToUpper(usage[:1]) + usage[1:]
}

// defaultOf returns the default of a flag, empty for the value that means none.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "[]", "<nil>":
		return ""
	case "0":
		if f.Value.Type() == "int32" || f.Value.Type() == "int" && f.Name == "version" {
			return ""
		}
	}
	return "`" + f.DefValue + "`"
}
