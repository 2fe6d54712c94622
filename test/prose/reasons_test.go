package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// apiReasons returns the values of the constants of the API that a user sees as a reason: Reason..., Event...,
// Failure..., and the phases of a Run in progress.
func apiReasons(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../api/v1alpha1/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	reason, all := regexp.MustCompile(`^(Reason|Event|Failure|Phase)[A-Z]`), map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				constant, ok := spec.(*ast.ValueSpec)
				if !ok || len(constant.Values) != 1 || !reason.MatchString(constant.Names[0].Name) {
					continue
				}
				if value, ok := constant.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
					text, err := strconv.Unquote(value.Value)
					if err != nil {
						t.Fatal(err)
					}
					isPhase := strings.HasPrefix(constant.Names[0].Name, "Phase")
					all[text] = !isPhase || !v1alpha1.RunPhase(text).Finished() || all[text]
				}
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, shown bool) bool { return !shown })
	return all
}

// TestReasonsAreDocumented checks that docs/troubleshooting has one section for each reason and failure class of the
// API, that the list of docs/troubleshooting/reasons.md links to it, and that no section is of another reason.
func TestReasonsAreDocumented(t *testing.T) {
	pages, err := filepath.Glob("../../docs/troubleshooting/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	heading, sections := regexp.MustCompile(`(?m)^### (\S+)$`), map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
			if other := sections[found[1]]; other != "" {
				t.Errorf("%s and %s both have a section %s", other, page, found[1])
			}
			sections[found[1]] = filepath.Base(page)
		}
	}
	list, err := os.ReadFile("../../docs/troubleshooting/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := apiReasons(t)
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		switch page := sections[reason]; {
		case page == "":
			t.Errorf("docs/troubleshooting has no section %q", "### "+reason)
		case !strings.Contains(string(list), "["+reason+"]("+page+"#"+strings.ToLower(reason)+")"):
			t.Errorf("docs/troubleshooting/reasons.md does not link %s to %s", reason, page)
		}
		delete(sections, reason)
	}
	for reason, page := range sections {
		t.Errorf("docs/troubleshooting/%s: the API has no reason %s", page, reason)
	}
}
