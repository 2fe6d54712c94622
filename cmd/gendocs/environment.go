package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"cairn.dev/cairn/cmd/cairn-controller/app"
)

// environmentPage returns the flags of cairn-controller. The variables are described by hand: it fails if one that the
// source has is not.
func environmentPage(repository fs.FS) (string, error) {
	if err := allDescribed(repository); err != nil {
		return "", err
	}
	own := map[string]*pflag.FlagSet{}
	var out strings.Builder
	fmt.Fprintf(&out, "## Flags of cairn-controller\n\n")
	for _, c := range app.Command().Commands() {
		switch c.Name() {
		case "serve", "operator", "server":
			fmt.Fprintf(&out, "### %s\n\n%s", c.CommandPath(), help(c.Long))
			own[c.Name()] = c.Flags()
		}
	}
	common := pflag.NewFlagSet("common", pflag.ContinueOnError)
	own["operator"].VisitAll(func(f *pflag.Flag) {
		if other := own["server"].Lookup(f.Name); !f.Hidden && other != nil && !other.Hidden {
			common.AddFlag(f)
		}
	})
	out.WriteString("### Flags of both parts\n\n" + flags(common, nil))
	out.WriteString("### Flags of the operator\n\n" + flags(own["operator"], common))
	out.WriteString("### Flags of the server\n\n" + flags(own["server"], common))
	return out.String(), nil
}

var (
	// setVariable is a variable that the runner sets for hooks and commands.
	setVariable = regexp.MustCompile(`"(CAIRN_[A-Z_]+)[="]`)
	// readVariable is one that a process reads.
	readVariable = regexp.MustCompile(`(?:Getenv|LookupEnv)\("([A-Z_]+)"\)`)
)

// allDescribed returns an error that names the variables of the source that the page does not have.
func allDescribed(repository fs.FS) error {
	text, err := introductions.ReadFile("pages/environment.md")
	if err != nil {
		return err
	}
	var missing []string
	for _, in := range []struct {
		files string
		names *regexp.Regexp
	}{
		{"internal/runner/attempt/*.go", setVariable}, {"internal/*/*.go", readVariable},
		{"internal/*/*/*.go", readVariable},
	} {
		files, err := fs.Glob(repository, in.files)
		if err != nil {
			return err
		}
		for _, name := range files {
			source, err := fs.ReadFile(repository, name)
			if err != nil {
				return err
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, m := range in.names.FindAllStringSubmatch(string(source), -1) {
				if !strings.HasSuffix(m[1], "_") && !strings.Contains(string(text), "`"+m[1]+"`") {
					missing = append(missing, m[1]+" ("+path.Base(name)+")")
				}
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("describe in pages/environment.md: %s", strings.Join(missing, ", "))
	}
	return nil
}
