package userapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// seal is text that only the identity reads, as a runner prints a state.
func seal(t *testing.T, id *age.X25519Identity, text string) string {
	t.Helper()
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	sealed, err := age.Encrypt(armored, id.Recipient())
	if err == nil {
		_, err = sealed.Write([]byte(text))
	}
	if err = errors.Join(err, sealed.Close(), armored.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func prefixed(text string, prefix func(int) string) string {
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		out.WriteString(prefix(i) + line + "\n")
	}
	return out.String()
}

func TestSealedFindsTheStateInTheOutputOfALogViewer(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 10_000)
	for i := range random {
		random[i] = byte(rand.N(256))
	}
	want := string(random)
	block := seal(t, id, want)
	half := block[:len(block)/2]
	lines := strings.SplitAfter(block, "\n")
	between := strings.Join(lines[:5], "") + "time=12:00 level=WARN msg=\"not delivered\"\ndone\n" +
		strings.Join(lines[5:], "")
	tests := map[string]string{
		"alone":                   block,
		"in the middle of a log":  "Apply complete!\n\n" + block + "\ncairn: the state is above\n",
		"with Windows' line ends": strings.ReplaceAll(block, "\n", "\r\n"),
		"with a time before each line": prefixed(block, func(i int) string {
			return fmt.Sprintf("2026-11-02T12:00:%02d.123456789Z ", i%60)
		}),
		"with a pod's name before each line": prefixed(block, func(int) string {
			return "[pod/net-1-apply-1/runner] "
		}),
		"as the kubelet keeps it": prefixed(block, func(int) string {
			return "2026-11-02T12:00:00Z stdout F "
		}),
		"with other lines in between":     between,
		"after one that was cut off":      half + block,
		"after an older one":              seal(t, id, "older") + block,
		"before one that was cut off":     block + half,
		"after a line that is very long":  strings.Repeat("x", 1<<20) + "\n" + block,
		"without an end of the last line": strings.TrimSuffix(block, "\n"),
	}
	for name, log := range tests {
		t.Run(name, func(t *testing.T) {
			sealed, err := Sealed(strings.NewReader(log))
			if err != nil {
				t.Fatal(err)
			}
			clear, err := age.Decrypt(armor.NewReader(bytes.NewReader(sealed)), id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(clear); err != nil || string(got) != want {
				t.Fatalf("read %d bytes of %d: %v", len(got), len(want), err)
			}
		})
	}
}

func TestSealedReportsAMissingState(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	block := seal(t, id, strings.Repeat("a state ", 100))
	for name, log := range map[string]string{
		"an empty log":         "",
		"a log without one":    "Apply complete!\n",
		"one that was cut off": block[:len(block)-20],
		"only the end of one":  block[100:],
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Sealed(strings.NewReader(log)); !errors.Is(err, ErrNotSealed) {
				t.Fatalf("got %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestSealedIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(armor.Header+"\n"), forever(strings.Repeat("A", armorLine)+"\n"))
	if _, err := sealed(endless, 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("a state without an end: %v", err)
	}
	broken := errors.New("the log broke off")
	if _, err := Sealed(io.MultiReader(strings.NewReader("text\n"), fails{broken})); !errors.Is(err, broken) {
		t.Errorf("a log that cannot be read: %v", err)
	}
	if n, err := io.Copy(io.Discard, &bounded{from: forever("text\n"), left: 1000}); n > 1000 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// forever repeats a text.
func forever(text string) io.Reader { return &repeat{text: text} }

type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.text[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.text)
	}
	return n, nil
}

type fails struct{ err error }

func (f fails) Read([]byte) (int, error) { return 0, f.err }

// The log that a user sends may have any content.
func FuzzSealed(f *testing.F) {
	f.Add([]byte(armor.Header + "\nYWdl\n" + armor.Footer + "\n"))
	f.Add([]byte("x " + armor.Header + "\nx YWdl\nx " + armor.Footer + "\n"))
	f.Add([]byte(armor.Footer + "\n" + armor.Header))
	f.Fuzz(func(t *testing.T, log []byte) {
		sealed, err := Sealed(bytes.NewReader(log))
		if (err == nil) != (len(sealed) > 0) {
			t.Fatalf("%d bytes and %v", len(sealed), err)
		}
		if err == nil && (!bytes.HasPrefix(sealed, []byte(armor.Header+"\n")) ||
			!bytes.HasSuffix(sealed, []byte("\n"+armor.Footer+"\n"))) {
			t.Fatalf("got %q", sealed)
		}
	})
}
