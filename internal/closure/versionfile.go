package closure

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/go-version"
)

// longestVersionFile is how many bytes one may have.
const longestVersionFile = 4096

// Pin is what a version file says.
type Pin struct {
	// Constraint as in required_version: "= 1.9.2" for 1.9.2; "" when any version will do, as with latest.
	Constraint string
	// Problem is why the file could not be read, for a person; Constraint is "" then.
	Problem string
}

// ParseVersionFile reads what tenv, tfenv and tofuenv read: one version or constraint, with comments from # on and empty
// lines. It gives a constraint as in required_version, or "" when any version will do: for latest; and for latest-allowed
// and min-required, which leave it to the code. latest:^1.8 is ~> 1.8.0; of what else a regular expression can say, the
// error says that Cairn does not read it.
func ParseVersionFile(text []byte) (string, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return "", fmt.Errorf("version file: not UTF-8 text")
	}
	said := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case said != "":
			return "", fmt.Errorf("version file: two versions, %.50q and %.50q", said, line)
		default:
			said = line
		}
	}
	switch said {
	case "":
		return "", fmt.Errorf("version file: there is no version in it")
	case "latest", "latest-stable", "latest-allowed", "min-required":
		return "", nil
	}
	if pattern, ok := strings.CutPrefix(said, "latest:"); ok {
		return constraintOf(pattern)
	}
	if v, err := version.NewSemver(said); err == nil {
		return "= " + v.String(), nil
	}
	if !isConstraint(said) {
		return "", fmt.Errorf("version file: %.50q is no version and no constraint", said)
	}
	return said, nil
}

// simplePattern is a version's first one, two or three numbers, as latest: takes them.
var simplePattern = regexp.MustCompile(`^\^?v?(\d{1,9})(?:\\?\.(\d{1,9}))?(?:\\?\.(\d{1,9}))?(\\?\.)?(\.[*+])?\$?$`)

// constraintOf makes a constraint of a regular expression that is as simple as all those that people write.
func constraintOf(pattern string) (string, error) {
	m := simplePattern.FindStringSubmatch(pattern)
	switch {
	case m == nil:
		return "", fmt.Errorf("version file: latest:%.50s is a pattern that Cairn does not read; write a constraint, such as ~> 1.8.0", pattern)
	case m[3] != "":
		return "= " + m[1] + "." + m[2] + "." + m[3], nil
	case m[2] != "":
		return "~> " + m[1] + "." + m[2] + ".0", nil
	}
	return "~> " + m[1] + ".0", nil
}

// isConstraint says whether a text is one as in required_version.
func isConstraint(text string) bool {
	_, err := version.NewConstraint(text)
	return err == nil && text != ""
}
