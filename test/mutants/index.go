package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// index maps the names of symbols and tests to where they are, so that the table needs no paths: a file that is
// renamed, or a package that is moved, changes nothing in it.
type index struct {
	// symbols are the declarations by name, as in "AdmitWrite" or "Store.Update".
	symbols map[string][]declaration
	// tests are the Test functions by name.
	tests map[string][]testFunction
}

// declaration is a piece of a file.
type declaration struct {
	file       string // from the root of the checkout
	start, end int    // offsets in bytes
}

type testFunction struct {
	dir  string
	tags string
}

// buildTag is the one build tag that tests of the table use.
const buildTag = "envtest"

// newIndex parses all Go files beneath root that this platform builds.
func newIndex(root string) (*index, error) {
	x := &index{symbols: map[string][]declaration{}, tests: map[string][]testFunction{}}
	return x, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (skipped[entry.Name()] || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return x.add(root, name)
	})
}

// skipped are the folders without code of Cairn's.
var skipped = map[string]bool{"node_modules": true, "testdata": true, "bin": true}

func (x *index) add(root, name string) error {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return err
	}
	file, err := filepath.Rel(root, name)
	if err != nil {
		return err
	}
	file = filepath.ToSlash(file)
	if strings.HasSuffix(file, "_test.go") {
		x.addTests(file, tree)
		return nil
	}
	if built, err := build.Default.MatchFile(filepath.Dir(name), filepath.Base(name)); err != nil || !built {
		return err
	}
	for _, d := range tree.Decls {
		for symbol, node := range declared(d) {
			start, end := set.Position(node.Pos()).Offset, set.Position(node.End()).Offset
			x.symbols[symbol] = append(x.symbols[symbol], declaration{file, start, end})
		}
	}
	return nil
}

func (x *index) addTests(file string, tree *ast.File) {
	tags := ""
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if e, err := constraint.Parse(c.Text); err == nil && !e.Eval(func(tag string) bool {
				return tag != buildTag
			}) {
				tags = buildTag
			}
		}
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			x.tests[f.Name.Name] = append(x.tests[f.Name.Name], testFunction{path.Dir(file), tags})
		}
	}
}

// declared returns the symbols of a declaration. The comment above one is no part of it.
func declared(d ast.Decl) map[string]ast.Node {
	symbols := map[string]ast.Node{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		symbols[name] = d
	case *ast.GenDecl:
		for _, s := range d.Specs {
			var node ast.Node = s
			if !d.Lparen.IsValid() {
				node = d // with its keyword
			}
			switch s := s.(type) {
			case *ast.TypeSpec:
				symbols[s.Name.Name] = node
			case *ast.ValueSpec:
				for _, n := range s.Names {
					symbols[n.Name] = node
				}
			}
		}
	}
	return symbols
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// symbol finds the declaration that a row of the table names: "state.AdmitWrite", or "stack/decision.Decide" where two
// folders have the same name.
func (x *index) symbol(name string) (declaration, error) {
	folder, symbol := split(name)
	found := slices.DeleteFunc(slices.Clone(x.symbols[symbol]), func(d declaration) bool {
		return !endsWith(path.Dir(d.file), folder)
	})
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return declaration{}, fmt.Errorf("there is no symbol %s", name)
	}
	files := map[string]bool{}
	for _, d := range found {
		files[d.file] = true
	}
	return declaration{}, fmt.Errorf("symbol %s is in %s: name more of the folder", name,
		strings.Join(slices.Sorted(maps.Keys(files)), " and "))
}

// command returns the `go test` of the tests with these names, separated by spaces: "TestClamp",
// "TestClamp/of_numbers", or "server.TestClamp" where two packages have a test of that name.
func (x *index) command(names string) (command, error) {
	var c command
	var run []string
	for _, name := range strings.Fields(names) {
		folder, test := "", name
		if i := strings.Index(name, ".Test"); i >= 0 {
			folder, test = name[:i], name[i+1:]
		}
		test, sub, hasSub := strings.Cut(test, "/")
		found := slices.DeleteFunc(slices.Clone(x.tests[test]), func(t testFunction) bool {
			return folder != "" && !endsWith(t.dir, folder)
		})
		switch {
		case len(found) == 0:
			return c, fmt.Errorf("there is no test %s", name)
		case len(found) > 1:
			return c, fmt.Errorf("there is a test %s in %s and in %s: put the folder before its name, as in state.%s",
				name, found[0].dir, found[1].dir, test)
		case c.Dir != "" && c.Dir != found[0].dir:
			return c, fmt.Errorf("tests %q are in two packages", names)
		}
		if c.Dir = found[0].dir; found[0].tags != "" {
			c.Tags = found[0].tags
		}
		pattern := "^" + test + "$"
		if hasSub {
			pattern += "/^" + sub + "$"
		}
		run = append(run, pattern)
	}
	c.Run = strings.Join(run, "|")
	return c, nil
}

// split divides "stack/decision.World.active" into the folder "stack/decision" and the symbol "World.active".
func split(name string) (folder, symbol string) {
	slash := strings.LastIndex(name, "/") + 1
	folder, symbol, _ = strings.Cut(name[slash:], ".")
	return name[:slash] + folder, symbol
}

// endsWith says whether a path is the folder, or ends in it.
func endsWith(dir, folder string) bool {
	return dir == folder || strings.HasSuffix(dir, "/"+folder)
}

// readFile reads a file beneath root.
func readFile(root, name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, name))
	return string(content), err
}
