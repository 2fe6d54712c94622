package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// elsewhere lists the files that repeat words of the API since they cannot import it, each with the test that compares
// them, and words of other systems that equal one of the API.
var elsewhere = map[string][]string{
	"internal/runnerapi/failure.go":           nil,                      // TestRunnerReportsValuesOfTheAPI
	"internal/source/git/errors.go":           nil,                      // TestCodeReasonsAreReasonsOfTheAPI
	"internal/source/closure/errors.go":       nil,                      // TestCodeReasonsAreReasonsOfTheAPI
	"internal/engine/classify.go":             {"AuthenticationFailed"}, // Azure's
	"internal/lifecycle/kinds/pullrequest.go": {"PullRequests"},         // the plural of the kind, as a title
}

// TestValuesOfTheAPIAreConstants checks that conditions, reasons, phases and failure classes are constants of
// api/v1alpha1: one location to search, to document and to rename.
func TestValuesOfTheAPIAreConstants(t *testing.T) {
	words := map[string]bool{}
	for _, word := range constantsOfAPI(t, "Condition", "Reason", "Event", "Failure", "Phase") {
		words[word] = true
	}
	for _, p := range program(t) {
		if p.PkgPath == pathOfAPI {
			continue
		}
		for i, file := range p.Syntax {
			path, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(p.GoFiles[i], path)), "/")
			others, known := elsewhere[name]
			if known && others == nil {
				continue
			}
			for at, word := range literalWords(p.TypesInfo, file, words) {
				if !slices.Contains(others, word) {
					t.Errorf("%s:%d spells %q: use the constant of api/v1alpha1", name, p.Fset.Position(at).Line, word)
				}
			}
		}
	}
}

// literalWords returns the string literals of a file that are words of the API, by position. A word of several parts,
// as PodLost, has no other meaning, so it counts everywhere. A plain one, as Applied, counts only where a field or
// variable of that name is set or compared, or is a parameter.
func literalWords(info *types.Info, file *ast.File, words map[string]bool) map[token.Pos]string {
	found := map[token.Pos]string{}
	plain := func(values ...ast.Expr) {
		for _, v := range values {
			if word := literal(v); words[word] {
				found[v.Pos()] = word
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if word := literal(n); words[word] && capitals(word) > 1 {
				found[n.Pos()] = word
			}
		case *ast.KeyValueExpr:
			if named(n.Key) {
				plain(n.Value)
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (named(n.X) || named(n.Y)) {
				plain(n.X, n.Y)
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if named(to) && i < len(n.Rhs) {
					plain(n.Rhs[i])
				}
			}
		case *ast.SwitchStmt:
			if n.Tag == nil || !named(n.Tag) {
				break
			}
			for _, c := range n.Body.List {
				plain(c.(*ast.CaseClause).List...)
			}
		case *ast.CallExpr:
			of, ok := info.TypeOf(n.Fun).(*types.Signature)
			for i := 0; ok && i < min(of.Params().Len(), len(n.Args)); i++ {
				if isNamed(of.Params().At(i).Name()) {
					plain(n.Args[i])
				}
			}
		}
		return true
	})
	return found
}

// named returns whether an expression is a field or a variable for a reason, a class or a phase.
func named(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return isNamed(e.Name)
	case *ast.SelectorExpr:
		return named(e.Sel)
	case *ast.CallExpr: // string(x.Phase)
		return len(e.Args) == 1 && called(e.Fun) == "string" && named(e.Args[0])
	}
	return false
}

func isNamed(name string) bool {
	return slices.Contains([]string{"reason", "class", "phase"}, strings.ToLower(name))
}

func called(e ast.Expr) string {
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}

// capitals counts the capital letters.
func capitals(word string) int {
	n := 0
	for _, r := range word {
		if unicode.IsUpper(r) {
			n++
		}
	}
	return n
}

func TestLiteralValues(t *testing.T) {
	words := map[string]bool{"Applied": true, "PodLost": true}
	for code, want := range map[string]int{
		`x := Failure{Class: "Applied"}`:                    1,
		`if c.Reason == "Applied" {}`:                       1,
		`switch string(r.Status.Phase) { case "Applied": }`: 1,
		`d.Reason, d.Message = "Applied", ""`:               1,
		`stalled("Applied", "")`:                            1,
		`stalled("", "Applied")`:                            0,
		`list := []string{"PodLost"}`:                       1,
		`fmt.Println("Applied")`:                            0,
		`c := map[string]int{"Applied": 1}`:                 0,
		`if t.Reason == "Evicted" {}`:                       0,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x\nfunc stalled(reason, text string) {}\nfunc f() {\n"+
			code+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		unknown := types.Config{Error: func(error) {}} // the names that the code does not declare
		_, _ = unknown.Check("x", fset, []*ast.File{file}, info)
		if got := literalWords(info, file, words); len(got) != want {
			t.Errorf("%s: found %v, want %d", code, got, want)
		}
	}
}
