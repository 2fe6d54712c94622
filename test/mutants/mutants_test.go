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
	for _, tt := range []struct {
		row
		killed, wrong string
	}{
		{row{Name: "killed", In: "a.positive", From: "n <= 0", To: "false && n <= 0", Test: "TestPositive"},
			"TestPositive/zero", ""},
		{row{Name: "survives", In: "a.small", From: "n > 100", To: "false && n > 100", Test: "TestPositive"}, "", ""},
		{row{Name: "leaves something", In: "a.left", From: "left = 0", To: "left = 1", Test: "TestNothing"}, "",
			"the test passed"},
		{row{Name: "not in a function", In: "a.most", From: "most = 3", To: "most = 4", Test: "TestPositive"},
			"TestPositive", ""},
		{row{Name: "the test fails anyway", In: "a.positive", From: "n <= 0", To: "n < 0", Test: "TestBroken"}, "",
			"without the mutant"},
		{row{Name: "hangs", In: "a.positive", From: "n <= 0", To: "n < 0", Test: "TestEndless"}, "", "timeout"},
		{row{Name: "hangs as it may", In: "a.positive", From: "n <= 0", To: "n < 0", Hangs: true, Test: "TestEndless"},
			"TestEndless", ""},
		{row{Name: "does not compile", In: "a.most", From: "most = 3", To: "most = x", Test: "TestPositive"}, "",
			"does not compile"},
	} {
		t.Run(tt.Name, func(t *testing.T) {
			found, err := find(root, []row{tt.row})
			if err != nil {
				t.Fatal(err)
			}
			limit := time.Minute // a test that ends early costs nothing
			if strings.HasPrefix(tt.Name, "hangs") {
				limit = 5 * time.Second
			}
			l, err := newLab(root, t.TempDir(), limit, found)
			if err != nil {
				t.Fatal(err)
			}
			out := l.try(t.Context(), found[0])
			if tt.wrong == "" && out.Wrong != nil ||
				tt.wrong != "" && (out.Wrong == nil || !strings.Contains(out.Wrong.Error(), tt.wrong)) {
				t.Errorf("wrong: %v, want %q", out.Wrong, tt.wrong)
			}
			if out.Killed != tt.killed {
				t.Errorf("killed by %q, want %q", out.Killed, tt.killed)
			}
		})
	}
}

func TestAGuardIsFoundByItsSymbol(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"x/one/a.go": "package one\n\ntype T[P any] struct{}\n\nfunc (t *T[P]) Do() " +
			"{\n\tguard()\n}\n\nfunc Do() {\n\tguard()\n\tif guard() &&\n\t\tmore {\n\t}\n}\n",
		"y/one/b.go":            "package one\n\nfunc Do() { guard() }\n\nfunc Only() { guard() }\n",
		"migrate/c.go":          "package migrate\n\nfunc Do() { guard() }\n",
		"migrate/one/c_test.go": "package one\n\nfunc TestModule(t *testing.T) {}\n",
		"y/one/b_windows.go":    "package one\n\nfunc Only() { guard() }\n",
		"y/one/b_test.go":       "package one\n\nfunc TestOnly(t *testing.T) {}\n\nfunc TestTwice(t *testing.T) {}\n",
		"x/one/cluster_test.go": "//go:build envtest\n\npackage one\n\nfunc TestTwice(t *testing.T) {}\n\nfunc " +
			"TestCluster(t *testing.T) {}\n",
		"chart/policy.yaml": "guard: true\n",
	} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, in, from, test, file, command, wrong string }{
		{"a function", "one.Only", "guard()", "TestOnly", "y/one/b.go", "go test -run '^TestOnly$' ./y/one", ""},
		{"a method of a generic type", "one.T.Do", "guard()", "TestOnly", "x/one/a.go",
			"go test -run '^TestOnly$' ./y/one", ""},
		{"a test with a build tag", "one.Only", "guard()", "TestCluster", "y/one/b.go",
			"go test -tags envtest -run '^TestCluster$' ./x/one", ""},
		{"a subtest, and a second test", "one.Only", "guard()", "TestOnly/of_it y/one.TestTwice", "y/one/b.go",
			"go test -run '^TestOnly$/^of_it$|^TestTwice$' ./y/one", ""},
		{"a module of its own", "migrate.Do", "guard()", "TestModule", "migrate/c.go",
			"go -C migrate test -run '^TestModule$' ./one", ""},
		{"any white space", "x/one.Do", "if guard() && more {", "TestOnly", "x/one/a.go",
			"go test -run '^TestOnly$' ./y/one", ""},
		{"a file that is not Go", "chart/policy.yaml", "true", "TestOnly", "chart/policy.yaml",
			"go test -run '^TestOnly$' ./y/one", ""},
		{"a symbol of two packages", "one.Do", "guard()", "TestOnly", "", "", "x/one/a.go and y/one/b.go"},
		{"no symbol", "one.Gone", "guard()", "TestOnly", "", "", "no symbol one.Gone"},
		{"the guard is gone", "one.Only", "check()", "TestOnly", "", "", "no longer in one.Only"},
		{"the guard is there twice", "x/one.Do", "guard()", "TestOnly", "", "", "more than once"},
		{"no test", "one.Only", "guard()", "TestGone", "", "", "no test TestGone"},
		{"a test of two packages", "one.Only", "guard()", "TestTwice", "", "", "put the folder before its name"},
		{"tests of two packages", "one.Only", "guard()", "TestOnly TestCluster", "", "", "in two packages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := find(root, []row{{Name: "x", In: tt.in, From: tt.from, Test: tt.test}})
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("got %v, want %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if found[0].File != tt.file || found[0].Test.String() != tt.command {
				t.Errorf("found %s, %s", found[0].File, found[0].Test)
			}
		})
	}
}

// Each guard is where the table says. That the code compiles without them is said by `make verify`.
func TestTheTableFits(t *testing.T) {
	rows, err := read(table)
	if err != nil {
		t.Fatal(err)
	}
	root, err := checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := find(root, rows); err != nil {
		t.Error(err)
	}
}

func TestATableThatIsWrong(t *testing.T) {
	const good = "- {name: a, breaks: I1, in: p.f, from: x, to: y, test: TestA}\n"
	for text, want := range map[string]string{
		good:        "",
		good + good: "two of that name",
		"- {name: a, breaks: I1, in: p.f, from: x, to: x, test: TestA}": "changes nothing",
		"- {name: a, in: p.f, from: x, to: y, test: TestA}":             "are needed",
		"- {name: a, breaks: I1, in: p.f, from: x, to: y}":              "are needed",
		"- {name: a, because: of}":                                      "unknown field",
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
