package template

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A user who pushes to the repository chooses the names of directories, and thereby captures and directory. These must
// not decide which identity, credentials, commands or rules a Stack has. VariableSets, rollouts and tools of others
// select Stacks by their labels, so a label that may have a capture is one whose name begins with directoryLabel: a
// selector with such a name trusts who can push.

// class is what the expressions of a field may read.
type class int

const (
	// guarded fields may read the params that the author of the StackSet wrote.
	guarded class = iota
	// choice fields may also choose between literals by a capture that begins or ends the names of the Stacks.
	choice
	// free fields may read everything.
	free
)

// directoryLabel begins the names of the labels whose values expressions may read from names of directories.
const directoryLabel = "directory.cairn.dev/"

// classes are the fields that are not guarded, with what is below them. A new field of a Stack is guarded.
var classes = map[string]class{
	"metadata.name":             free,
	"metadata.namespace":        free, // one of spec.namespaces, which render checks
	"metadata.annotations":      free,
	"spec.source.git.path":      free,
	"spec.source.git.triggers":  free,
	"spec.variables[].value":    free,
	"spec.variableFiles[].path": free,
	"spec.dependsOn[].name":     free,
	"spec.apply":                choice,
	"spec.deletionPolicy":       choice,
}

// settable are the fields that the settings file of a directory can set, beside the template: each is free, or the name
// of an entry beside a free one. The name and the path of a Stack identify it, and labels select rules: they are not.
var settable = []string{
	"spec.dependsOn[].name",
	"spec.source.git.triggers",
	"spec.variableFiles[].path",
	"spec.variables[].name",
	"spec.variables[].value",
}

var index = regexp.MustCompile(`\[[0-9]+\]`)

// classOf is the class of a field such as spec.variables[0].value.
func classOf(field string) class {
	if strings.HasPrefix(field, "metadata.labels."+directoryLabel) {
		return free
	}
	field = index.ReplaceAllString(field, "[]")
	for known, class := range classes {
		if rest, below := strings.CutPrefix(field, known); below && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return class
		}
	}
	return guarded
}

// guard checks what expressions read.
type guard struct {
	// written are the params that the author of the StackSet wrote.
	written []string
	// separators are the texts that end, or begin, the captures at the start and at the end of metadata.name.
	separators map[string]string
}

// check checks one expression of a field, and returns the captures by which it chooses.
func (g guard) check(field string, expression *ast.AST, alone bool) (choosesBy []string, err error) {
	class := classOf(field)
	if class == free {
		return nil, nil
	}
	root := ast.NavigateAST(expression)
	for _, variable := range ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind)) {
		name := ""
		switch strings.TrimPrefix(variable.AsIdent(), ".") {
		case "directory":
			return nil, errors.New("directory is not permitted in this field: users who push to the " +
				"repository choose it" + insteadOf(field))
		case "params":
			if name = paramOf(variable); name == "" {
				return nil, errors.New("write params.NAME: in this field only params of lists are permitted")
			}
		}
		if name == "" || slices.Contains(g.written, name) {
			continue
		}
		if class != choice || !alone || !isChoice(root) {
			return nil, fmt.Errorf("params.%s is not permitted in this field: it is not of a list, and users who "+
				"push to the repository choose captures%s", name, insteadOf(field))
		}
		if g.separators[name] == "" {
			return nil, fmt.Errorf("no list has params.%s: metadata.name must begin with ${params.%s} and a text "+
				"behind it, or end with it behind a text, so that a directory that is moved does not change this field",
				name, name)
		}
		choosesBy = append(choosesBy, name)
	}
	return choosesBy, nil
}

// insteadOf names the label that may have what another label must not have; empty if the field is no label.
func insteadOf(field string) string {
	key, ok := strings.CutPrefix(field, "metadata.labels.")
	if !ok {
		return ""
	}
	key = directoryLabel + key[strings.LastIndex(key, "/")+1:]
	return ". Name the label " + key + ", and select by that name where users who push may choose"
}

// paramOf is the name in params.NAME and params["NAME"]; empty for any other use of params.
func paramOf(params ast.NavigableExpr) string {
	parent, ok := params.Parent()
	if !ok {
		return ""
	}
	switch parent.Kind() {
	case ast.SelectKind:
		return parent.AsSelect().FieldName()
	case ast.CallKind:
		call := parent.AsCall()
		if !slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, call.FunctionName()) {
			return ""
		}
		name, _ := call.Args()[1].AsLiteral().(types.String) // params as an index is no literal
		return string(name)
	}
	return ""
}

// isChoice reports whether an expression is CONDITION ? LITERAL : LITERAL, whose literals can be choices themselves.
func isChoice(e ast.Expr) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Conditional {
		return false
	}
	for _, of := range e.AsCall().Args()[1:] {
		if of.Kind() != ast.LiteralKind && !isChoice(of) {
			return false
		}
	}
	return true
}

// alone is an expression that is params.NAME, and nothing else.
var alone = regexp.MustCompile(`^\s*params\.([a-zA-Z_][a-zA-Z0-9_]*)\s*$`)

// separatorsOf are the captures that each name of a Stack shows, since it begins or ends with them, and the character
// of the text beside them. A name has one value of a capture that does not contain this character.
func separatorsOf(name node) map[string]string {
	t, _ := name.(text)
	found := map[string]string{}
	if n := len(t.parts); n > 1 {
		if m := alone.FindStringSubmatch(t.parts[0].expression); m != nil && t.parts[1].plain != "" {
			found[m[1]] = t.parts[1].plain[:1]
		}
		if m := alone.FindStringSubmatch(t.parts[n-1].expression); m != nil && t.parts[n-2].plain != "" {
			found[m[1]] = t.parts[n-2].plain[len(t.parts[n-2].plain)-1:]
		}
	}
	return found
}

// checkCaptures checks the captures by which fields choose.
func (t *Template) checkCaptures(params map[string]any) error {
	for _, name := range t.choosesBy {
		value, _ := params[name].(string)
		if separator := t.separators[name]; strings.Contains(value, separator) {
			return &Error{Field: "metadata.name",
				Reason: fmt.Sprintf("params.%s decides about spec.apply or spec.deletionPolicy, so it must not "+
					"contain %q, which separates it from the rest of the name", name, separator)}
		}
	}
	return nil
}
