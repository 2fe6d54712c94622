package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindOtherPrograms(t *testing.T) {
	for _, p := range []program{controller, migrator} {
		t.Run(p.name, func(t *testing.T) {
			folder, elsewhere := t.TempDir(), t.TempDir()
			t.Setenv("PATH", elsewhere)
			if _, err := p.find(folder); err == nil || !strings.HasPrefix(err.Error(), "the program "+p.name+
				" is neither in "+folder+" nor in PATH: ") {
				t.Errorf("without the program: %v", err)
			}
			for _, dir := range []string{elsewhere, folder} {
				want := filepath.Join(dir, p.name)
				if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
					t.Fatal(err)
				}
				for _, folders := range [][]string{{folder}, {t.TempDir(), folder}} {
					if got, err := p.find(folders...); got != want || err != nil {
						t.Errorf("%s, %v; want %s", got, err, want)
					}
				}
			}
		})
	}
}

// init runs the command in the process that TestMigrateStartsTheOtherProgram starts, before TestMain starts an API
// server.
func init() {
	if os.Getenv("AS_PROGRAM") != "" {
		os.Args = []string{"cairn", "migrate", "-f", "-", "-n", "a b"}
		os.Exit(Main())
	}
}

// TestMigrateStartsTheOtherProgram checks that cairn-migrate gets the arguments and the standard input of cairn, and
// that its exit code is that of the command.
func TestMigrateStartsTheOtherProgram(t *testing.T) {
	cairn := func(path string) (out, errOut string, code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = []string{"AS_PROGRAM=1", "PATH=" + path}
		cmd.Stdin = strings.NewReader("an object")
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return o.String(), e.String(), cmd.ProcessState.ExitCode()
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf '<%s>' \"$@\"\nread -r line || :\necho \"$line\"\nexit 7\n"
	if err := os.WriteFile(filepath.Join(bin, "cairn-migrate"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, errOut, code := cairn(bin); out != "<migrate><-f><-><-n><a b>an object\n" || errOut != "" || code != 7 {
		t.Errorf("%q, %q, exit code %d", out, errOut, code)
	}
	out, errOut, code := cairn(t.TempDir())
	if out != "" || !strings.HasPrefix(errOut, "cairn: the program cairn-migrate is neither in ") ||
		!strings.Contains(errOut, "how-to/cli.md") || code != 1 {
		t.Errorf("without the program: %q, %q, exit code %d", out, errOut, code)
	}
}
