package policy

import (
	"errors"
	"regexp/syntax"
	"strings"
)

// mostSteps is how many steps a search for an expression may take: some seconds. It cannot be interrupted.
const mostSteps = 100_000_000

var errSlow = errors.New("a regular expression is too large for a text of this length")

// tooSlow returns whether the search for an expression in a text of n bytes could take too long. An expression that is none is
// for others to reject.
func tooSlow(pattern string, n int) bool {
	if !strings.Contains(pattern, "{") && len(pattern)*n <= mostSteps/16 { // no step of it comes twice
		return false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(parsed.Simplify())
	return err == nil && n > mostSteps/max(1, len(program.Inst))
}

// searches are the functions of Rego that search, with the places of pattern and text among their operands.
var searches = map[string][2]int{
	"regex.match": {0, 1}, "re_match": {0, 1}, "regex.find_n": {0, 1}, "regex.find_all_string_submatch_n": {0, 1},
	"regex.split": {0, 1}, "regex.replace": {1, 0},
}
