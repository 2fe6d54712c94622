package generate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// longestPattern is the most bytes of a pattern.
const longestPattern = 500

// captureName is a name in braces: it becomes params.NAME of the template.
var captureName = regexp.MustCompile(`^[a-z][a-zA-Z0-9_]*$`)

// pattern matches the path of a directory. Each part between slashes is text with wildcards (* and ?), ** for any
// number of directories, or a name in braces, which captures one part or what is beside fixed text:
// envs/{env}/app-{name}.
type pattern struct {
	text  string
	match *regexp.Regexp
	// names of the captures, in order.
	names []string
	// base is the path before the first part that is not fixed.
	base string
}

func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	if len(text) > longestPattern {
		return p, fmt.Errorf("%.50q...: it has more than %d bytes", text, longestPattern)
	}
	var re strings.Builder
	fixed := true
	var base []string
	parts := strings.Split(strings.TrimPrefix(text, "./"), "/")
	for i, part := range parts {
		switch part {
		case "", ".":
			return p, fmt.Errorf(
				"%q: write a path from the root of the repository, without a slash at its start or end", text)
		case "..":
			return p, fmt.Errorf("%q: remove the .. in it: paths start at the root of the repository", text)
		}
		expression, plain, err := p.parsePart(part)
		if err != nil {
			return p, fmt.Errorf("%q: %w", text, err)
		}
		if fixed = fixed && plain; fixed {
			base = append(base, part)
		}
		switch last := i == len(parts)-1; {
		case part == "**" && last:
			re.WriteString(`.*`)
		case part == "**":
			re.WriteString(`(?:[^/]+/)*`)
		case last:
			re.WriteString(expression)
		default:
			re.WriteString(expression + "/")
		}
	}
	p.base = strings.Join(base, "/")
	var err error
	p.match, err = regexp.Compile("^" + re.String() + "$")
	return p, err
}

// parsePart translates what is between two slashes, and reports whether it is fixed text.
func (p *pattern) parsePart(part string) (expression string, plain bool, err error) {
	var re strings.Builder
	plain = true
	for rest := part; rest != ""; {
		switch c := rest[0]; {
		case c == '*', c == '?':
			re.WriteString(map[byte]string{'*': `[^/]*`, '?': `[^/]`}[c])
			rest, plain = rest[1:], false
		case c == '{':
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed || !captureName.MatchString(name) {
				return "", false,
					fmt.Errorf("%s: a name in braces has letters, digits and _, and begins with a small letter", part)
			}
			for _, known := range p.names {
				if known == name {
					return "", false, fmt.Errorf("{%s} is in it twice", name)
				}
			}
			p.names = append(p.names, name)
			re.WriteString(`([^/]+)`)
			rest, plain = after, false
		case strings.IndexByte(`}[]\`, c) >= 0:
			return "", false, fmt.Errorf("%s: %c has no meaning here", part, c)
		default:
			re.WriteString(regexp.QuoteMeta(rest[:1]))
			rest = rest[1:]
		}
	}
	return re.String(), plain, nil
}

// capture returns the captures of a path; nil if the pattern does not match.
func (p pattern) capture(path string) map[string]any {
	found := p.match.FindStringSubmatch(path)
	if found == nil {
		return nil
	}
	params := make(map[string]any, len(p.names))
	for i, name := range p.names {
		params[name] = found[i+1]
	}
	return params
}

// checkGlob checks a glob of exclude or marker.
func checkGlob(text string) error {
	if len(text) > longestPattern || text == "" || !doublestar.ValidatePattern(text) {
		return fmt.Errorf("%.50q is no valid glob of at most %d bytes", text, longestPattern)
	}
	return nil
}
