package screen

import (
	"strings"
	"testing"
	"unicode"
)

// TestTerminalShowsTextAndColors, however the text is split.
func TestTerminalShowsTextAndColors(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext ä 😀\n":                       "plain\ttext ä 😀\n",
		"\x1b[31mred\x1b[0m \x1b[38;5;12mx":       "\x1b[31mred\x1b[0m \x1b[38;5;12mx",
		"\x1b[m\x1b[38:2::1:2:3mx":                "\x1b[m\x1b[38:2::1:2:3mx",
		"a\x1b]52;c;cm0gLXJm\x07b":                "ab",
		"a\x1b]52;c;cm0gLXJm\x1b\\b":              "ab",
		"a\x1b]0;title\nb":                        "ab",
		"a\u009d52;c;eA==\x07b":                   "ab",
		"a\x1b[2J\x1b[H\x1b[1A\x1b[Kb":            "ab",
		"a\x1b[?1049h\x1b[?25lb":                  "ab",
		"a\x1b[>4;1mb":                            "ab",
		"a\u009b2Jb":                              "ab",
		"a\x1bPq#0\x1b\\b\x1b_x\x1b\\c":           "abc",
		"a\x1bcb\x1b(0c":                          "abc",
		"a\b\bb\x07\x00\x7f":                      "ab",
		"10%\r20%\r100%\ndone\r\n":                "10%\n20%\n100%\ndone\n",
		"a\x1b\x1b[31mb":                          "a\x1b[31mb",
		"a\x1b]x\x1b[31mb":                        "a\x1b[31mb",
		"a\x1b[3\nb":                              "a\nb",
		"a\u202eb\u2066c":                         "abc",
		"\xff\x9b2J":                              "\ufffd\ufffd2J",
		"\x1b[" + strings.Repeat("1;", 99) + "mx": "x",
	} {
		for _, size := range []int{1, 3, len(text)} {
			var out strings.Builder
			w := NewTerminal(&out)
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if _, err := w.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, out.String(), want)
			}
		}
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add([]byte("a\x1b]52;c;x\x07\x1b[31mb\u009b2J\r"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out strings.Builder
		if _, err := NewTerminal(&out).Write(text); err != nil {
			t.Fatal(err)
		}
		for rest := out.String(); rest != ""; {
			if color, ok := strings.CutPrefix(rest, "\x1b["); ok {
				parameters, after, ok := strings.Cut(color, "m")
				if !ok || strings.Trim(parameters, "0123456789;:") != "" {
					t.Fatalf("%q became %q", text, out.String())
				}
				rest = after
				continue
			}
			r := []rune(rest)[0]
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q became %q", text, out.String())
			}
			rest = rest[len(string(r)):]
		}
	})
}
