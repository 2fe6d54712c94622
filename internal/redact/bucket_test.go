package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestABucketFindsWhatComparingFinds: the same as if the text were compared with each pattern.
func TestABucketFindsWhatComparingFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(alphabet string, most int) string {
		text := []byte("aaaa")
		for range random.IntN(most) {
			text = append(text, alphabet[random.IntN(len(alphabet))])
		}
		return string(text)
	}
	for _, size := range []int{10, 2 * mostNews} {
		var b bucket
		all := map[string]bool{}
		for len(all) < size {
			if pattern := normal(word("abab ", 16)); !all[pattern] {
				all[pattern] = true
				b.add(pattern)
			}
		}
		for range 2000 {
			text := []byte(word("aabb ", 20))
			want, wantMore := 0, false
			for pattern := range all {
				n, more := compare(pattern, text)
				want, wantMore = max(want, n), wantMore || more
			}
			got, gotMore := b.find(text)
			for _, pattern := range b.few {
				n, more := compare(pattern, text)
				got, gotMore = max(got, n), gotMore || more
			}
			if got != want || gotMore != wantMore {
				t.Fatalf("%q: %d, %v; want %d, %v", text, got, gotMore, want, wantMore)
			}
		}
	}
}

// A plan tells of many things that begin as the secrets do, and what is printed waits until it is known that they are none.
func TestManySecretsThatBeginAlikeHoldUpNothing(t *testing.T) {
	r := New()
	for i := range 50_000 {
		r.Add("https://db-" + strings.Repeat("0", i%7) + string(rune('a'+i%26)) + strings.Repeat("x", i/182%40) + string(rune('a'+i/7280)) + ".example.com")
	}
	begin := time.Now()
	text := strings.Repeat("  + endpoint = \"https://db.example.com/\"\n", 50_000)
	if got := r.String(text); got != text || time.Since(begin) > time.Minute {
		t.Errorf("took %s", time.Since(begin))
	}
}
