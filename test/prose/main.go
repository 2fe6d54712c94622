// Command prose writes the texts of Go files that a user reads into a folder, for a prose linter: `make lint`.
//
// Each Go file becomes a Markdown file of the same name that has the text of its string literals, and with -comments that of its
// comments, on the lines where the code has them, so that what the linter reports can be found. A literal is prose when it has
// three words or more. Tests have no users and are left out.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	comments := flag.Bool("comments", false, "write the comments too")
	to := flag.String("to", "", "folder to write to")
	flag.Parse()
	for _, root := range flag.Args() {
		if err := extract(root, *to, *comments); err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(1)
		}
	}
}

// extract writes the texts of all Go files beneath root.
func extract(root, to string, comments bool) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated"):
			return nil
		}
		source, err := os.ReadFile(name) //nolint:gosec // a checkout, which nobody else writes to meanwhile
		if err != nil {
			return err
		}
		text, err := prose(name, source, comments)
		if err != nil {
			return err
		}
		at := filepath.Join(to, name+".md")
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		return os.WriteFile(at, text, 0o600) //nolint:gosec // the folder is the argument -to
	})
}

var (
	words = regexp.MustCompile(`\pL+[,;:]? \pL+[,;:]? \pL{2,}`)
	verb  = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]`)
	// directive is a comment that is not text.
	directive = regexp.MustCompile(`^//(go:|nolint|\+|export )`)
)

// prose returns the texts of a file, each on its own line of the source.
func prose(name string, source []byte, comments bool) ([]byte, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := make([][]byte, bytes.Count(source, []byte("\n"))+1)
	write := func(at token.Pos, text string) {
		line := set.Position(at).Line - 1
		for i, part := range strings.Split(text, "\n") {
			if line+i < len(lines) {
				lines[line+i] = append(append(lines[line+i], part...), ' ')
			}
		}
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err != nil || n.Kind != token.STRING || tags[n] {
				return true
			}
			if text = verb.ReplaceAllString(text, "X"); n.Value[0] == '"' {
				text = strings.ReplaceAll(text, "\n", " ")
			}
			if words.MatchString(text) {
				write(n.Pos(), text)
			}
		}
		return true
	})
	if comments {
		for _, group := range tree.Comments {
			for _, c := range group.List {
				if !directive.MatchString(c.Text) {
					write(c.Pos(), strings.TrimPrefix(c.Text, "//"))
				}
			}
		}
	}
	return bytes.Join(lines, []byte("\n")), nil
}
