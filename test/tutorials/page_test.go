package tutorials

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestOutputs(t *testing.T) {
	for name, test := range map[string]struct {
		want, got string
		equal     bool
	}{
		"the same text":                    {"net created", "net created\n", true},
		"another text":                     {"net created", "net changed\n", false},
		"more lines than the page has":     {"net created", "net created\nweb created\n", false},
		"fewer lines than the page has":    {"net created\nweb created", "net created\n", false},
		"no output, and the page has one":  {"net created", "", false},
		"an output, and the page has none": {"", "net created\n", false},
		"no output, and the page has none": {"", "", true},
		"another age":                      {"net   True   5s", "net   True   1m10s", true},
		"another age that makes a column wider": {"NAME  AGE  MESSAGE\nnet   5s   ok",
			"NAME  AGE    MESSAGE\nnet   1m10s  ok", true},
		"another commit":                             {"dev: 6ce0332 Complete", "dev: 82dfd54 Complete", true},
		"another name in a table":                    {"net   True   5s", "web   True   5s", false},
		"a digest that the page leaves out":          {"Digest sha256:... ok", "Digest sha256:12ab ok", true},
		"a text beside what the page leaves out":     {"Digest sha256:... ok", "Digest sha256:12ab bad", false},
		"lines that the page leaves out":             {"first\n...\nlast", "first\na\nb\nlast", true},
		"no lines where the page leaves lines out":   {"first\n...\nlast", "first\nlast", true},
		"another line after those that are left out": {"first\n...\nlast", "first\na\nother", false},
		"no lines after those of the page":           {"first\n...", "first\n", true},
		"other indentation":                          {"a\n  b", "a\n    b", false},
	} {
		if got := matches(test.want, test.got); got != test.equal {
			t.Errorf("%s: matches is %v", name, got)
		}
	}
}

func TestPages(t *testing.T) {
	const command = "```sh test\nkubectl get stacks\n```\n"
	for name, test := range map[string]struct{ text, want, err string }{
		"a command with its output": {"1. Run it:\n\n   ```sh test\n   a \\\n     b\n   ```\n\n   The output is:\n\n " +
			"  ```text output\n   x\n   ```\n", "run a \\\n  b\n = x\n", ""},
		"a command without output": {command, "run kubectl get stacks\n = ", ""},
		"a page without a command": {"```sh\nkubectl get stacks\n```\n", "", "the test would run nothing"},
		"an output without a command": {
			command + "```sh\ncairn get\n```\n```text output\nx\n```\n", "", "is no command that the test runs",
		},
		"an output that is empty": {command + "```text output\n```\n", "", "has no text"},
		"a misspelled marker":     {"```sh tst\na\n```\n" + command, "", `"tst" is no marker`},
		"a command that is not run": {"```sh test=no\nhelm install\n```\n\n*Not run in our tests.*\n" +
			command, "skipped helm install\n = run kubectl get stacks\n = ", ""},
		"a command that is silently not run": {"```sh test=no\nhelm install\n```\nText.\n" + command, "",
			`has no note "Not run in our tests"`},
		"a file, and what the test does more": {"```yaml file=a.yaml\nkind: Stack\n```\n<!-- test\ngit-server\n-->\n" +
			command, "file kind: Stack\n = script git-server\n = run kubectl get stacks\n = ", ""},
	} {
		path := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := parse(path)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: the error is %v", name, err)
		}
		got := ""
		for _, s := range p.steps {
			got += []string{"run", "retry", "file", "script", "skipped"}[s.kind] + " " + s.text + " = " + s.output
		}
		if got != test.want {
			t.Errorf("%s: the steps are %q", name, got)
		}
	}
}

// recorder is a test whose failure is a result.
type recorder struct {
	failed bool
	log    strings.Builder
}

func (r *recorder) Skip(...any)       {}
func (r *recorder) Parallel()         {}
func (r *recorder) Verbose() bool     { return false }
func (r *recorder) Log(args ...any)   { fmt.Fprintln(&r.log, args...) }
func (r *recorder) Fatal(args ...any) { r.Log(args...); r.FailNow() }
func (r *recorder) FailNow()          { r.failed = true; panic(r) }
func (r *recorder) Run(_ string, f func(testscript.T)) {
	defer func() {
		if cause := recover(); cause != nil && cause != any(r) {
			panic(cause)
		}
	}()
	f(r)
}

func TestSteps(t *testing.T) {
	block := func(info, text string) string { return "```" + info + "\n" + text + "\n```\n" }
	for name, test := range map[string]struct{ text, failure string }{
		"the output of the page": {block("sh test", "echo a; echo b >&2") + block("text output", "a\nb"),
			""},
		"another output": {block("sh test", "echo a") + block("text output", "b"),
			"another output"},
		"an output that the page does not have": {block("sh test", "echo a"), "another output"},
		"a command that fails": {block("sh test", "false; echo a") + block("text output", "a"),
			"exit code 1, not 0"},
		"a command that does not fail": {block("sh test exit=1", "echo a") + block("text output", "a"),
			"exit code 0, not 1"},
		"a command that fails as the page has": {block("sh test exit=2", "echo a; exit 2") + block("text output", "a"),
			""},
		"a command that is repeated": {block("sh test=retry", "echo -n x >> f; cat f") + block("text output", "xxx"),
			""},
		"files, directories and variables": {
			block("sh test", "mkdir d && cd d\nexport A=1") + block("hcl file=e/main.tf", "code") +
				block("sh test", `echo $A "${PWD##*/}" && cat e/main.tf`) +
				block("text output", "1 d\ncode"), "",
		},
	} {
		path := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := parse(path)
		if err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(t.TempDir(), "page.txtar")
		if err := os.WriteFile(script, []byte(p.testscript()), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &recorder{}
		testscript.RunT(r, testscript.Params{
			Files: []string{script}, Cmds: map[string]func(*testscript.TestScript, bool, []string){"step": p.step},
		})
		if r.failed != (test.failure != "") || !strings.Contains(r.log.String(), test.failure) {
			t.Errorf("%s: failed is %v:\n%s", name, r.failed, r.log.String())
		}
	}
}
