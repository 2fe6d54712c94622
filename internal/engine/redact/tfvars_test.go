package redact

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		want       []string
	}{
		"strings at any depth": {
			"a.tfvars", "a = \"one\"\nb = { c = [\"two\", 3], d = true }\ne = <<EOT\nthree\nfour\nEOT\n",
			[]string{"one", "three\nfour\n", "two"},
		},
		"escapes as the engine reads them": {"a.tfvars", `a = "x\"y\n$${z}"`, []string{"x\"y\n${z}"}},
		"long numbers": {"a.tfvars", "pin = 123456\nport = 5432\nbig = -12345678901234567890",
			[]string{"-12345678901234567890", "123456"}},
		"JSON": {"a.tfvars.json",
			`{"a": "one", "b": {"c": ["two", 3, 1234567.5]}, "d": null}`, []string{"1234567.5", "one", "two"}},
		"JSON numbers as they are written": {"a.tfvars.json", `{"a": 1234567890123456789012}`,
			[]string{"1234567890123456789012"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Values(test.file, []byte(test.text))
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllWordsOfAnInvalidFileAreSecrets(t *testing.T) {
	for file, text := range map[string]string{
		"open.tfvars":      "user = \"canary",
		"bare.tfvars":      "user = canary",
		"call.tfvars":      "user = upper(\"canary\")",
		"block.tfvars":     "b {\n user = \"canary\"\n}",
		"half.tfvars.json": `{"user": ["canary", }`,
		"tail.tfvars.json": `{} "canary"`,
		"yaml.tfvars":      "user: canary\n",
	} {
		r := New()
		r.Add(Values(file, []byte(text))...)
		for line := range strings.Lines(text) {
			if got := r.String("on " + file + " line 1:\n  1: " + line); strings.Contains(got, "canary") {
				t.Errorf("%s: %q", file, got)
			}
		}
	}
}

func FuzzValues(f *testing.F) {
	f.Add("a.tfvars", []byte("a = \"one\""))
	f.Add("a.tfvars.json", []byte(`{"a": "one"}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		New().Add(Values(name, data)...)
	})
}

// A file that nests so deep that a parser would not come back is read as words: the engine may quote it.
func TestWordsOfATooDeeplyNestedFileAreSecrets(t *testing.T) {
	values := Values("a.tfvars", []byte("password = "+strings.Repeat("(", 200_000)+" correct-horse"))
	if !slices.Contains(values, "correct-horse") {
		t.Errorf("%d values, and not the one", len(values))
	}
}
