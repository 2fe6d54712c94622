// Command genman writes what a package of the command line has beside the program: man pages and completion scripts.
//
//	genman FOLDER VERSION
//
// SOURCE_DATE_EPOCH is the date of the man pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"cairn.dev/cairn/internal/cli"
)

// kubectlCompletion is the program that kubectl calls to complete `kubectl cairn`.
const kubectlCompletion = "#!/bin/sh\nexec cairn __complete \"$@\"\n"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: genman FOLDER VERSION")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
}

func write(folder, version string) error {
	pages, completions := filepath.Join(folder, "man", "man1"), filepath.Join(folder, "completions")
	for _, dir := range []string{pages, completions} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for all users
			return err
		}
	}
	cmd := cli.Command()
	cmd.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "cairn " + version, Manual: "Cairn"}
	if err := doc.GenManTree(cmd, header, pages); err != nil {
		return err
	}
	for name, generate := range map[string]func(string) error{
		"cairn.bash": func(name string) error { return cmd.GenBashCompletionFileV2(name, true) },
		"_cairn":     cmd.GenZshCompletionFile,
		"cairn.fish": func(name string) error { return cmd.GenFishCompletionFile(name, true) },
		"cairn.ps1":  cmd.GenPowerShellCompletionFileWithDesc,
	} {
		if err := generate(filepath.Join(completions, name)); err != nil {
			return err
		}
	}
	//nolint:gosec // kubectl runs it
	return os.WriteFile(filepath.Join(completions, "kubectl_complete-cairn"), []byte(kubectlCompletion), 0o755)
}
