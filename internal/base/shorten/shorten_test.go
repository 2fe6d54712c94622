package shorten

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTextsAreShortened(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Bytes("abcdef", 6), "abcdef"},
		{Bytes("abcdefg", 6), "abc…"},
		{Bytes("äöüß", 6), "ä…"},
		{Bytes("abcd", 2), ""},
		{Characters("äöüß", 4), "äöüß"},
		{Characters("äöüßx", 4), "äöü…"},
		{Characters("äö üßx", 4), "äö …"},
		{Line("a\nb\x1b[m\u2028c\xff", 40), "a b [m c\uFFFD"},
		{Line("a\u202e\u200db", 40), "a\u202e\u200db"},
		{Line(strings.Repeat("a\n", 9), 6), "a a…"},
		{List(nil, 2), ""},
		{List([]string{"a", "b"}, 2), "a, b"},
		{List([]string{"a", "b", "c", "d", "e"}, 2), "a, b and 3 more"},
		{Count(1, "Stack") + ", " + Count(0, "Stack") + ", " + Count(2, "entry"), "1 Stack, 0 Stacks, 2 entries"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("plain", 10)
	f.Add("a\u2028\xff\xfe\r\n\x00", 8)
	f.Add(strings.Repeat("ä", 600), 1024)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 4 + (limit&0xfff+0x1000)%0x1000
		got := Line(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x00\u2028") {
			t.Fatalf("Line(%q, %d) = %q", text, limit, got)
		}
	})
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 10 * time.Second: "10s",
		10 * time.Minute:        "10m",
		time.Hour + time.Second: "1h0m1s", 20 * time.Hour: "20h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
