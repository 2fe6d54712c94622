package attacks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestTestsOfTheSecurityModelExist checks that each test which the pages on security name exists, so that they do not
// claim more than is tested.
func TestTestsOfTheSecurityModelExist(t *testing.T) {
	tests := testsOfTheRepository(t)
	named := regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*|test/[a-z0-9/-]+[.]txtar)`")
	for _, page := range []string{"docs/concepts/attacks.md", "docs/concepts/attacks-outside.md",
		"docs/concepts/hardening.md", "docs/reference/limits.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		names := named.FindAllStringSubmatch(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no test", page)
		}
		for _, name := range names {
			if !tests[name[1]] {
				t.Errorf("%s names the test %s, which does not exist", page, name[1])
			}
		}
	}
}

// testsOfTheRepository returns the names of all test functions, and the paths of all scripts.
func testsOfTheRepository(t *testing.T) map[string]bool {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			rel, err := filepath.Rel(root, path)
			tests[filepath.ToSlash(rel)] = true
			return err
		case strings.HasSuffix(path, "_test.go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					tests[f.Name.Name] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
