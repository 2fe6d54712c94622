package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What tools/packages does on a machine that lacks packages, for `make setup` and .ci/run.
func TestPackages(t *testing.T) {
	const installs = "update\ninstall -y --no-install-recommends git runc\n"
	for name, tt := range map[string]struct {
		// programs of the machine, beside dpkg-query, env and node.
		programs []string
		missing  []string
		args     []string
		fails    bool
		says     string
		// installed is what apt-get was called with.
		installed string
	}{
		"says nothing when all is there": {programs: []string{"apt-get"}},
		"names what is missing and how to install it": {
			programs: []string{"apt-get"}, missing: []string{"git", "runc"}, fails: true,
			says: "missing packages: git runc; install them as root: apt-get install -y " +
				"--no-install-recommends git runc\n",
		},
		"installs what is missing": {
			programs: []string{"apt-get", "sudo"}, missing: []string{"git", "runc"}, args: []string{"install"},
			says: "installing git runc\n", installed: installs,
		},
		"takes a program that is there without its package": {
			programs: []string{"apt-get", "sudo", "skopeo"}, missing: []string{"git", "runc", "skopeo"},
			args: []string{"install"},
			says: "installing git runc\n", installed: installs,
		},
		"goes on where there is no apt-get": {
			programs: []string{"sudo"}, missing: []string{"git"}, args: []string{"install"},
			says: "not found, by the names of Debian's packages: git; this system has no apt-get: install what is " +
				"missing with its own package manager\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bin, log := t.TempDir(), filepath.Join(t.TempDir(), "installed")
			put := func(name, script string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\n"+script+"\n"),
					0o700); err != nil {
					t.Fatal(err)
				}
			}
			put("dpkg-query", `[[ " $MISSING " == *" ${!#} "* ]] || printf installed`)
			put("env", `while [[ $1 == *=* ]]; do export "$1"; shift; done; "$@"`)
			put("node", "")
			for _, program := range tt.programs {
				switch program {
				case "apt-get":
					put(program, `printf '%s\n' "${*:2}" >>"$LOG"`) // the first is -qq
				case "sudo":
					put(program, `"$@"`)
				default:
					put(program, "")
				}
			}
			if _, err := os.Stat("../../tools/packages"); err != nil { // go test does not see what bash reads
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "/bin/bash",
				append([]string{"../../tools/packages"}, tt.args...)...)
			cmd.Env = []string{"PATH=" + bin, "LOG=" + log, "MISSING=" + strings.Join(tt.missing, " ")}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tt.fails || string(out) != tt.says {
				t.Errorf("%v: %q, want %q", err, out, tt.says)
			}
			if got, _ := os.ReadFile(log); string(got) != tt.installed {
				t.Errorf("apt-get got %q, want %q", got, tt.installed)
			}
		})
	}
}
