package hclparse

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
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
			for _, parse := range []func([]byte, string, bool) (hcl.Body, error){Parse, ParseAny} {
				if _, err := parse([]byte(text), "", false); !errors.Is(err, ErrNesting) {
					t.Errorf("it would be parsed: %v", err)
				}
			}
		})
	}
	t.Run("so long that it would end the process", func(t *testing.T) {
		ParseAny([]byte("a = "+strings.Repeat("(", 200_000)), "", false)
	})
	t.Run("JSON", func(t *testing.T) {
		ParseAny([]byte(strings.Repeat(`[`, 4<<20)), "", true)
		ParseAny([]byte(`{"module": `+strings.Repeat(`[`, 1_000_000)+strings.Repeat(`]`, 1_000_000)+`}`), "", true)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a = [for b in c : b if b]\n"), false)
	f.Add([]byte(`{"a": [1]}`), true)
	f.Fuzz(func(t *testing.T, text []byte, isJSON bool) {
		Parse(text, "", isJSON)
		ParseAny(text, "", isJSON)
		if tokens, _ := hclsyntax.LexConfig(text, "", hcl.InitialPos); !isJSON && nesting(tokens) > mayNest(text) {
			t.Errorf("%q nests %d deep, and %d was the most", text, nesting(tokens), mayNest(text))
		}
	})
}

func TestATextThatIsTooLargeIsNotParsed(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		json bool
		want bool
	}{
		"a long comment":          {text: "# " + strings.Repeat("a", MaxBytes), want: true},
		"a comment at the limit":  {text: "# " + strings.Repeat("a", MaxBytes-2)},
		"tokens of one byte":      {text: "a = [" + strings.Repeat("1,", MaxTokens/2) + "]", want: true},
		"attributes":              {text: strings.Repeat("a=1\n", MaxTokens/4), want: true},
		"a heredoc of many lines": {text: "a = <<E\n" + strings.Repeat("aaaa\n", 50_000) + "E\n", want: true},
		"a long heredoc":          {text: "a = <<E\n" + strings.Repeat("aaaaaaaaaaaaaaaaaaa\n", 8_000) + "E\n"},
		"many heredocs": {text: strings.Repeat("b {\n  a = <<E\n"+strings.Repeat("aaaa\n", 500)+
			"E\n}\n", 100)},
		"tokens at the limit": {text: "a = [" + strings.Repeat("1,", MaxTokens/2-3) + "]"},
		"values in JSON": {text: `{"a":[` + strings.Repeat("1,", MaxTokens) + "1]}", json: true,
			want: true},
		"a long text in JSON": {text: `{"a":"` + strings.Repeat(",", MaxBytes) + `"}`, json: true,
			want: true},
		"a text of commas in JSON":      {text: `{"a":"` + strings.Repeat(",", MaxTokens) + `"}`, json: true},
		"values in JSON, at the limit":  {text: `{"a":[` + strings.Repeat("1,", MaxTokens-3) + "1]}", json: true},
		"code that is larger than most": {text: strings.Repeat("a {\n  b = \"${c.d}-e\"\n}\n", 9_000)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), "", tt.json)
			if errors.Is(err, ErrTooLarge) != tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Of a program for the author of the text, a large file has the same result as a small one.
func TestALargeTextIsParsedWithoutLimits(t *testing.T) {
	body, err := ParseAny([]byte("a = 1\n# "+strings.Repeat("a", MaxBytes)), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if attributes, _ := body.JustAttributes(); len(attributes) != 1 {
		t.Errorf("got %v", attributes)
	}
}

func TestTextsWaitForMemory(t *testing.T) {
	var releases []func()
	for range memory / (MaxBytes * weight) {
		release, err := Acquire(t.Context(), MaxBytes)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, MaxBytes); err == nil {
		t.Error("one more has memory")
	}
	for _, release := range releases {
		release()
	}
	release, err := Acquire(t.Context(), 100*MaxBytes) // more than there is: it waits for all
	if err != nil {
		t.Fatal(err)
	}
	release()
}
