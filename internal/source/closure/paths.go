package closure

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// mostPaths is how many expressions of one file are evaluated for the paths in them. With more, the closure is the
// whole repository.
const mostPaths = 10_000

// pathExpr is an expression that may name a file outside of its module's folder.
type pathExpr struct {
	expr hclsyntax.Expression
	line int
	// program is true for a command that a provisioner, an external data source or a Terragrunt hook runs.
	program bool
	// workingDir is the expression for the directory where the program runs, or nil.
	workingDir hclsyntax.Expression
	// local is the name of a local value: when its texts are known, the expressions that refer to it have them.
	local string
}

// paths are the expressions of one file that may name files outside of the module's folder. To leave the folder, a path
// has to go up: only expressions with "..", with path.module and its siblings, or with a local value can.
type paths struct {
	exprs []pathExpr
	// locals are the local values by name. They are evaluated in the expressions that refer to them.
	locals map[string]hclsyntax.Expression
	// tooMany is true when the file has more than mostPaths of them.
	tooMany bool
	// weight is about how many bytes of code are cached.
	weight int
}

// programAttributes are the attributes with a command to run: of local-exec, data "external", and Terragrunt's hooks.
var programAttributes = []string{"command", "program", "interpreter", "working_dir", "execute", "environment"}

// readPaths collects the expressions of a parsed file.
func readPaths(body hcl.Body, text []byte, isJSON bool) paths {
	p := paths{locals: map[string]hclsyntax.Expression{}}
	if isJSON {
		p.fromJSON(text)
		return p
	}
	if native, ok := body.(*hclsyntax.Body); ok {
		p.fromBody(native, "")
	}
	return p
}

// fromBody reads the attributes of a block and of the blocks in it. The parser bounds how deep blocks nest.
func (p *paths) fromBody(body *hclsyntax.Body, block string) {
	for _, name := range sortedKeys(body.Attributes) {
		attribute := body.Attributes[name]
		switch {
		case block == "module" && (name == "source" || name == "version"): // see call
		case (block == "variable" || block == "output") && name == "description":
		case block == "locals":
			if _, twice := p.locals[name]; !twice && size(attribute.Expr) <= longestExpression {
				p.locals[name] = attribute.Expr
				p.weight += size(attribute.Expr)
			}
			p.add(attribute.Expr, pathExpr{local: name})
		default:
			one := pathExpr{program: slices.Contains(programAttributes, name)}
			if dir := body.Attributes["working_dir"]; dir != nil && one.program && name != "working_dir" {
				one.workingDir = dir.Expr
			}
			p.add(attribute.Expr, one)
		}
	}
	for _, inner := range body.Blocks {
		p.fromBody(inner.Body, inner.Type)
	}
}

// add adds an expression if it may name a path that goes up. Of one that is too long to be evaluated it adds the parts,
// with a stack instead of recursion: the depth of an expression is not bounded by its brackets alone.
func (p *paths) add(expr hclsyntax.Expression, as pathExpr) {
	for stack := []hclsyntax.Expression{expr}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if size(next) > longestExpression {
			stack = append(stack, children(next)...)
			continue
		}
		if !as.program && !mayGoUp(next) {
			continue
		}
		if len(p.exprs) >= mostPaths {
			p.tooMany = true
			return
		}
		as.expr, as.line = next, next.Range().Start.Line
		p.exprs = append(p.exprs, as)
		p.weight += size(next)
	}
}

// fromJSON reads the strings of code in JSON syntax: each is a template. A key may be there more than once.
func (p *paths) fromJSON(text []byte) {
	if root, err := readJSON(json.NewDecoder(bytes.NewReader(text))); err == nil {
		p.fromValue(root, nil, nil)
	}
}

// member of a JSON object.
type member struct {
	key   string
	value any
}

// readJSON reads a value: a []member, a []any, or a string; nil for any other. hclparse bounds how deep it recurses.
func readJSON(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case string:
		return token, nil
	case json.Delim:
		var members []member
		var list []any
		for d.More() {
			key := ""
			if token == '{' {
				name, err := d.Token()
				if err != nil {
					return nil, err
				}
				key, _ = name.(string)
			}
			value, err := readJSON(d)
			if err != nil {
				return nil, err
			}
			if token == '{' {
				members = append(members, member{key, value})
			} else {
				list = append(list, value)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if token == '{' {
			return members, nil
		}
		return list, nil
	}
	return nil, nil
}

func (p *paths) fromValue(value any, keys []string, workingDir hclsyntax.Expression) {
	switch v := value.(type) {
	case []member:
		for _, one := range v {
			if text, ok := one.value.(string); ok && one.key == "working_dir" {
				workingDir = templateOf(text)
			}
		}
		for _, one := range v {
			// Keys share their memory: a copy for each level of a deep text would be large.
			p.fromValue(one.value, append(keys, one.key), workingDir)
		}
	case []any:
		for _, one := range v {
			p.fromValue(one, keys, workingDir)
		}
	case string:
		last := len(keys) - 1
		if len(keys) == 3 && keys[0] == "module" && keys[last] == "source" {
			return
		}
		expr := templateOf(v)
		if expr == nil {
			return
		}
		one := pathExpr{program: last >= 0 && slices.Contains(programAttributes, keys[last])}
		if one.program && keys[last] != "working_dir" {
			one.workingDir = workingDir
		}
		if len(keys) == 2 && keys[0] == "locals" {
			if one.local = keys[1]; p.locals[one.local] == nil {
				p.locals[one.local] = expr
			}
		}
		p.add(expr, one)
	}
}

// templateOf parses a string of code in JSON syntax. It is nil for an invalid one, and one that is too long.
func templateOf(text string) hclsyntax.Expression {
	if len(text) > longestExpression {
		return nil
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	return expr
}

// mayGoUp reports whether an expression has a literal with "..", refers to the object path or to a local value, creates
// a path absolute, or renders a template, which may do the same.
func mayGoUp(expr hclsyntax.Expression) bool {
	return anyOf(expr, func(e hclsyntax.Expression) bool {
		switch e := e.(type) {
		case *hclsyntax.LiteralValueExpr:
			return e.Val.Type() == cty.String && !e.Val.IsNull() && strings.Contains(e.Val.AsString(), "..")
		case *hclsyntax.ScopeTraversalExpr:
			return e.Traversal.RootName() == "path" || e.Traversal.RootName() == "local"
		case *hclsyntax.FunctionCallExpr:
			return nameOf(e) == "abspath" || nameOf(e) == "templatefile"
		}
		return false
	})
}

// anyOf reports whether f is true of an expression or of a part of it. It does not recurse: the depth of an expression,
// such as a long sum, is not bounded by its brackets.
func anyOf(expr hclsyntax.Expression, f func(hclsyntax.Expression) bool) bool {
	for stack := []hclsyntax.Expression{expr}; len(stack) > 0; {
		next := stack[len(stack)-1]
		if f(next) {
			return true
		}
		stack = append(stack[:len(stack)-1], children(next)...)
	}
	return false
}

// eachAttribute calls f for the attributes of a body and of the blocks in it.
func eachAttribute(body *hclsyntax.Body, f func(*hclsyntax.Attribute)) {
	for _, name := range sortedKeys(body.Attributes) {
		f(body.Attributes[name])
	}
	for _, block := range body.Blocks {
		eachAttribute(block.Body, f)
	}
}

// children returns the direct parts of an expression.
func children(expr hclsyntax.Expression) []hclsyntax.Expression {
	switch e := expr.(type) {
	case *hclsyntax.TemplateExpr:
		return e.Parts
	case *hclsyntax.TemplateWrapExpr:
		return []hclsyntax.Expression{e.Wrapped}
	case *hclsyntax.TemplateJoinExpr:
		return []hclsyntax.Expression{e.Tuple}
	case *hclsyntax.ParenthesesExpr:
		return []hclsyntax.Expression{e.Expression}
	case *hclsyntax.FunctionCallExpr:
		return e.Args
	case *hclsyntax.TupleConsExpr:
		return e.Exprs
	case *hclsyntax.ObjectConsExpr:
		var all []hclsyntax.Expression
		for _, item := range e.Items {
			all = append(all, item.KeyExpr, item.ValueExpr)
		}
		return all
	case *hclsyntax.ObjectConsKeyExpr:
		return []hclsyntax.Expression{e.Wrapped}
	case *hclsyntax.ConditionalExpr:
		return []hclsyntax.Expression{e.Condition, e.TrueResult, e.FalseResult}
	case *hclsyntax.BinaryOpExpr:
		return []hclsyntax.Expression{e.LHS, e.RHS}
	case *hclsyntax.UnaryOpExpr:
		return []hclsyntax.Expression{e.Val}
	case *hclsyntax.IndexExpr:
		return []hclsyntax.Expression{e.Collection, e.Key}
	case *hclsyntax.RelativeTraversalExpr:
		return []hclsyntax.Expression{e.Source}
	case *hclsyntax.SplatExpr:
		return []hclsyntax.Expression{e.Source, e.Each}
	case *hclsyntax.ForExpr:
		all := []hclsyntax.Expression{e.CollExpr, e.ValExpr}
		for _, one := range []hclsyntax.Expression{e.KeyExpr, e.CondExpr} {
			if one != nil {
				all = append(all, one)
			}
		}
		return all
	}
	return nil
}

// size is the number of bytes of an expression in the code.
func size(expr hclsyntax.Expression) int { return lengthOf(expr) }

// lengthOf is size for expressions in each syntax.
func lengthOf(expr hcl.Expression) int {
	r := expr.Range()
	return r.End.Byte - r.Start.Byte
}

// upward matches the paths in a script that go up, without a variable of a shell or a language: ../lib/common.sh in
// "$DIR/../lib/common.sh". Three dots and 1..9 are no path, nor is the range ${A}..${B}.
var upward = regexp.MustCompile(`(?:^|[^.\w)}\]])(\.\.(?:/[\w.@+-]+)*)(?:$|[^.\w@+-])`)

// mostUpward is how many paths of one script are followed.
const mostUpward = 1000

// PathsIn returns the paths in a script, or in any other text, that go up, each once.
func PathsIn(text string) []string {
	if !strings.Contains(text, "..") {
		return nil
	}
	var names []string
	for n := 0; n < mostUpward; n++ {
		at := upward.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		name, _, _ := strings.Cut(text[at[2]:at[3]], "/...") // all packages below, for Go's commands
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		text = text[at[3]:] // the byte after a path may be the one before the next
	}
	return names
}
