package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What tools/affected tests after a change in a repository with three packages: upper imports lower, and so does
// the test of tested.
func TestAffected(t *testing.T) {
	script, err := os.ReadFile("../../tools/affected")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		changed string
		want    []string
	}{
		"a package and all that depend on it": {"internal/lower/lower.go", []string{
			"unit internal/lower", "unit internal/tested", "unit internal/upper", "envtest internal/lower",
		}},
		"a package that none imports": {"internal/upper/upper.go", []string{
			"unit internal/upper", "envtest internal/upper",
		}},
		"the package beside the data of a test": {"internal/upper/testdata/a/b.txt", []string{
			"unit internal/upper", "envtest internal/upper",
		}},
		"nothing for a page": {"docs/page.md", nil},
		"all for another version of a dependency": {"go.mod", []string{
			"unit internal/lower", "unit internal/tested", "unit internal/upper",
			"envtest internal/lower", "envtest internal/tested", "envtest internal/upper",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(path, text string) {
				t.Helper()
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			run := func(program string, args ...string) string {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir = root
				cmd.Env = append(os.Environ(), "LIST=1", "GOFLAGS=", "GIT_CONFIG_GLOBAL="+os.DevNull)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s %q: %v\n%s", program, args, err, out)
				}
				return string(out)
			}
			write("tools/affected", string(script))
			write("go.mod", "module example.org/m\n\ngo 1.26\n")
			write("docs/page.md", "")
			for _, folder := range []string{"cmd", "charts", "dev", "web"} {
				write(folder+"/none/none.go", "package none\n")
			}
			write("internal/lower/lower.go", "package lower\n")
			write("internal/lower/lower_test.go", "package lower\n")
			write("internal/upper/upper.go", "package upper\n\nimport _ \"example.org/m/internal/lower\"\n")
			write("internal/upper/upper_test.go", "package upper\n")
			write("internal/upper/testdata/a/b.txt", "")
			write("internal/tested/tested.go", "package tested\n")
			write("internal/tested/tested_test.go", "package tested\n\nimport _ \"example.org/m/internal/lower\"\n")
			run("git", "init", "-q")
			run("git", "add", ".")
			run("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "first")
			before, err := os.ReadFile(filepath.Join(root, tt.changed))
			if err != nil {
				t.Fatal(err)
			}
			write(tt.changed, string(before)+"\n")

			var got []string
			for line := range strings.Lines(run("bash", "tools/affected", "HEAD")) {
				if kind, of, ok := strings.Cut(strings.TrimSpace(line), " example.org/m/"); ok {
					got = append(got, kind+" "+of)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
