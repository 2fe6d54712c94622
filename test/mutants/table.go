package main

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed mutants.yaml
var table []byte

// row is a guard and how it is removed, as the table names it.
type row struct {
	// Name says what the guard does.
	Name string `json:"name"`
	// Breaks are the invariants that it keeps (docs/contributing/mutants.md), as in "I1 I2".
	Breaks string `json:"breaks"`
	// In is the function, method, type or value with the guard, behind the last folder of its package:
	// "state.AdmitWrite", "run.Reconciler.settle". For a file that is not Go it is the path of the file.
	In string `json:"in"`
	// From is the text that is replaced by To. It occurs once in the symbol; any white space matches any other.
	From string `json:"from"`
	To   string `json:"to"`
	// Test are the tests of which one must fail then, separated by spaces.
	Test string `json:"test"`
	// Hangs: without the guard the test may also run into its timeout.
	Hangs bool `json:"hangs"`
	// Alone: it is built by itself, for it runs in a process that does not get the environment of the test.
	Alone bool `json:"alone"`
}

// mutant is a row that was found in the code.
type mutant struct {
	row

	// File has the guard; its bytes from Start to End are what is replaced.
	File       string
	Start, End int
	// Test shows the loss of the guard.
	Test command
}

// command is the narrowest `go test` that shows a guard's loss.
type command struct {
	// Dir is the package's folder, from the root of the checkout.
	Dir string
	// Run chooses the tests, as -run does.
	Run string
	// Tags are build tags; those with envtest need `make tools`.
	Tags string
}

func (c command) String() string {
	call := "go"
	module, pkg := moduleOf(c.Dir)
	if module != "" {
		call += " -C " + module
	}
	call += " test"
	if c.Tags != "" {
		call += " -tags " + c.Tags
	}
	return fmt.Sprintf("%s -run '%s' %s", call, c.Run, pkg)
}

// moduleOf returns the folder of the module with a package, empty for that of the checkout, and the package within it.
func moduleOf(dir string) (module, pkg string) {
	if rest, ok := strings.CutPrefix(dir+"/", "migrate/"); ok {
		return "migrate", strings.TrimSuffix("./"+rest, "/")
	}
	return "", "./" + dir
}

// read parses a table. A row that leaves something out is an error.
func read(table []byte) ([]row, error) {
	var all []row
	if err := yaml.UnmarshalStrict(table, &all); err != nil {
		return nil, err
	}
	var wrong []error
	seen := map[string]bool{}
	for _, r := range all {
		switch {
		case r.Name == "", r.Breaks == "", r.In == "", r.From == "", r.Test == "":
			wrong = append(wrong, fmt.Errorf("mutant %q: name, breaks, in, from and test are needed", r.Name))
		case seen[r.Name]:
			wrong = append(wrong, fmt.Errorf("mutant %q: there are two of that name", r.Name))
		case r.From == r.To:
			wrong = append(wrong, fmt.Errorf("mutant %q: changes nothing", r.Name))
		}
		seen[r.Name] = true
	}
	return all, errors.Join(wrong...)
}

// find locates the guards of all rows in the checkout.
func find(root string, rows []row) ([]mutant, error) {
	x, err := newIndex(root)
	if err != nil {
		return nil, err
	}
	var all []mutant
	var wrong []error
	for _, r := range rows {
		m, err := r.find(root, x)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("mutant %q: %w; see test/mutants/mutants.yaml", r.Name, err))
			continue
		}
		all = append(all, m)
	}
	return all, errors.Join(wrong...)
}

func (r row) find(root string, x *index) (mutant, error) {
	m := mutant{row: r}
	var err error
	if m.Test, err = x.command(r.Test); err != nil {
		return m, err
	}
	var in declaration
	if ext := path.Ext(r.In); ext == ".yaml" || ext == ".yml" {
		in = declaration{file: r.In}
	} else if in, err = x.symbol(r.In); err != nil {
		return m, err
	}
	content, err := readFile(root, in.file)
	if err != nil {
		return m, err
	}
	if in.end == 0 {
		in.end = len(content)
	}
	found := r.pattern().FindAllStringIndex(content[in.start:in.end], 2)
	switch len(found) {
	case 0:
		return m, fmt.Errorf("its guard is no longer in %s (%s)", r.In, in.file)
	case 1:
		m.File, m.Start, m.End = in.file, in.start+found[0][0], in.start+found[0][1]
		return m, nil
	}
	return m, fmt.Errorf("its guard is in %s (%s) more than once: take more of the text around it into from",
		r.In, in.file)
}

// pattern matches from with any white space in place of its own.
func (r row) pattern() *regexp.Regexp {
	words := strings.Fields(r.From)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(strings.Join(words, `\s+`))
}

// apply returns the content of the file without the guard.
func (m mutant) apply(content string) string {
	return content[:m.Start] + m.To + content[m.End:]
}
