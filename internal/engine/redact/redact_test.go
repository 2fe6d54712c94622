package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSecretIsHiddenInEachForm(t *testing.T) {
	const secret = `pa"ss<wo>rd/1+ ${x}\`
	r := New()
	r.Add(secret)
	plain, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(plain))
	html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(string(plain))
	for name, text := range map[string]string{
		"as it is":                  secret,
		"in a JSON string":          string(plain),
		"in JSON in JSON":           string(twice),
		"in a JSON string for HTML": html,
		"as Go quotes it":           fmt.Sprintf("%q", secret),
		"as the engine's language":  `pa\"ss<wo>rd/1+ $${x}\\`,
		"in a query":                url.QueryEscape(secret),
		"in a path":                 url.PathEscape(secret),
		"wrapped":                   strings.ReplaceAll(secret, " ", "\n  "),
		"in base64":                 base64.StdEncoding.EncodeToString([]byte(secret)),
		"in base64 after one byte":  base64.StdEncoding.EncodeToString([]byte("u" + secret)),
		"in base64 after two bytes": base64.StdEncoding.EncodeToString([]byte("u:" + secret + "!")),
		"in base64 for URLs":        base64.RawURLEncoding.EncodeToString([]byte("user:" + secret)),
		"twice":                     secret + secret,
		"within other characters ":  "xx" + secret + "yy",
	} {
		got := r.String("before " + text + " after")
		rest := strings.ReplaceAll(strings.Trim(strings.TrimSuffix(strings.TrimPrefix(got, "before "), " after"),
			`"\x!y=`), Mask, "")
		if !strings.Contains(got, Mask) || len(rest) > 8 {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

func TestPartsOfASecretAreHidden(t *testing.T) {
	r := New()
	r.Add("-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n",
		`{"user":"robot@example.com","n":1,"key":"line-one-of-it\nline-two-of-it"}`)
	for _, text := range []string{"+ MIIEvQIBADANBgkq", "user = robot@example.com", "    line-two-of-it"} {
		if got := r.String(text); !strings.HasSuffix(got, Mask) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestLinesOfAnEncodedSecretAreHidden has what a provisioner prints with base64(1): each line behind a prefix.
func TestLinesOfAnEncodedSecretAreHidden(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 10)
	r := New()
	r.Add(secret)
	const prefix = "null_resource.a (local-exec): "
	encoded := []byte(base64.StdEncoding.EncodeToString([]byte(secret)))
	for line := range slices.Chunk(encoded, 76) {
		if got := r.String(prefix + string(line)); strings.TrimRight(got, "=") != prefix+Mask {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestOverlappingSecretsAreHidden(t *testing.T) {
	r := New()
	r.Add("abcdefgh", "efghijkl", "abcd")
	if got := r.String("_abcdefghijkl_abcd_"); got != "_"+Mask+"_"+Mask+"_" {
		t.Error(got)
	}
}

func TestCommonValuesAreNotHidden(t *testing.T) {
	r := New()
	r.Add("", "a", "dev", "true", "false", "null", "  x  \n")
	const text = "a dev true false null x"
	if got := r.String(text); got != text {
		t.Error(got)
	}
}

func TestWriterBuffersOnlyPossibleSecrets(t *testing.T) {
	r := New()
	r.Add("hunter2!", "two words")
	var out strings.Builder
	w := r.Writer(&out)
	for _, step := range []struct{ write, want string }{
		{"plain line\n", "plain line\n"},
		{"the hunt", "the "},
		{"er2", ""},
		{"!\n", Mask + "\n"},
		{"hunter3\n", "hunter3\n"},
		{"two\n", ""},
		{"   words and two", Mask + " and "},
		{" thirds", "two thirds"},
		{" h", " "},
	} {
		out.Reset()
		if _, err := io.WriteString(w, step.write); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Errorf("after %q: %q, want %q", step.write, out.String(), step.want)
		}
	}
	out.Reset()
	if err := w.Close(); err != nil || out.String() != "h" {
		t.Errorf("at the end: %q, %v", out.String(), err)
	}
}

// A large state has tens of thousands of secrets that begin alike, as addresses do, and the engine waits while they are
// added.
func TestManySecretsWithACommonPrefixAreAddedQuickly(t *testing.T) {
	r := New()
	begin := time.Now()
	for i := range 50_000 {
		r.Add(fmt.Sprintf("https://db-%05d.example.com", i))
	}
	if took := time.Since(begin); took > time.Minute { // each was compared with all before it: minutes
		t.Errorf("took %s", took)
	}
	if got := r.String("at https://db-04999.example.com/"); got != "at "+Mask+"/" {
		t.Error(got)
	}
}

func TestSecretIsAddedDuringWrites(t *testing.T) {
	r := New()
	var out strings.Builder
	w := r.Writer(&out)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			r.Add(fmt.Sprintf("other-%d", i))
		}
	}()
	for range 100 {
		fmt.Fprintln(w, "text")
	}
	<-done
	r.Add("late-secret")
	fmt.Fprintln(w, "late-secret")
	w.Close()
	if want := strings.Repeat("text\n", 100) + Mask + "\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// FuzzWriter: whatever the secrets and however the text is cut, no secret comes out, the cutting changes nothing, and
// text between finds is as it was.
func FuzzWriter(f *testing.F) {
	f.Add(uint64(1), "abcd", "bcde fg", "xx abcd bcde\n  fg yy")
	f.Add(uint64(2), "aaaa", "aaaaaaaa", "aaaaaaaaaaaaaaaaaaaaa")
	f.Add(uint64(3), "a b c", "c a b", "a b c a b c  a\tb\nc")
	f.Fuzz(func(t *testing.T, seed uint64, one, two, text string) {
		if strings.ContainsAny(one+two, Mask) || len(one)+len(two) > 1000 {
			t.Skip("the mask itself contains the secret, so the output may contain it; or the secrets are too long " +
				"for a fast test")
		}
		r := New()
		r.Add(one, two)
		text += one + text + two
		want := r.String(text)
		if got := inPieces(r, text, rand.New(rand.NewPCG(seed, 1))); got != want {
			t.Fatalf("in pieces %q, at once %q", got, want)
		}
		for _, secret := range []string{one, two} {
			if trimmed := strings.Trim(secret, " \t\r\n"); hidden(secret) && strings.Contains(want, trimmed) {
				t.Fatalf("%q is in %q", secret, want)
			}
		}
		rest := text
		for piece := range strings.SplitSeq(want, Mask) {
			_, after, found := strings.Cut(rest, piece)
			if !found {
				t.Fatalf("%q is not of %q", piece, text)
			}
			rest = after
		}
		if plain := strings.Repeat("()", len(text)); r.String(plain) != plain {
			t.Fatalf("plain text became %q", r.String(plain))
		}
	})
}

// hidden says whether a value is one that is not too short to be hidden.
func hidden(s string) bool {
	s = normal(s)
	return len(s) >= shortest && s != "true" && s != "false" && s != "null"
}

func inPieces(r *Redactor, text string, random *rand.Rand) string {
	var out bytes.Buffer
	w := r.Writer(&out)
	for rest := text; rest != ""; {
		n := 1 + random.IntN(min(len(rest), 9))
		io.WriteString(w, rest[:n])
		rest = rest[n:]
	}
	w.Close()
	return out.String()
}

func TestRandomSecretsInRandomWrites(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	word := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 2000 {
		r := New()
		var secrets []string
		for range 1 + random.IntN(5) {
			secrets = append(secrets, word("xyz \n0", 4+random.IntN(12)))
		}
		r.Add(secrets...)
		text := word("xyz \n0", 300)
		for _, secret := range secrets {
			text += secret + word("xyz \n0", random.IntN(20))
		}
		got := inPieces(r, text, random)
		if want := r.String(text); got != want {
			t.Fatalf("in pieces %q, at once %q", got, want)
		}
		for _, secret := range secrets {
			if s := strings.TrimSpace(secret); hidden(secret) && strings.Contains(got, s) {
				t.Fatalf("%q is in %q", s, got)
			}
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	r := New()
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		secret := make([]byte, 32)
		for i := range secret {
			secret[i] = byte('!' + random.IntN(90))
		}
		r.Add(string(secret))
	}
	r.Add("a pass phrase of words", "-----BEGIN KEY-----\n"+strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", 30))
	line := "aws_instance.web[12]: Still creating... [id=i-0123456789abcdef0, 10m20s elapsed]\n"
	chunk := []byte(strings.Repeat(line, 400))
	w := r.Writer(io.Discard)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		w.Write(chunk)
	}
}

// BenchmarkWriterOfManySecrets has those of a large state, and text with escapes and colors.
func BenchmarkWriterOfManySecrets(b *testing.B) {
	r := New()
	random := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		r.Add(secretOf(random, 24, true))
	}
	line := "\x1b[1maws_instance.web[12]\x1b[0m: {\"id\": \"i-0123456789abcdef0\", \"policy\": \"{\\n\\\"a\\\": " +
		"1}\", \"done\": \"10%\"}\n"
	chunk := []byte(strings.Repeat(line, 400))
	w := r.Writer(io.Discard)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		w.Write(chunk)
	}
}

func TestWhatWasHiddenIsFound(t *testing.T) {
	r := New()
	r.Add("hunter22", "correct horse")
	for text, want := range map[string][]string{
		"nothing":                        nil,
		"a hunter22, and hunter22.":      {"hunter22", "hunter22"},
		"aHVudGVyMjI= is correct  horse": {"aHVudGVyMj", "correct  horse"},
	} {
		hidden, found := r.Find(text)
		if hidden != r.String(text) || !slices.Equal(found, want) {
			t.Errorf("%q: %q, %q", text, hidden, found)
		}
	}
}
