package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// variable is what the environment says which guard is out.
const variable = "MUTANT"

// switchFile is in each package that has mutants woven into it.
const switchFile = "zz_mutant.go"

// weave gives files in which a function has, beside its body, those without its guards: which one runs is said by the
// environment. So a room is built once for all of its mutants, and linking, which takes longer than all else, is done
// once.
//
//	func f() error {                             func f() error {
//		if guard() {                                 if mutant == "the name" {
//			return no                                    return nil
//		}                               ──►          }
//		return nil                                   if guard() {
//	}                                                    return no
//	                                                 }
//	                                                 return nil
//	                                             }
//
// What is not in a function, as a constant or a file that is no code, is given back as plain: it takes a build of its
// own.
func weave(root string, mutants []mutant) (files map[string]string, plain []mutant, err error) {
	byFile := map[string][]mutant{}
	for _, m := range mutants {
		byFile[m.File] = append(byFile[m.File], m)
	}
	files = map[string]string{}
	for file, all := range byFile {
		content, err := readFile(root, file)
		if err != nil {
			return nil, nil, err
		}
		woven, rest, err := weaveFile(file, content, all)
		if err != nil {
			return nil, nil, err
		}
		plain = append(plain, rest...)
		if len(rest) < len(all) {
			files[file] = woven.content
			files[path.Join(path.Dir(file), switchFile)] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar "+
				"cairnMutant = os.Getenv(%q)\n", woven.name, variable)
		}
	}
	return files, plain, nil
}

// woven is a file, and the name of its package.
type woven struct{ content, name string }

func weaveFile(file, content string, mutants []mutant) (woven, []mutant, error) {
	if path.Ext(file) != ".go" {
		return woven{}, mutants, nil
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, content, parser.SkipObjectResolution)
	if err != nil {
		return woven{}, nil, err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	type insertion struct {
		at   int
		text string
	}
	var insertions []insertion
	var plain []mutant
	for _, m := range mutants {
		mutated := m.apply(content)
		f := functionAt(tree, func(f *ast.FuncDecl) bool {
			return offset(f.Body.Lbrace) < m.Start && m.End <= offset(f.Body.Rbrace)+1
		})
		if f == nil || m.Alone {
			plain = append(plain, m)
			continue
		}
		body := mutated[offset(f.Body.Lbrace)+1 : offset(f.Body.Rbrace)+len(m.To)-(m.End-m.Start)]
		if f.Type.Results == nil {
			body += "\nreturn\n"
		}
		insertions = append(insertions,
			insertion{offset(f.Body.Lbrace) + 1, fmt.Sprintf("\nif cairnMutant == %q {%s\n}\n", m.Name, body)})
	}
	slices.SortStableFunc(insertions, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	from := 0
	for _, i := range insertions {
		out.WriteString(content[from:i.at])
		out.WriteString(i.text)
		from = i.at
	}
	out.WriteString(content[from:])
	return woven{out.String(), tree.Name.Name}, plain, nil
}

// functionAt finds the function, nil when there is none. One with labels cannot have its body twice.
func functionAt(tree *ast.File, is func(*ast.FuncDecl) bool) *ast.FuncDecl {
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || !is(f) {
			continue
		}
		labels := false
		ast.Inspect(f, func(n ast.Node) bool {
			_, label := n.(*ast.LabeledStmt)
			labels = labels || label
			return true
		})
		if !labels {
			return f
		}
	}
	return nil
}
