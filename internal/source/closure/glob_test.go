package closure

import (
	"errors"
	"strings"
	"testing"
)

func TestGlobsAreParsed(t *testing.T) {
	for text, want := range map[string]glob{
		"shared":            {base: "shared"},
		"shared/":           {base: "shared"},
		"/shared//x":        {base: "shared/x"},
		"./shared/**":       {base: "shared"},
		"shared/**/*":       {base: "shared", pattern: "**/*"},
		"**":                {},
		"**/*.tf":           {pattern: "**/*.tf"},
		"a/b/*/c.{tf,json}": {base: "a/b", pattern: "*/c.{tf,json}"},
		`a\*b/*`:            {base: "a*b", pattern: "*"},
		`a\*b`:              {base: "a*b"},
		`\a/\b\\/*`:         {base: `a/b\`, pattern: "*"},
		`a\/b/c*`:           {base: "a/b", pattern: "c*"},
		"{a,b}/**":          {pattern: "{a,b}/**"},
	} {
		if got, err := parseGlob(text); got != want || err != nil {
			t.Errorf("%q is %+v, not %+v: %v", text, got, want, err)
		}
	}
}

func TestInvalidGlobsAreRejected(t *testing.T) {
	for _, text := range []string{
		"", "/", "./", "..", "../x", "a/../b", "a/..", "[a", "{a", `a\`, `a\/`, `a/\../b`, `\.\./*`, "a\x00",
		strings.Repeat("a", 1025), strings.Repeat("{a,b}", 10), "{" + strings.Repeat(",", 1000) + "}",
	} {
		if got, err := parseGlob(text); !errors.Is(err, ErrInvalidGlob) {
			t.Errorf("%.60q is %+v: %v", text, got, err)
		}
	}
}
