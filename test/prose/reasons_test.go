package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestReasonsAreRegistered checks that the table of reasons has each constant that a user sees as a reason, once, and
// nothing else.
func TestReasonsAreRegistered(t *testing.T) {
	registered := map[string]bool{}
	for _, r := range v1alpha1.Reasons() {
		if registered[r.Name] || r.In == 0 {
			t.Errorf("v1alpha1.Reasons has %s twice, or does not say where it appears", r.Name)
		}
		registered[r.Name] = true
	}
	constants := constantsOfAPI(t, "Reason", "Event", "Failure", "Phase")
	for name, value := range constants {
		// a Run has another reason then
		finished := strings.HasPrefix(name, "Phase") && v1alpha1.RunPhase(value).Finished()
		if !registered[value] && !finished {
			t.Errorf("v1alpha1.Reasons does not have %s", name)
		}
	}
	values := slices.Collect(maps.Values(constants))
	for name := range registered {
		if !slices.Contains(values, name) {
			t.Errorf("v1alpha1.Reasons has %q, which is no constant", name)
		}
	}
}

// TestReasonsThatStacksGet checks that each reason that the code of Stacks uses, other than to compare with it, is one
// of a Stack in the table: metrics would export any other one as Other.
func TestReasonsThatStacksGet(t *testing.T) {
	seen := 0
	for _, p := range program(t) {
		if p.PkgPath != "cairn.dev/cairn/internal/controller/stack" &&
			!strings.HasPrefix(p.PkgPath, "cairn.dev/cairn/internal/controller/stack/") {
			continue
		}
		compared := map[ast.Expr]bool{}
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					compared[n.X], compared[n.Y] = true, true
				case *ast.CaseClause:
					for _, e := range n.List {
						compared[e] = true
					}
				case *ast.SelectorExpr:
					c, ok := p.TypesInfo.Uses[n.Sel].(*types.Const)
					if !ok || c.Pkg().Path() != pathOfAPI || !strings.HasPrefix(c.Name(), "Reason") || compared[n] {
						break
					}
					seen++
					r, _ := v1alpha1.ReasonNamed(constant.StringVal(c.Val()))
					if r.In&(v1alpha1.InStack|v1alpha1.InOther) == 0 {
						t.Errorf("%s: the table of reasons does not have %s for a Stack", p.Fset.Position(n.Pos()),
							c.Name())
					}
				}
				return true
			})
		}
	}
	if seen < 50 {
		t.Errorf("only %d uses of reasons were found", seen)
	}
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
	for _, r := range v1alpha1.Reasons() {
		reason := r.Name
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
