package hclparse

import (
	"strings"
	"testing"
)

// Ten times as long, each of these would end the process: the stack of HCL's parser grows past what Go allows.
func TestCodeThatNestsTooDeepIsNotParsed(t *testing.T) {
	const n = 20_000
	for name, text := range map[string]string{
		"parentheses":                  "a = " + strings.Repeat("(", n),
		"parentheses over many lines":  "a = " + strings.Repeat("(\n", n),
		"parentheses behind others":    "a = " + strings.Repeat("(\")\"+", n),
		"lists":                        "a = " + strings.Repeat("[", n),
		"objects":                      "a = " + strings.Repeat("{a=", n),
		"blocks":                       strings.Repeat("a {\n", n),
		"calls":                        "a = " + strings.Repeat("f(1,", n),
		"templates":                    "a = " + strings.Repeat(`"${`, n),
		"conditions in a template":     `a = "` + strings.Repeat("%{if a}", n),
		"loops in a heredoc":           "a = <<E\n" + strings.Repeat("%{for a in b}\n", n) + "E\n",
		"not":                          "a = " + strings.Repeat("!", n),
		"minus":                        "a = " + strings.Repeat("- ", n),
		"conditionals":                 "a = " + strings.Repeat("a?a:", n),
		"conditionals within":          "a = " + strings.Repeat("a?", n),
		"conditionals in a loop":       "a = {for a in b : a => " + strings.Repeat("a ?\n", n),
		"splats":                       "a = a" + strings.Repeat("[*]", n),
		"closed by what opens nothing": "a = " + strings.Repeat("(", n/2) + strings.Repeat(")", n/2),
	} {
		t.Run(name, func(t *testing.T) {
			if nesting([]byte(text), false) <= maxNesting {
				t.Fatal("it would be parsed")
			}
			Parse([]byte(text), "", false)
		})
	}
	t.Run("so long that it would end the process", func(t *testing.T) {
		Parse([]byte("a = "+strings.Repeat("(", 200_000)), "", false)
	})
	t.Run("JSON", func(t *testing.T) {
		Parse([]byte(strings.Repeat(`[`, 4<<20)), "", true)
		Parse([]byte(`{"module": `+strings.Repeat(`[`, 1_000_000)+strings.Repeat(`]`, 1_000_000)+`}`), "", true)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a = [for b in c : b if b]\n"), false)
	f.Add([]byte(`{"a": [1]}`), true)
	f.Fuzz(func(_ *testing.T, text []byte, isJSON bool) { Parse(text, "", isJSON) })
}
