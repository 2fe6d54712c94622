package operator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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
	"internal/runnerapi/failure.go": nil,                      // TestRunnerReportsValuesOfTheAPI
	"internal/git/errors.go":        nil,                      // TestCodeReasonsAreReasonsOfTheAPI
	"internal/closure/errors.go":    nil,                      // TestCodeReasonsAreReasonsOfTheAPI
	"internal/engine/classify.go":   {"AuthenticationFailed"}, // Azure's
	"internal/cli/stack/get.go":     {"PullRequests"},         // the plural of the kind, as a title
	"cmd/gendocs/httpapi.go":        {"PullRequests"},         // the same
}

// TestValuesOfTheAPIAreConstants checks that conditions, reasons, phases and failure classes are constants of
// api/v1alpha1: one location to search, to document and to rename.
func TestValuesOfTheAPIAreConstants(t *testing.T) {
	words := wordsOfTheAPI(t)
	if len(words) < 100 {
		t.Fatalf("the API has only %d words", len(words))
	}
	files := 0
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			others, known := elsewhere[name]
			if known && others == nil {
				return nil
			}
			files++
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for at, word := range literalWords(file, words) {
				if !slices.Contains(others, word) {
					t.Errorf("%s:%d spells %q: use the constant of api/v1alpha1", name, fset.Position(at).Line, word)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("only %d files were read", files)
	}
}

// literalWords returns the string literals of a file that are words of the API, by position. A word of several parts,
// as PodLost, has no other meaning, so it counts everywhere. A plain one, as Applied, counts only where a field or
// variable of that type is set or compared.
func literalWords(file *ast.File, words map[string]bool) map[token.Pos]string {
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
			if name := called(n.Fun); name == "stalled" || name == "unready" || name == "progressing" || name == "Eventf" {
				plain(n.Args...)
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
		return e.Name == "Reason" || e.Name == "reason" || e.Name == "Class" || e.Name == "class" || e.Name == "Phase" || e.Name == "phase"
	case *ast.SelectorExpr:
		return named(e.Sel)
	case *ast.CallExpr: // string(x.Phase)
		return len(e.Args) == 1 && called(e.Fun) == "string" && named(e.Args[0])
	}
	return false
}

func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
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

// wordsOfTheAPI returns the values of the API's constants for conditions, reasons, events, failures and phases.
func wordsOfTheAPI(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("../../api/v1alpha1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				for _, kind := range []string{"Condition", "Reason", "Event", "Failure", "Phase"} {
					if strings.HasPrefix(name.Name, kind) && i < len(spec.Values) {
						if word := literal(spec.Values[i]); word != "" { // else it is another constant
							words[word] = true
						}
					}
				}
			}
			return true
		})
	}
	return words
}

func TestLiteralValues(t *testing.T) {
	words := map[string]bool{"Applied": true, "PodLost": true}
	for code, want := range map[string]int{
		`x := Failure{Class: "Applied"}`:                    1,
		`if c.Reason == "Applied" {}`:                       1,
		`switch string(r.Status.Phase) { case "Applied": }`: 1,
		`d.Reason, d.Message = "Applied", ""`:               1,
		`stalled("Applied", "")`:                            1,
		`list := []string{"PodLost"}`:                       1,
		`fmt.Println("Applied")`:                            0,
		`c := map[string]int{"Applied": 1}`:                 0,
		`if t.Reason == "Evicted" {}`:                       0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+code+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := literalWords(file, words); len(got) != want {
			t.Errorf("%s: found %v, want %d", code, got, want)
		}
	}
}
