package closure

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"cairn.dev/cairn/internal/source/git"
)

// longestScript is the most bytes of a script whose paths are followed.
const longestScript = 256 << 10

var (
	// changeOfDir matches a command that changes the directory, in a shell script.
	changeOfDir = regexp.MustCompile(`(?:^|[\s;&|({])(?:cd|pushd|-C)[ \t]+(?:--[ \t]+)?` +
		`(?:"([^"\n]*)"|'([^'\n]*)'|([^\s;&|)]+))`)
	// shellVariable matches a text that is only a variable of a shell.
	shellVariable = regexp.MustCompile(`^\$\{?(\w+)\}?$`)
	// ownDir matches the part of a shell script that computes the directory of the script, or a temporary one.
	ownDir = regexp.MustCompile(`\$\{?0|BASH_SOURCE|dirname|mktemp|TMPDIR|HOME|\$PWD|\bpwd\b`)
)

// mostChanges is how many changes of the directory in one script are followed.
const mostChanges = 100

// changes are the directories that a script changes to.
type changes struct {
	dirs []string
	// unknown is true when there is one that only the running script knows.
	unknown bool
}

// changesOf returns the directories that a script changes to. For the script's own directory there is none.
func changesOf(text string) changes {
	var c changes
	add := func(dirs ...string) {
		for _, dir := range dirs {
			if dir != "-" && !slices.Contains(c.dirs, dir) {
				c.dirs = append(c.dirs, dir)
			}
		}
	}
	for _, at := range changeOfDir.FindAllStringSubmatchIndex(text, mostChanges) {
		dir := ""
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				dir = text[at[group]:at[group+1]]
			}
		}
		variable := shellVariable.FindStringSubmatch(dir)
		switch {
		case strings.Contains(dir, unknown):
			c.unknown = true
		case !strings.ContainsAny(dir, "$`"):
			add(dir)
		case variable != nil:
			value, known := valueOf(text, variable[1])
			c.unknown = c.unknown || !known
			add(value...)
		default: // "$DIR/..", or $(dirname "$0")/..
			add(upwardIn(text[at[0]:])...)
		}
	}
	return c
}

// valueOf returns the paths that go up in the value of a variable of a shell. It is known if it starts at the script's
// own directory, or at a temporary one.
func valueOf(text, variable string) (upward []string, known bool) {
	at := strings.Index(text, variable+"=")
	if at < 0 {
		return nil, ownDir.MatchString("$" + variable)
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	return upwardIn(line), ownDir.MatchString(line)
}

// upwardIn returns the paths that go up in the first command of a text.
func upwardIn(text string) []string {
	if end := strings.IndexAny(text[1:], ";&|\n"); end >= 0 {
		text = text[:end+1]
	}
	return PathsIn(text)
}

// PathsInScript returns the paths in a script that go up, also from the directories that it changes to, each once.
func PathsInScript(text string) []string {
	names := PathsIn(text)
	if len(names) == 0 {
		return nil
	}
	c := changesOf(text)
	all := slices.Clone(names)
	for _, dir := range c.dirs {
		for _, name := range names {
			if !slices.Contains(c.dirs, name) {
				all = append(all, dir+"/"+name)
			}
		}
	}
	if c.unknown {
		all = append(all, unknown)
	}
	return all
}

// isName reports whether an argument of a program may be the name of a file.
func isName(argument string) bool {
	return strings.ContainsAny(argument, "./") && !strings.HasPrefix(argument, "-")
}

// workingDirs returns the directories that an expression for the working directory of a program names, and adds them.
func (s *search) workingDirs(ctx context.Context, m *scope, expr hclsyntax.Expression) ([]string, error) {
	var dirs []string
	var err error
	m.texts(expr, true, func(text string) {
		if strings.Contains(text, unknown) || err != nil {
			return
		}
		name, absolute := strings.CutPrefix(text, repositoryRoot)
		if !absolute {
			name = m.root + "/" + text
		}
		var p place
		if p, err = s.resolve(ctx, name); err == nil && p.Kind == git.KindDir {
			dirs = append(dirs, p.Path)
		}
	})
	return dirs, err
}

// script has the paths in a script, or in another text.
type script struct {
	// upward are those that go up, beside the names that may be of files beside the script.
	upward, beside []string
	changes        changes
}

// weight is how much memory a cached script takes.
func (s script) weight() int {
	return textsWeight(s.upward) + textsWeight(s.beside) + textsWeight(s.changes.dirs)
}

// script adds the files that a script names: beside it, above its folder, or above a folder where it runs.
func (s *search) script(ctx context.Context, e git.Entry, by reader) error {
	key := e.Path + "\x00" + strings.Join(by.from, "\x00")
	if s.scripts[key] {
		return nil
	}
	if s.scripts == nil {
		s.scripts = map[string]bool{}
	}
	s.scripts[key] = true
	from := append([]string{parentOf(e.Path), by.root}, by.from...)
	if err := s.pathsIn(ctx, e, longestScript, from, by); err != nil {
		return err
	}
	return s.beside(ctx, e, by)
}

// beside adds the files beside a script that its text names, as $(dirname "$0")/lib.sh does.
func (s *search) beside(ctx context.Context, e git.Entry, by reader) error {
	dir, _ := s.tree.Entry(parentOf(e.Path))
	text, err := s.scriptOf(ctx, e, longestScript)
	if err != nil || len(text.beside) == 0 {
		return err
	}
	s.facts[dir.Path] = dir // with its ID: a file that is created there may be read
	for _, name := range text.beside {
		full := path.Join(dir.Path, name)
		if _, ok := s.tree.Entry(full); !ok || full == e.Path || outside(full) {
			continue
		}
		if err := s.readFrom(ctx, full, e.Path, by); err != nil {
			return err
		}
	}
	return nil
}

// pathsIn adds the targets of the paths in a file that go up, from each of some directories and from those that a
// program changes to. A longer file than the limit has none: it is a program, or data.
func (s *search) pathsIn(ctx context.Context, e git.Entry, limit int64, from []string, by reader) error {
	text, err := s.scriptOf(ctx, e, limit)
	if err != nil {
		return err
	}
	names := text.upward
	add := func(base string, names []string) error {
		for _, name := range names {
			if err := s.readFrom(ctx, base+"/"+name, e.Path, by); err != nil {
				return err
			}
		}
		return nil
	}
	for _, base := range from {
		if err := add(base, names); err != nil {
			return err
		}
	}
	if !by.program || len(names) == 0 {
		return nil
	}
	if text.changes.unknown {
		s.open = append(s.open, e.Path+": a program that goes up from an unknown directory")
	}
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(text.changes.dirs, name)
	})
	for _, base := range from {
		for _, dir := range text.changes.dirs {
			if err := add(base+"/"+dir, others); err != nil {
				return err
			}
		}
	}
	return nil
}

// scriptOf reads the paths in a file. A longer file than the limit has none.
func (s *search) scriptOf(ctx context.Context, e git.Entry, limit int64) (script, error) {
	return cached(s.c, e.ID, fmt.Sprint("script ", limit), func() (found script, _ int, _ error) {
		data, err := s.read(ctx, e, limit)
		if err != nil && !errors.Is(err, ErrTooLarge) {
			return script{}, 0, err
		}
		text := string(data)
		found.upward = PathsIn(text)
		if limit == longestScript {
			found.changes, found.beside = changesOf(text), namesIn(text)
		}
		return found, found.weight(), nil
	})
}

// fileName matches a name with an extension, or a path of several names that does not go up.
var fileName = regexp.MustCompile(`[\w@+-][\w.@+-]*(?:/[\w.@+-]+)+|[\w@+-]+(?:\.[\w@+-]+)+`)

// mostNames is how many names of files in one script are looked up.
const mostNames = 1000

// namesIn returns the names in a text that may be those of files, each once.
func namesIn(text string) []string {
	var names []string
	seen := map[string]bool{}
	for _, name := range fileName.FindAllString(text, -1) {
		for {
			if !seen[name] && len(names) < mostNames {
				seen[name] = true
				names = append(names, name)
			}
			_, rest, ok := strings.Cut(name, "/") // DIR/lib.sh, where DIR is a variable
			if !ok {
				break
			}
			name = rest
		}
	}
	return names
}
