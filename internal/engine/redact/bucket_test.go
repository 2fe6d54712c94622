package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Narrowing its lists leaves the patterns that begin with a text.
func TestBucketHasEachPatternOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		text := []byte("aaaa")
		for range random.IntN(most) {
			text = append(text, "ab"[random.IntN(2)])
		}
		return string(text)
	}
	var b bucket
	all := map[string]bool{}
	for range 2000 {
		pattern := word(16)
		if added := b.add(pattern); added == all[pattern] {
			t.Fatalf("%q was added: %v", pattern, added)
		}
		all[pattern] = true
	}
	for range 2000 {
		begin := word(10)
		var got, want []string
		for pattern := range all {
			if strings.HasPrefix(pattern, begin) {
				want = append(want, pattern)
			}
		}
		for _, list := range b.runs {
			for depth := 0; depth < len(begin) && len(list) > 0; depth++ {
				for len(list) > 0 && len(list[0]) == depth {
					list = list[1:]
				}
				if len(list) > 0 {
					list = narrow(list, depth, begin[depth])
				}
			}
			got = append(got, list...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q; want %q", begin, got, want)
		}
	}
}

// A plan has many values that begin as the secrets do, and what is printed waits until it is clear that they are none.
func TestManySecretsWithACommonPrefixDoNotDelayOutput(t *testing.T) {
	r := New()
	for i := range 50_000 {
		r.Add("https://db-" + strings.Repeat("0", i%7) + string(rune('a'+i%26)) + strings.Repeat("x",
			i/182%40) + string(rune('a'+i/7280)) + ".example.com")
	}
	begin := time.Now()
	text := strings.Repeat("  + endpoint = \"https://db.example.com/\"\n", 50_000)
	if got := r.String(text); got != text || time.Since(begin) > time.Minute {
		t.Errorf("took %s", time.Since(begin))
	}
}

// A git server that has the password can write what is read in many ways.
func TestTimeToMatchIsBounded(t *testing.T) {
	for _, unit := range []string{"a\n", "%25", "\\\\", "&amp;", "a: ", "''", "61", "0x61:", "a\x1b[m",
		"a\n| > ) ] a"} {
		r := New()
		r.Add(strings.Repeat(unit, 200)+"b", strings.Repeat("a", 400)+"b", strings.Repeat("a ", 200)+"b",
			strings.Repeat("%", 200)+"b")
		text := []byte(strings.Repeat(unit, 16<<10/len(unit)))
		m := matcher{text: text, budget: 1000}
		for at := range text {
			r.patterns.match(&m, at)
		}
		// Beyond the budget, each position is read once as it is, and at most the last reading spends more than is
		// left.
		if most := 1000 + 64 + 2*len(text)*800; -m.budget > most {
			t.Errorf("%q: %d bytes were read, more than %d", unit, -m.budget, most)
		}
		r.String(string(text))
	}
}
