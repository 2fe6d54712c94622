package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed mutants.yaml
var table []byte

// mutant is a guard and how it is taken out.
type mutant struct {
	// Name says what the guard does.
	Name string `json:"name"`
	// Breaks are the invariants that it keeps (docs/reliability.md), as in "I1 I2".
	Breaks string `json:"breaks"`
	// File is where it is, from the root of the checkout.
	File string `json:"file"`
	// From is the text that is replaced by To. It is in the file just once, or the guard has moved.
	From string `json:"from"`
	To   string `json:"to"`
	// Test must fail then.
	Test command `json:"test"`
	// Hangs: without the guard the test may also run into its timeout.
	Hangs bool `json:"hangs"`
	// Alone: it is built by itself, for it runs in a process that does not get the environment of the test.
	Alone bool `json:"alone"`
}

// command is the narrowest `go test` that shows a guard's loss.
type command struct {
	// Room is the package, from the root of the checkout.
	Room string `json:"room"`
	// Run chooses the tests, as -run does.
	Run string `json:"run"`
	// Tags are build tags; those with envtest need `make tools`.
	Tags string `json:"tags"`
}

func (c command) String() string {
	if c.Tags == "" {
		return fmt.Sprintf("go test -run '%s' ./%s", c.Run, c.Room)
	}
	return fmt.Sprintf("go test -tags %s -run '%s' ./%s", c.Tags, c.Run, c.Room)
}

// read gives the mutants of a table, and refuses one that leaves something out.
func read(table []byte) ([]mutant, error) {
	var all []mutant
	if err := yaml.UnmarshalStrict(table, &all); err != nil {
		return nil, err
	}
	var wrong []error
	seen := map[string]bool{}
	for _, m := range all {
		_, err := regexp.Compile(m.Test.Run)
		switch {
		case m.Name == "", m.Breaks == "", m.File == "", m.From == "", m.Test.Room == "", m.Test.Run == "":
			wrong = append(wrong, fmt.Errorf("mutant %q: name, breaks, file, from, test.room and test.run are needed", m.Name))
		case seen[m.Name]:
			wrong = append(wrong, fmt.Errorf("mutant %q: there are two of that name", m.Name))
		case m.From == m.To:
			wrong = append(wrong, fmt.Errorf("mutant %q: changes nothing", m.Name))
		case err != nil:
			wrong = append(wrong, fmt.Errorf("mutant %q: %w", m.Name, err))
		}
		seen[m.Name] = true
	}
	return all, errors.Join(wrong...)
}

// apply gives the content of its file without the guard.
func (m mutant) apply(content string) (string, error) {
	switch n := strings.Count(content, m.From); n {
	case 1:
		return strings.Replace(content, m.From, m.To, 1), nil
	case 0:
		return "", fmt.Errorf("mutant %q: its guard is not in %s any more; say in test/mutants/mutants.yaml where it is now", m.Name, m.File)
	default:
		return "", fmt.Errorf("mutant %q: its guard is in %s %d times; take more of the text around it into mutants.yaml", m.Name, m.File, n)
	}
}

// source reads the mutant's file beneath root.
func (m mutant) source(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, m.File))
	return string(content), err
}
