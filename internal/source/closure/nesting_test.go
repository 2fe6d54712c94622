package closure

import (
	"strings"
	"testing"
)

func TestCodeAtTheLimitIsParsed(t *testing.T) {
	call := "\n" + module("a", "./a")
	for name, text := range map[string]string{
		"many blocks":                     strings.Repeat("a {\n b = \"x${c}\"\n}\n", 3000) + call,
		"many expressions with operators": strings.Repeat("a {\n b = -1 * c ? !d : e[*].f\n}\n", 3000) + call,
		"a long list of expressions":      "a = [" + strings.Repeat("-1, !a, a[*].b,\n", 3000) + "]" + call,
		"brackets as deep as allowed":     "a = " + strings.Repeat("(", 999) + "1" + strings.Repeat(")", 999) + call,
		"texts full of brackets": "a = \"" + strings.Repeat("([{", 3000) + "\"\n# " +
			strings.Repeat("([{", 3000) + call,
	} {
		t.Run(name, func(t *testing.T) {
			if c, _ := readCode([]byte(text), false); len(c.calls) != 1 {
				t.Errorf("found %v", c.calls)
			}
		})
	}
	deep := `{"locals": ` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) +
		`, "module": {"a": {"source": "./a"}}}`
	if c, _ := readCode([]byte(deep), true); len(c.calls) != 1 {
		t.Errorf("found %v", c.calls)
	}
}

func TestASourceThatIsTooLongIsNotEvaluated(t *testing.T) {
	text := "module \"a\" {\n  source = \"./a\"" + strings.Repeat(` + "a"`, 20_000) + "\n}\n"
	if c, _ := readCode([]byte(text), false); len(c.calls) != 1 || c.calls[0].source != "" {
		t.Errorf("found %d calls", len(c.calls))
	}
}
