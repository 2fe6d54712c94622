package closure

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/go-version"
)

// longestVersionFile is the most bytes of a version file.
const longestVersionFile = 4096

// Pin is the content of a version file.
type Pin struct {
	// Constraint as in required_version: "= 1.9.2" for 1.9.2; "" when any version is accepted, as with latest.
	Constraint string
	// Problem describes for the user why the file could not be read; Constraint is "" then.
	Problem string
}

// ParseVersionFile parses a file in the syntax of tenv, tfenv and tofuenv: one version or constraint, with empty
// lines and comments that start with #. It returns a constraint as in required_version, or "" when any version is
// accepted: for latest; and for latest-allowed and min-required, where the constraints of the code decide.
// latest:^1.8 is ~> 1.8.0; other regular expressions are an error.
func ParseVersionFile(text []byte) (string, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return "", fmt.Errorf("version file: it is not UTF-8 text: write the version in UTF-8")
	}
	found := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case found != "":
			return "", fmt.Errorf("version file: it has two versions, %.50q and %.50q: remove one", found, line)
		default:
			found = line
		}
	}
	switch found {
	case "":
		return "", fmt.Errorf("version file: it is empty: write a version into it, such as 1.9.2")
	case "latest", "latest-stable", "latest-allowed", "min-required":
		return "", nil
	}
	if pattern, ok := strings.CutPrefix(found, "latest:"); ok {
		return constraintOf(pattern)
	}
	if v, err := version.NewSemver(found); err == nil {
		return "= " + v.String(), nil
	}
	if !isConstraint(found) {
		return "", fmt.Errorf("version file: %.50q is not a version or a constraint: write one, such as 1.9.2 or "+
			"~> 1.8.0", found)
	}
	return found, nil
}

// simplePattern matches the first one, two or three numbers of a version after "latest:".
var simplePattern = regexp.MustCompile(`^\^?v?(\d{1,9})(?:\\?\.(\d{1,9}))?(?:\\?\.(\d{1,9}))?(\\?\.)?(\.[*+])?\$?$`)

// constraintOf returns the constraint that is equal to a simple regular expression.
func constraintOf(pattern string) (string, error) {
	m := simplePattern.FindStringSubmatch(pattern)
	switch {
	case m == nil:
		return "", fmt.Errorf("version file: Cairn does not support the pattern latest:%.50s: write a "+
			"constraint, such as ~> 1.8.0", pattern)
	case m[3] != "":
		return "= " + m[1] + "." + m[2] + "." + m[3], nil
	case m[2] != "":
		return "~> " + m[1] + "." + m[2] + ".0", nil
	}
	return "~> " + m[1] + ".0", nil
}

// isConstraint reports whether a text is a constraint as in required_version.
func isConstraint(text string) bool {
	_, err := version.NewConstraint(text)
	return err == nil && text != ""
}
