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

	"cairn.dev/cairn/internal/source/git"
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
		c.refs = append(c.refs, ref{kind: kind, what: what, line: expr.Range().Start.Line, expr: expr,
			program: program})
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
	if inputs, ok := body.Attributes["inputs"]; ok {
		add(refInput, "inputs", inputs.Expr)
	}
	for _, block := range body.Blocks {
		for _, name := range sortedKeys(block.Body.Attributes) {
			if block.Type == "locals" || block.Type == "generate" && name == "contents" {
				add(refLocal, block.Type, block.Body.Attributes[name].Expr)
			}
		}
		if block.Type != "terraform" {
			continue
		}
		for _, inner := range block.Body.Blocks {
			if a, ok := inner.Body.Attributes["env_vars"]; ok {
				add(refInput, inner.Type, a.Expr)
			}
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

// inputs adds the files that values for the module name above the unit's folder: the module may read them.
func (r *reading) inputs(ctx context.Context, ref ref, locals cty.Value, at string) error {
	root, ok := ref.expr.(hclsyntax.Expression)
	if !ok || !r.unit.root && !r.isRead {
		return nil // of a unit that this one depends on, only the outputs are read
	}
	for stack := []hclsyntax.Expression{root}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		value, err := r.value(ctx, next, locals)
		if err != nil {
			return err
		}
		var texts []string
		switch template, isTemplate := next.(*hclsyntax.TemplateExpr); {
		case value.IsWhollyKnown():
			eachString(value, func(text string) { texts = append(texts, text) })
		case isTemplate && size(next) <= longestExpression:
			var b strings.Builder
			for _, part := range template.Parts {
				value, err := r.value(ctx, part, locals)
				if err != nil {
					return err
				}
				text, known := asText(value)
				if !known {
					text = unknown
				}
				b.WriteString(text)
			}
			texts = append(texts, b.String())
		default:
			stack = append(stack, children(next)...)
		}
		for _, text := range texts {
			for _, token := range strings.FieldsFunc(text, func(c rune) bool {
				return strings.ContainsRune(separators, c)
			}) {
				if err := r.input(ctx, ref, token, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// input adds the target of a path in a value, or the files that a path with unknown parts may name. A local value that
// is a folder is the beginning of other paths.
func (r *reading) input(ctx context.Context, ref ref, token, at string) error {
	known, rest, holes := strings.Cut(token, unknown)
	name, absolute := strings.CutPrefix(known, repositoryRoot)
	switch {
	case !absolute && !goesUp(known):
		return nil
	case goesUp(rest):
		r.open = append(r.open, at+": a path that goes up from an unknown directory")
		return nil
	case !absolute:
		name = r.unit.dir + "/" + known
	}
	if holes && ref.kind == refLocal && strings.HasSuffix(token, unknown) {
		return nil // a folder, or a value that is evaluated where it is used
	}
	if holes {
		return r.readLike(ctx, name, rest[strings.LastIndex(rest, unknown)+1:])
	}
	p, err := r.resolve(ctx, name)
	if err != nil || p.Kind == 0 {
		return err
	}
	around := p.Kind == git.KindDir && isBelow(r.unit.dir, p.Path) && p.Path != r.unit.dir
	switch {
	case p.Kind == git.KindDir && ref.kind == refLocal:
	case around && p.Path == "":
		r.open = append(r.open, at+": the path of the whole repository")
	default:
		r.add(p.Entry)
	}
	return nil
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

// mostConfigs is how deep configuration that is read reads other configuration.
const mostConfigs = 10

// readConfig returns an object with the locals of a file of configuration; cty.DynamicVal if there is no such file.
func (r *reading) readConfig(ctx context.Context, name string) (cty.Value, error) {
	full, absolute := strings.CutPrefix(name, repositoryRoot)
	if !absolute {
		full = r.unit.dir + "/" + name
	}
	p, err := r.resolve(ctx, full)
	if err != nil || !isFile(p.Kind) || r.depth >= mostConfigs {
		return cty.DynamicVal, err
	}
	c, err := r.config(ctx, p.Entry)
	if err != nil {
		return cty.DynamicVal, err
	}
	other := &reading{
		search: r.search, unit: unit{dir: parentOf(p.Path)}, original: r.original, includes: map[string]string{},
		isRead: true,
		depth:  r.depth + 1,
	}
	locals, err := other.localsOf(ctx, c)
	if err != nil {
		return cty.DynamicVal, err
	}
	return cty.ObjectVal(map[string]cty.Value{"locals": locals}), nil
}

// fileLocals evaluates the locals of a file, each once.
type fileLocals struct {
	*reading
	exprs map[string]hcl.Expression
	known map[string]cty.Value
	// held is the sum of the lengths of the known texts.
	held, depth int
}

// local returns the value of a local, which is cty.DynamicVal for one that refers to itself, or through too many
// others.
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
	if weight := weightOf(value); weight <= longestText && l.held+weight <= mostHeld &&
		(value.IsKnown() && !value.IsNull()) {
		l.held += weight
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
