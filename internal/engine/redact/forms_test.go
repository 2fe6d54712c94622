package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// written are the forms of secrets that are hidden, as programs write them.
var written = []struct {
	form string
	// shortest is the length of a secret from which it is hidden in this form; shortest of the package if 0.
	shortest int
	// text: only for secrets that are UTF-8 without control characters besides line breaks.
	text  bool
	write func(random *rand.Rand, secret string) string
}{
	{form: "as it is", write: plain},
	{form: "JSON", text: true, write: quotedJSON},
	{form: "JSON in JSON", text: true, write: twice(quotedJSON)},
	{form: "JSON in JSON in JSON", text: true, write: twice(twice(quotedJSON))},
	{form: `JSON, \u for each character`, text: true, write: each(func(_ *rand.Rand, r rune) string {
		text := ""
		for _, u := range utf16.Encode([]rune{r}) {
			text += fmt.Sprintf(`\u%04x`, u)
		}
		return text
	})},
	{form: `JSON in JSON, \u for some characters`, text: true,
		write: twice(each(func(random *rand.Rand, r rune) string {
			if r < utf8.RuneSelf && r > ' ' && r != '"' && r != '\\' && random.IntN(2) == 0 {
				return string(r)
			}
			text := ""
			for _, u := range utf16.Encode([]rune{r}) {
				text += fmt.Sprintf(`\u%04X`, u)
			}
			return text
		}))},
	{form: "Go", write: func(_ *rand.Rand, s string) string { return inner(strconv.Quote(s)) }},
	{form: "Go, ASCII", write: func(_ *rand.Rand, s string) string { return inner(strconv.QuoteToASCII(s)) }},
	{form: "the engine's language", text: true, write: func(_ *rand.Rand, s string) string {
		return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(inner(strconv.Quote(s)))
	}},
	{form: "a shell's single quotes", write: replace(`'`, `'\''`)},
	{form: "a shell's single quotes in double quotes", write: replace(`'`, `'"'"'`)},
	{form: "a shell's backslashes", text: true, write: each(func(_ *rand.Rand, r rune) string {
		if r >= utf8.RuneSelf || r == '\n' || alphanumeric(byte(r)) {
			return string(r)
		}
		return `\` + string(r)
	})},
	{form: "YAML's single quotes", write: replace(`'`, `''`)},
	{form: "CSV", write: replace(`"`, `""`)},
	{form: "octal", write: bytewise(`\%03o`)},
	{form: `\x`, write: bytewise(`\x%02x`)},
	{form: "percent-encoding of a query", write: func(_ *rand.Rand, s string) string { return url.QueryEscape(s) }},
	{form: "percent-encoding of a path", write: func(_ *rand.Rand, s string) string { return url.PathEscape(s) }},
	{form: "percent-encoding in lower case, of some characters", write: someBytes("%%%02x")},
	{form: "percent-encoding in upper case, of some characters", write: someBytes("%%%02X")},
	{form: "percent-encoding, twice", write: func(_ *rand.Rand, s string) string {
		return url.PathEscape(url.PathEscape(s))
	}},
	{form: "HTML", text: true, write: func(_ *rand.Rand, s string) string { return html.EscapeString(s) }},
	{form: "HTML, twice", text: true, write: func(_ *rand.Rand, s string) string {
		return html.EscapeString(html.EscapeString(s))
	}},
	{form: "HTML, named", text: true, write: func(_ *rand.Rand, s string) string {
		return strings.NewReplacer("&", "&amp;", "'", "&apos;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "/",
			"&sol;").Replace(s)
	}},
	{form: "HTML, decimal", text: true, write: each(func(_ *rand.Rand, r rune) string {
		return fmt.Sprintf("&#%d;", r)
	})},
	{form: "HTML, hexadecimal", text: true, write: each(func(_ *rand.Rand, r rune) string {
		return fmt.Sprintf("&#x%x;", r)
	})},
	{form: "base64", write: base64Of(base64.StdEncoding, "", "")},
	{form: "base64 after one byte", write: base64Of(base64.StdEncoding, ":", "")},
	{form: "base64 after two bytes", write: base64Of(base64.RawStdEncoding, "x:", "and more")},
	{form: "base64 for URLs", write: base64Of(base64.URLEncoding, "", "")},
	{form: "base64 for URLs, within", write: base64Of(base64.RawURLEncoding, "user:", "!")},
	{form: "base64 in 64 columns", shortest: 8, write: wrapped(64, "", base64Of(base64.StdEncoding, "", ""))},
	{form: "base64 in 76 columns, as of base64(1)", shortest: 8,
		write: wrapped(76, "", base64Of(base64.StdEncoding, "", ""))},
	{form: "base64 in 76 columns, within", shortest: 8,
		write: wrapped(76, "", base64Of(base64.StdEncoding, long, long))},
	{form: "base64 in 64 columns, within, CRLF", shortest: 8, write: func(random *rand.Rand, s string) string {
		return strings.ReplaceAll(wrapped(64, "", base64Of(base64.URLEncoding, long[3:], long))(random, s),
			"\n", "\r\n")
	}},
	{form: "base64 in 76 columns, in JSON", shortest: 8, write: func(random *rand.Rand, s string) string {
		return quotedJSON(random, wrapped(76, "", base64Of(base64.StdEncoding, long, ""))(random, s))
	}},
	{form: "base64, indented", shortest: 8, write: wrapped(64, "        ", base64Of(base64.StdEncoding, "", ""))},
	{form: "base32", write: base32Of("")},
	{form: "base32, within, in 76 columns", shortest: 8, write: wrapped(76, "", base32Of("four"))},
	{form: "base32, after others", write: base32Of("1")},
	{form: "base32, after two others", write: base32Of("12")},
	{form: "base32, after three others", write: base32Of("123")},
	{form: "hexadecimal", write: func(_ *rand.Rand, s string) string { return hex.EncodeToString([]byte(s)) }},
	{form: "hexadecimal in upper case", write: func(_ *rand.Rand, s string) string { return fmt.Sprintf("%X", s) }},
	{form: "hexadecimal with colons", shortest: 8, write: separated("%02x", ":")},
	{form: "hexadecimal with blanks", shortest: 8, write: separated("%02x", " ")},
	{form: "hexadecimal in lines, as of xxd -p", shortest: 8,
		write: wrapped(60, "", func(_ *rand.Rand, s string) string {
			return hex.EncodeToString([]byte(s))
		})},
	{form: "lines with indentation", shortest: 8, text: true, write: replace("\n", "\n      ")},
}

const long = "a long text before what is secret, which takes more than one line of seventy-six columns;"

func plain(_ *rand.Rand, s string) string { return s }

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func quotedJSON(_ *rand.Rand, s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return inner(string(data))
}

func twice(write func(*rand.Rand, string) string) func(*rand.Rand, string) string {
	return func(random *rand.Rand, s string) string { return quotedJSON(random, write(random, s)) }
}

func each(write func(*rand.Rand, rune) string) func(*rand.Rand, string) string {
	return func(random *rand.Rand, s string) string {
		text := ""
		for _, r := range s {
			text += write(random, r)
		}
		return text
	}
}

func replace(from, to string) func(*rand.Rand, string) string {
	return func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, from, to) }
}

func bytewise(format string) func(*rand.Rand, string) string { return separated(format, "") }

func separated(format, separator string) func(*rand.Rand, string) string {
	return func(_ *rand.Rand, s string) string {
		var all []string
		for _, b := range []byte(s) {
			all = append(all, fmt.Sprintf(format, b))
		}
		return strings.Join(all, separator)
	}
}

// someBytes writes so each byte that is no letter, and some that are; a slash stays.
func someBytes(format string) func(*rand.Rand, string) string {
	return func(random *rand.Rand, s string) string {
		text := ""
		for _, b := range []byte(s) {
			if b == '/' || alphanumeric(b) && random.IntN(4) > 0 {
				text += string(rune(b))
			} else {
				text += fmt.Sprintf(format, b)
			}
		}
		return text
	}
}

func base64Of(encoding *base64.Encoding, before, after string) func(*rand.Rand, string) string {
	return func(_ *rand.Rand, s string) string { return encoding.EncodeToString([]byte(before + s + after)) }
}

func base32Of(before string) func(*rand.Rand, string) string {
	return func(_ *rand.Rand, s string) string { return base32.StdEncoding.EncodeToString([]byte(before + s)) }
}

func wrapped(width int, prefix string, write func(*rand.Rand, string) string) func(*rand.Rand, string) string {
	return func(random *rand.Rand, s string) string {
		var all []string
		for part := range slices.Chunk([]rune(write(random, s)), width) {
			all = append(all, string(part))
		}
		return strings.Join(all, "\n"+prefix)
	}
}

// secretOf returns a random secret that is to be hidden.
func secretOf(random *rand.Rand, length int, text bool) string {
	alphabets := []string{
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
		"abcXYZ019 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~${%{",
		"abcXYZ\n019\n/+=-", "öü€😀bcXYZ",
	}
	if !text {
		alphabets = append(alphabets, "\x00\x01\x7f\x80\xfe\xff\x1babc")
	}
	for {
		alphabet := []rune(alphabets[random.IntN(len(alphabets))])
		if !text && random.IntN(5) == 0 {
			alphabet = nil
		}
		secret := ""
		for len(secret) < length {
			if alphabet == nil {
				secret += string([]byte{byte(random.Uint32())})
			} else {
				secret += string(alphabet[random.IntN(len(alphabet))])
			}
		}
		if normal(secret) == secret || normal(secret) != "" && text && strings.TrimSpace(secret) == secret {
			return secret
		}
	}
}

// textOf returns random text with no letter of a secret's form in a row, and with all that begins an escape or a gap.
func textOf(random *rand.Rand, length int) string {
	words := []string{
		"Still", "creating...", "[10s", "elapsed]", "id=i-0123", "100%", "%d", "%%{", "${x}", "$${", "&", "&amp;", "&c",
		"\\", "\\n", "\\\\", "\\u00", "''",
		`""`, `"x"`, "'", "\x1b[1m", "\x1b[0m", "\x1b", "\x1b]8;;", "\r", "\r\n", "\n", "\n\n", "\t", "  ", "+", "0x",
		"00:11", "│", "|", "ä", "\xff",
	}
	text := ""
	for len(text) < length {
		text += words[random.IntN(len(words))] + []string{" ", " ", "", "\n"}[random.IntN(4)]
	}
	return text
}

// TestEachFormIsHidden writes a random secret in each form, within random text and in random pieces. Nothing of it is
// left but characters that also depend on what is around it, and the text is as it was.
func TestEachFormIsHidden(t *testing.T) {
	for _, w := range written {
		t.Run(w.form, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 5))
			for range 60 {
				length := max(shortest, w.shortest) + random.IntN(8)
				if random.IntN(2) == 0 {
					length += random.IntN(200)
				}
				hides(t, random, w.form, secretOf(random, length, w.text))
			}
		})
	}
}

// hides checks that a secret is hidden in a form.
func hides(t *testing.T, random *rand.Rand, form, secret string) {
	t.Helper()
	w := written[slices.IndexFunc(written, func(w struct {
		form     string
		shortest int
		text     bool
		write    func(*rand.Rand, string) string
	}) bool {
		return w.form == form
	})]
	r := New()
	r.Add(secret)
	before, after := textOf(random, random.IntN(200))+" begin <", "> end "+textOf(random, random.IntN(200))
	text := w.write(random, secret)
	if r.Hides(before) || r.Hides(after) {
		return
	}
	got := r.String(before + text + after)
	if pieces := inPieces(r, before+text+after, random); pieces != got {
		t.Fatalf("%q as %q: in pieces %q, at once %q", secret, text, pieces, got)
	}
	middle, begins := strings.CutPrefix(got, before)
	middle, ends := strings.CutSuffix(middle, after)
	if !begins || !ends {
		t.Fatalf("%q as %q: %q and %q became %q", secret, text, before, after, got)
	}
	rest := len(strings.ReplaceAll(middle, Mask, ""))
	around := len(w.write(random, "")) + 12
	if !strings.Contains(middle, Mask) || rest > around {
		t.Fatalf("%q as %q became %q", secret, text, middle)
	}
}

// The text is random, and may have parts that are similar to a secret.
func TestTextWithoutASecretIsUnchanged(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 6))
	for range 300 {
		r := New()
		for range 10 {
			r.Add(secretOf(random, 12+random.IntN(100), random.IntN(2) == 0))
		}
		text := textOf(random, 2000)
		if got := r.String(text); got != text {
			t.Fatalf("%q became %q", text, got)
		}
		if got := inPieces(r, text, random); got != text {
			t.Fatalf("in pieces %q became %q", text, got)
		}
	}
}

func FuzzForms(f *testing.F) {
	for i := range written {
		f.Add(uint64(i), byte(i), "half-4207-fjord-zulu-quack") // no letter of the mask and the text around it
	}
	f.Fuzz(func(t *testing.T, seed uint64, form byte, secret string) {
		w := written[int(form)%len(written)]
		isControl := func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }
		if len(secret) < max(shortest, w.shortest) || len(secret) > 1000 || normal(secret) == "" ||
			strings.TrimSpace(secret) != secret ||
			!hidden(secret) || len(normal(secret)) < w.shortest ||
			w.text && (!utf8.ValidString(secret) || strings.ContainsFunc(secret, isControl)) {
			t.Skip("a secret that this form cannot have, or that is too short")
		}
		if strings.ContainsAny(secret, Mask+"begin <>") {
			t.Skip("a secret that may be in the text around it")
		}
		hides(t, rand.New(rand.NewPCG(seed, 1)), w.form, secret)
	})
}
