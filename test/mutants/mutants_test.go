package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// guarded is a module with a guard that a test sees, one that none sees, and one that is no function's.
var guarded = map[string]string{
	"go.mod": "module guarded\n\ngo 1.26\n",
	"a/a.go": `package a

const most = 3

func positive(n int) bool {
	if n <= 0 {
		return false
	}
	return true
}

func small(n int) bool {
	if n > 100 {
		return false
	}
	return true
}

func few(n int) bool { return n <= most }

var left = 0
`,
	"a/a_test.go": `package a

import (
	"os"
	"testing"
)

func TestPositive(t *testing.T) {
	t.Run("zero", func(t *testing.T) {
		if positive(0) {
			t.Error("zero")
		}
	})
	if !positive(1) || !small(1) || few(4) {
		t.Error("one")
	}
}

// The program fails after its tests when it was asked to find what they leave behind.
func TestMain(m *testing.M) {
	if code := m.Run(); code != 0 || left == 0 {
		os.Exit(code)
	}
	os.Exit(1)
}

func TestNothing(*testing.T) {}

func TestBroken(t *testing.T) { t.Error("always") }

func TestEndless(t *testing.T) {
	for !positive(0) == false {
	}
}
`,
}

func TestWhatBecomesOfAMutant(t *testing.T) {
	root := t.TempDir()
	for name, content := range guarded {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test := func(run string) command { return command{Room: "a", Run: run} }
	for _, tt := range []struct {
		mutant
		killed, wrong string
	}{
		{mutant{Name: "killed", From: "n <= 0", To: "false && n <= 0", Test: test("Positive")}, "TestPositive/zero", ""},
		{mutant{Name: "survives", From: "n > 100", To: "false && n > 100", Test: test("Positive")}, "", ""},
		{mutant{Name: "leaves something", From: "left = 0", To: "left = 1", Test: test("Nothing")}, "", "the test passed"},
		{mutant{Name: "no function's", From: "most = 3", To: "most = 4", Test: test("Positive")}, "TestPositive", ""},
		{mutant{Name: "the test fails anyway", From: "n <= 0", To: "n < 0", Test: test("Broken")}, "", "without the mutant"},
		{mutant{Name: "no such test", From: "n <= 0", To: "n < 0", Test: test("Nobody")}, "", "there is no such test"},
		{mutant{Name: "hangs", From: "n <= 0", To: "n < 0", Test: test("Endless")}, "", "timeout"},
		{mutant{Name: "hangs as it may", From: "n <= 0", To: "n < 0", Hangs: true, Test: test("Endless")}, "TestEndless", ""},
		{mutant{Name: "does not compile", From: "most = 3", To: "most = x", Test: test("Positive")}, "", "does not compile"},
	} {
		t.Run(tt.Name, func(t *testing.T) {
			tt.File = "a/a.go"
			limit := time.Minute // a test that ends early costs nothing
			if strings.HasPrefix(tt.Name, "hangs") {
				limit = 5 * time.Second
			}
			l, err := newLab(root, t.TempDir(), limit, []mutant{tt.mutant})
			if err != nil {
				t.Fatal(err)
			}
			out := l.try(t.Context(), tt.mutant)
			if tt.wrong == "" && out.Wrong != nil || tt.wrong != "" && (out.Wrong == nil || !strings.Contains(out.Wrong.Error(), tt.wrong)) {
				t.Errorf("wrong: %v, want %q", out.Wrong, tt.wrong)
			}
			if out.Killed != tt.killed {
				t.Errorf("killed by %q, want %q", out.Killed, tt.killed)
			}
		})
	}
}

func TestAGuardThatMovedIsNoticed(t *testing.T) {
	m := mutant{Name: "x", From: "guard()", File: "a.go"}
	for content, want := range map[string]string{"f()": "not in a.go any more", "guard(); guard()": "in a.go 2 times", "guard()": ""} {
		_, err := m.apply(content)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", content, err, want)
		}
	}
}

// Each guard is where the table says. That the code compiles without them is said by `make verify`.
func TestTheTableFits(t *testing.T) {
	all, err := read(table)
	if err != nil {
		t.Fatal(err)
	}
	root, err := checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := weave(root, all); err != nil {
		t.Error(err)
	}
}

func TestATableThatIsWrong(t *testing.T) {
	const good = "- {name: a, breaks: I1, file: f, from: x, to: y, test: {room: r, run: R}}\n"
	for text, want := range map[string]string{
		good:        "",
		good + good: "two of that name",
		"- {name: a, breaks: I1, file: f, from: x, to: x, test: {room: r, run: R}}": "changes nothing",
		"- {name: a, file: f, from: x, to: y, test: {room: r, run: R}}":             "are needed",
		"- {name: a, breaks: I1, file: f, from: x, to: y, test: {room: r}}":         "are needed",
		"- {name: a, breaks: I1, file: f, from: x, to: y, test: {room: r, run: (}}": "missing closing",
		"- {name: a, because: of}": "unknown field",
	} {
		_, err := read([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestOnlyATestThatFailsKills(t *testing.T) {
	if killed, wrong := verdict("ok", errors.New("fork: no memory"), false); killed != "" || wrong == nil {
		t.Errorf("a test that could not begin: %q, %v", killed, wrong)
	}
	err := exec.CommandContext(t.Context(), "false").Run()
	if killed, wrong := verdict("flag provided but not defined", err, false); killed != "" || wrong == nil {
		t.Errorf("a test that ran nothing: %q, %v", killed, wrong)
	}
}
