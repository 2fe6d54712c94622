// Command prose writes the texts of Go files that a user reads into a folder, for a prose linter: `make lint`.
//
// Each Go file becomes a Markdown file of the same name that has the text of its string literals, and with -comments
// that of its comments, on the lines where the code has them, so that the linter reports the right lines. A literal is
// prose when it has three words or more. Tests have no users and are left out, except with -tests: then the comments of
// all Go files and of scripts (.txtar) are written, and the names of tests as words, but no literals.
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
	tests := flag.Bool("tests", false, "write only comments and names of tests, those of .txtar files too")
	to := flag.String("to", "", "folder to write to")
	flag.Parse()
	for _, root := range flag.Args() {
		if err := extract(root, *to, *comments, *tests); err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(1)
		}
	}
}

// extract writes the texts of all files beneath root.
func extract(root, to string, comments, tests bool) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata" && !tests:
			return filepath.SkipDir
		case entry.IsDir() || !isText(name, tests):
			return nil
		}
		source, err := os.ReadFile(name) //nolint:gosec // a checkout, which nobody else writes to meanwhile
		if err != nil {
			return err
		}
		var text []byte
		if filepath.Ext(name) == ".txtar" {
			text = script(source)
		} else if text, err = prose(name, source, !tests, comments || tests); err != nil {
			return err
		}
		at := filepath.Join(to, name+".md")
		if _, err := os.Stat(at); tests && err == nil { // with its literals
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		return os.WriteFile(at, text, 0o600)
	})
}

var (
	words = regexp.MustCompile(`\pL+[,;:]? \pL+[,;:]? \pL{2,}`)
	verb  = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]`)
	// testName is the name of a function that go test runs.
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)
	nameWord = regexp.MustCompile(`[A-Z][a-z0-9]*`)
	// directive is a comment that is not text.
	directive = regexp.MustCompile(`^//(go:|nolint|\+|export )`)
)

// isText reports whether a file has texts to check.
func isText(name string, tests bool) bool {
	switch filepath.Ext(name) {
	case ".txtar":
		return tests
	case ".go":
		return (tests || !strings.HasSuffix(name, "_test.go")) && !strings.HasPrefix(filepath.Base(name),
			"zz_generated")
	}
	return false
}

// script returns the comments of a script, without the files in the archive, each on its own line.
func script(source []byte) []byte {
	var text bytes.Buffer
	for line := range bytes.Lines(source) {
		if bytes.HasPrefix(line, []byte("-- ")) {
			break
		}
		if comment, is := bytes.CutPrefix(line, []byte("#")); is {
			text.Write(comment)
		} else {
			text.WriteByte('\n')
		}
	}
	return text.Bytes()
}

// prose returns the texts of a Go file, each on its own line of the source.
func prose(name string, source []byte, literals, comments bool) ([]byte, error) {
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
		case *ast.FuncDecl:
			if !literals && testName.MatchString(n.Name.Name) {
				write(n.Name.Pos(), nameWord.ReplaceAllString(n.Name.Name, "$0 "))
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err != nil || n.Kind != token.STRING || tags[n] || !literals {
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
