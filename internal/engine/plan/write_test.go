package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// checkTerminal fails if the output has a control sequence other than those of this package.
func checkTerminal(t *testing.T, view View) {
	t.Helper()
	var out bytes.Buffer
	if err := view.Write(&out, Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	checkCharacters(t, out.String())
}

func checkCharacters(t *testing.T, text string) {
	t.Helper()
	rest := withoutOurs(text)
	if !utf8.ValidString(rest) {
		t.Fatalf("not UTF-8: %q", rest)
	}
	for _, r := range rest {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%U in %q", r, rest)
		}
	}
}

func TestControlCharactersAreEscaped(t *testing.T) {
	view := parse(t, load(t, "hostile.json"))
	checkTerminal(t, view)
	controlCharacters := "\x1b[2J\u202e\u200b\x00\x7f\u009b\u2028\r\b" + string([]byte{0xff, 0xc3, 0xef})
	value, _ := json.Marshal(controlCharacters)
	checkTerminal(t, View{
		Changes: []Change{{
			Address: controlCharacters, Previous: controlCharacters, Deposed: controlCharacters, Action: Replace,
			Reason: controlCharacters, Importing: controlCharacters,
			Attributes: []Attribute{
				{Path: controlCharacters, Before: value, After: json.RawMessage(`"\n\n\u001b"`)},
				{Path: "a", Before: []byte("\x1b"), After: value},
			},
		}, {Address: "a", Action: controlCharacters}},
		Outputs: []Output{{Name: controlCharacters, Action: controlCharacters,
			Attributes: []Attribute{{Path: controlCharacters, After: value, Unknown: true}}}},
	})
}

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"é 語 \U0001F600":          "é 語 \U0001F600",
		"\x1b[2J\u009b\x00":       `\u001b[2J\u009b\u0000`,
		"a\u202eb\u200b\ufeff":    `a\u202eb\u200b\ufeff`,
		"x\u3164\ufe0f\u2800":     `x\u3164\ufe0f\u2800`,
		"\xff\xef":                `\xff\xef`,
		"\u2028\U000E0041\u00a0x": `\u2028\U000e0041\u00a0x`,
		"\r\n\t":                  `\r\n\t`,
	} {
		if got := escape(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("a", []byte(`"x\ny"`), []byte(`"x\nz\u001b"`), true, false)
	f.Add("\x1b", []byte(`{"a":[1,"\u202e"]}`), []byte(nil), false, true)
	f.Add("a.b", []byte(`"{\"a\":1}"`), []byte(`"{\"a\":[2,\"\\u001b\"]}"`), false, false)
	f.Fuzz(func(t *testing.T, path string, before, after []byte, sensitive, unknown bool) {
		checkTerminal(t, View{Changes: []Change{{Address: path, Action: Update, Attributes: []Attribute{
			{Path: path, Before: before, After: after, Sensitive: sensitive, Unknown: unknown},
		}}}})
	})
}

func FuzzParse(f *testing.F) {
	for _, name := range recorded(f) {
		f.Add(load(f, name+".json"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if view, err := Parse(data); err == nil {
			checkTerminal(t, view)
		}
	})
}

func TestSummary(t *testing.T) {
	for want, changes := range map[string][]Change{
		"No changes.": nil,
		"Plan: 3 to add, 1 to change, 0 to destroy.": {{Action: Create}, {Action: Create},
			{Action: Create}, {Action: Update}},
		"Plan: 1 to add, 0 to change, 2 to destroy (1 to replace).": {{Action: Replace}, {Action: Delete}},
		"Plan: 0 to add, 1 to change, 0 to destroy, 2 to import.": {{Action: Import, Importing: "a"},
			{Action: Update, Importing: "b"}},
		"Plan: 0 to add, 0 to change, 0 to destroy, 1 to forget, 1 to move.": {{Action: Forget}, {Action: Move}},
		"Plan: nothing changes; data sources are read.":                      {{Action: Read}},
	} {
		if got := (View{Changes: changes}).Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (View{Outputs: []Output{{}}}).Summary(); got != "Plan: only outputs change." {
		t.Error(got)
	}
}

func TestReadsAreListedOnlyWithoutChanges(t *testing.T) {
	read := `{"address":"data.x.y","mode":"data","type":"x","change":{"actions":["read"],"before":null,"after":{"a":1},"after_unknown":{}}}`
	create := `{"address":"x.y","mode":"managed","type":"x","change":{"actions":["create"],"before":null,"after":{"a":1},"after_unknown":{}}}`
	open := `{"address":"ephemeral.x.y","mode":"ephemeral","type":"x","change":{"actions":["open"]}}`
	for changes, want := range map[string][]string{read + "," + create: {Create}, read: {Read}, open: nil} {
		var got []string
		for _, c := range parse(t, []byte(`{"format_version":"1.99","resource_changes":[`+changes+`]}`)).Changes {
			got = append(got, c.Action)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, document := range []string{
		``, `null`, `[]`, `{}`, `{"format_version":"2.0"}`, `{"format_version":"1.2","resource_changes":[null]}`,
		`{"format_version":"1.2","resource_changes":[{"mode":"managed","change":{"actions":["conquer"]}}]}`,
	} {
		if view, err := Parse([]byte(document)); err == nil {
			t.Errorf("%s: %+v", document, view)
		}
	}
}

func TestAlign(t *testing.T) {
	for _, test := range []struct {
		from, to string
		want     []pairing
	}{
		{"", "", nil},
		{"abc", "abc", []pairing{{0, 0}, {1, 1}, {2, 2}}},
		{"abc", "xabc", []pairing{{-1, 0}, {0, 1}, {1, 2}, {2, 3}}},
		{"abc", "ac", []pairing{{0, 0}, {1, -1}, {2, 1}}},
		{"abc", "axc", []pairing{{0, 0}, {1, 1}, {2, 2}}},
		{"abcd", "cdab", []pairing{{0, -1}, {1, -1}, {2, 0}, {3, 1}, {-1, 2}, {-1, 3}}},
	} {
		got := align(len(test.from), len(test.to), func(i, j int) bool { return test.from[i] == test.to[j] })
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(pairing{})); diff != "" {
			t.Errorf("%s, %s: %s", test.from, test.to, diff)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorOfTheWriterIsReturned(t *testing.T) {
	if (View{}).Write(full{}, Style{}) == nil {
		t.Error("no error")
	}
}
