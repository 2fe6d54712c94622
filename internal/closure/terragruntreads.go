package closure

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// readers are the functions that read the file or the folder of their first argument.
var readers = []string{
	"file", "filebase64", "fileexists", "fileset", "templatefile", "filemd5", "filesha1", "filesha256", "filesha512",
	"filebase64sha256", "filebase64sha512", "read_tfvars_file", "sops_decrypt_file", "mark_as_read",
}

// readLocals reads the locals of a file.
func (c *config) readLocals(body *hclsyntax.Body) {
	for _, block := range body.Blocks {
		if block.Type != "locals" {
			continue
		}
		c.locals = map[string]hcl.Expression{}
		for name, a := range block.Body.Attributes {
			c.locals[name] = a.Expr
		}
	}
}

// readReads reads the references to files other than configuration: in functions, in hooks and in lists of variable
// files.
func (c *config) readReads(body *hclsyntax.Body) {
	add := func(kind int, what string, expr hclsyntax.Expression) {
		program := kind == refRead && (what == "run_cmd" || strings.Contains(what, "_hook"))
		c.refs = append(c.refs, ref{kind: kind, what: what, line: expr.Range().Start.Line, expr: expr, program: program})
	}
	eachAttribute(body, func(a *hclsyntax.Attribute) {
		anyOf(a.Expr, func(e hclsyntax.Expression) bool {
			call, ok := e.(*hclsyntax.FunctionCallExpr)
			switch {
			case !ok || len(call.Args) == 0:
			case call.Name == "read_terragrunt_config":
				add(refConfig, call.Name, call.Args[0])
			case slices.Contains(readers, call.Name):
				add(refRead, call.Name, call.Args[0])
			case call.Name == "run_cmd":
				for _, arg := range call.Args {
					add(refRead, call.Name, arg)
				}
			}
			return false
		})
	})
	for _, block := range body.Blocks {
		if block.Type != "terraform" {
			continue
		}
		for _, inner := range block.Body.Blocks {
			for _, name := range []string{"required_var_files", "optional_var_files", "arguments", "execute"} {
				a, ok := inner.Body.Attributes[name]
				if !ok {
					continue
				}
				items := []hclsyntax.Expression{a.Expr}
				if list, ok := a.Expr.(*hclsyntax.TupleConsExpr); ok {
					items = list.Exprs
				}
				for _, item := range items {
					if name != "arguments" || !isPlainFlag(item) {
						add(refRead, strings.Join(append([]string{inner.Type}, inner.Labels...), " "), item)
					}
				}
			}
		}
	}
	slices.SortFunc(c.refs, func(a, b ref) int { // includes first: the values of the others may depend on them
		if a.kind != b.kind && (a.kind == refInclude || b.kind == refInclude) {
			return cmp.Compare(a.kind, b.kind)
		}
		return cmp.Compare(a.expr.Range().Start.Byte, b.expr.Range().Start.Byte)
	})
}

// isPlainFlag reports whether an argument begins with the text of a flag whose value is no file.
func isPlainFlag(expr hclsyntax.Expression) bool {
	template, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok || len(template.Parts) == 0 {
		return false
	}
	literal, ok := template.Parts[0].(*hclsyntax.LiteralValueExpr)
	if !ok || literal.Val.Type() != cty.String || literal.Val.IsNull() {
		return false
	}
	flag := literal.Val.AsString()
	return strings.HasPrefix(flag, "-") && !strings.Contains(flag, "file") && !strings.Contains(flag, "config")
}

// readPath adds the target of a path that is read, from each directory that it may be relative to. A path that does not
// exist is no error: code may expect that, or else the engine reports it.
func (r *reading) readPath(ctx context.Context, ref ref, name, file string) error {
	if flag, value, ok := strings.Cut(name, "="); ok && strings.HasPrefix(flag, "-") {
		name = value
	}
	for _, dir := range []string{r.unit.dir, parentOf(file)} {
		full := path.Join(dir, name)
		if inRepository, ok := strings.CutPrefix(name, repositoryRoot); ok {
			full = strings.TrimPrefix(path.Clean("./"+inRepository), "./")
		} else if strings.HasPrefix(name, "/") {
			return nil // a file of the image
		}
		if full == "." {
			full = ""
		}
		if name == "" || outside(full) {
			continue
		}
		p, err := r.resolve(ctx, full)
		if err != nil {
			return err
		}
		if p.Kind == 0 {
			continue
		}
		r.add(p.Entry)
		if ref.program && isFile(p.Kind) {
			if err := r.script(ctx, p.Entry, reader{root: r.unit.dir, program: true}); err != nil {
				return err
			}
		}
		if ref.kind != refConfig || !isFile(p.Kind) {
			continue
		}
		other := &reading{
			search: r.search, unit: unit{dir: parentOf(p.Path)}, original: r.original, files: r.files,
			includes: map[string]string{}, isRead: true,
		}
		if err := other.file(ctx, p.Entry); err != nil {
			return err
		}
		r.units, r.uses = append(r.units, other.units...), append(r.uses, other.uses...)
	}
	return nil
}

// localsOf evaluates the locals of a file that are texts and depend only on the repository.
func (r *reading) localsOf(ctx context.Context, c config) (cty.Value, error) {
	l := &fileLocals{reading: r, exprs: c.locals, known: map[string]cty.Value{}}
	for _, name := range sortedKeys(c.locals) {
		if _, err := l.local(ctx, name); err != nil {
			return cty.NilVal, err
		}
	}
	return cty.ObjectVal(l.known), nil
}

// fileLocals evaluates the locals of a file, each once.
type fileLocals struct {
	*reading
	exprs map[string]hcl.Expression
	known map[string]cty.Value
	// held is the sum of the lengths of the known texts.
	held, depth int
}

// local returns the value of a local, which is cty.DynamicVal for one that refers to itself, or through too many others.
func (l *fileLocals) local(ctx context.Context, name string) (cty.Value, error) {
	if value, ok := l.known[name]; ok {
		return value, nil
	}
	expr, ok := l.exprs[name]
	if !ok || l.depth >= mostLocals {
		return cty.DynamicVal, nil
	}
	l.known[name] = cty.DynamicVal // for a reference to itself
	if lengthOf(expr) > longestExpression {
		return cty.DynamicVal, nil
	}
	l.depth++
	defer func() { l.depth-- }()
	used := map[string]cty.Value{}
	for _, reference := range expr.Variables() {
		if reference.RootName() != "local" || len(reference) < 2 {
			continue
		}
		if step, ok := reference[1].(hcl.TraverseAttr); ok {
			value, err := l.local(ctx, step.Name)
			if err != nil {
				return cty.NilVal, err
			}
			used[step.Name] = value
		}
	}
	value, err := l.value(ctx, expr, cty.ObjectVal(used))
	if err != nil {
		return cty.NilVal, err
	}
	if text, ok := asText(value); ok && len(text) <= longestText && l.held+len(text) <= mostHeld {
		l.held += len(text)
		l.known[name] = value
	}
	return l.known[name], nil
}

// value evaluates an expression; the result is cty.DynamicVal when it depends on more than the repository.
func (r *reading) value(ctx context.Context, expr hcl.Expression, locals cty.Value) (cty.Value, error) {
	native, ok := expr.(hclsyntax.Expression)
	if !ok || size(native) > longestExpression || hasLoop(native) {
		return cty.DynamicVal, nil
	}
	if err := r.budget.spend(referenceWork + expressionWork*size(native)); err != nil {
		return cty.NilVal, err
	}
	// The error of a file that cannot be read must not be mistaken for an error of the expression.
	var failed error
	variables := map[string]cty.Value{}
	if locals != cty.NilVal {
		variables["local"] = locals
	}
	if len(r.exposed) > 0 {
		variables["include"] = cty.ObjectVal(r.exposed)
	}
	value, diags := expr.Value(&hcl.EvalContext{Functions: r.functions(ctx, &failed), Variables: variables})
	if failed != nil {
		return cty.NilVal, failed
	}
	if diags.HasErrors() {
		return cty.DynamicVal, nil
	}
	return value, nil
}

// parent returns the directory of the file that the unit includes, by its label if args has one. Without an include
// it is the unit's own.
func (r *reading) parent(args []string) (string, error) {
	label := ""
	if len(args) > 0 {
		label = args[0]
	}
	dir, ok := r.includes[label]
	switch {
	case ok:
		return dir, nil
	case len(r.includes) == 0 && label == "":
		return r.unit.dir, nil
	}
	return "", errors.New("not included")
}

// relative returns the path from a directory of the repository to another one.
func relative(from, to string) (string, error) {
	text, err := filepath.Rel("/"+from, "/"+to)
	return filepath.ToSlash(text), err
}
