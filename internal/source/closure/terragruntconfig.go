package closure

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/source/git"
)

// config is the part of one file of Terragrunt's that closures need.
type config struct {
	refs []ref
	// locals are the expressions of its locals block.
	locals map[string]hcl.Expression
	// terragruntVersion and engineVersion are constraints.
	terragruntVersion, engineVersion []string
	// problem is the first error of the file; empty for none.
	problem string
	// size is the number of bytes of the file.
	size int
}

// Kinds of references in Terragrunt's configuration.
const (
	refInclude = iota // a file that is merged
	refUnit           // another unit
	refSource         // the module
	refRead           // a file or folder that is read, if it exists
	refConfig         // a file of configuration that is read, if it exists
	refInput          // values with paths for the module
	refLocal          // values that others may have parts of
)

// ref is an expression that names files.
type ref struct {
	kind int
	what string
	line int
	expr hcl.Expression
	// outputs is true of a dependency whose outputs may be read, disabled of one with enabled = false, and optional of
	// one for which only Terragrunt knows whether it is enabled.
	outputs, disabled, optional bool
	// program is true of a program, or of its arguments.
	program bool
}

// config reads a file of Terragrunt's.
func (s *search) config(ctx context.Context, e git.Entry) (config, error) {
	c, err := cached(s.c, e.ID, "config", func() (c config, _ int, err error) {
		err = s.parse(ctx, e, func(text []byte) (err error) {
			c, err = readConfig(text)
			return err
		})
		return c, c.weight(), err
	})
	if err != nil {
		return config{}, err
	}
	return c, s.count(e, c.size)
}

// weight is how much memory a cached config takes.
func (c config) weight() int {
	bytes := len(c.problem) + textsWeight(c.terragruntVersion) + textsWeight(c.engineVersion)
	for _, ref := range c.refs {
		bytes += pathWeight + len(ref.what) + expressionWeight*lengthOf(ref.expr)
	}
	for name, expr := range c.locals {
		bytes += pathWeight + len(name) + expressionWeight*lengthOf(expr)
	}
	return bytes
}

// readConfig reads the valid parts of a file of Terragrunt's. Its error is a hclparse.ErrTooLarge.
func readConfig(text []byte) (config, error) {
	c := config{size: len(text)}
	parsed, err := hclparse.Parse(text, "", false)
	if errors.Is(err, hclparse.ErrTooLarge) {
		return c, err
	}
	c.problem = problemOf(err)
	body, ok := parsed.(*hclsyntax.Body)
	if !ok {
		return c, nil
	}
	for name, list := range map[string]*[]string{
		"terragrunt_version_constraint": &c.terragruntVersion, "terraform_version_constraint": &c.engineVersion,
	} {
		if a, ok := body.Attributes[name]; ok {
			*list = constraint(a.AsHCLAttribute(), false)
		}
	}
	for _, block := range body.Blocks {
		kind, name := refUnit, ""
		switch block.Type {
		case "include":
			kind, name = refInclude, "path"
		case "dependency":
			name = "config_path"
		case "dependencies":
			name = "paths"
		case "terraform":
			kind, name = refSource, "source"
		}
		if a, ok := block.Body.Attributes[name]; ok {
			what := strings.Join(append([]string{block.Type}, block.Labels...), " ")
			_, mayDisable := block.Body.Attributes["enabled"]
			c.refs = append(c.refs, ref{
				kind: kind, what: what, line: a.SrcRange.Start.Line, expr: a.Expr,
				outputs:  block.Type == "dependency" && !isLiteral(block.Body, "skip_outputs", true),
				disabled: mayDisable && isLiteral(block.Body, "enabled", false),
				optional: mayDisable && !isLiteral(block.Body, "enabled", true),
			})
		}
	}
	c.readLocals(body)
	c.readReads(body)
	return c, nil
}

// isLiteral reports whether an attribute is the literal true, or the literal false.
func isLiteral(body *hclsyntax.Body, name string, is bool) bool {
	a, ok := body.Attributes[name]
	if !ok {
		return false
	}
	literal, ok := a.Expr.(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.Type() == cty.Bool && !literal.Val.IsNull() && literal.Val.True() == is
}

// evaluate returns the texts that an expression evaluates to; known is false if they depend on more than the
// repository. It supports the functions that return paths in a repository.
func (r *reading) evaluate(ctx context.Context, expr hcl.Expression, locals cty.Value) (texts []string, known bool,
	err error) {
	value, err := r.value(ctx, expr, locals)
	if err != nil || !value.IsWhollyKnown() {
		return nil, false, err
	}
	values := []cty.Value{value}
	if !value.IsNull() && value.CanIterateElements() {
		values = value.AsValueSlice()
	}
	for _, v := range values {
		if !v.IsNull() && v.Type() == cty.String {
			texts = append(texts, v.AsString())
		}
	}
	return texts, true, nil
}

func (r *reading) functions(ctx context.Context, failed *error) map[string]function.Function {
	text := function.Parameter{Name: "text", Type: cty.String}
	named := func(fixed []function.Parameter, f func(args []string) (string, error)) function.Function {
		return function.New(&function.Spec{
			Params:   fixed,
			VarParam: &text,
			Type:     function.StaticReturnType(cty.String),
			Impl: func(values []cty.Value, _ cty.Type) (cty.Value, error) {
				var args []string
				for _, v := range values {
					args = append(args, v.AsString())
				}
				result, err := f(args)
				return cty.StringVal(result), err
			},
		})
	}
	text1 := []function.Parameter{text}
	return map[string]function.Function{
		"find_in_parent_folders": named(nil, func(args []string) (string, error) {
			found, err := r.inParents(ctx, args)
			if *failed = err; err == nil && found == "" {
				err = errors.New("not found")
			}
			return found, err
		}),
		"get_repo_root": named(nil, func([]string) (string, error) { return repositoryRoot, nil }),
		"get_terragrunt_dir": named(nil, func([]string) (string, error) {
			return path.Join(repositoryRoot, r.unit.dir), nil
		}),
		"get_original_terragrunt_dir": named(nil, func([]string) (string, error) {
			return path.Join(repositoryRoot, r.original), nil
		}),
		"get_path_to_repo_root":   named(nil, func([]string) (string, error) { return relative(r.unit.dir, "") }),
		"get_path_from_repo_root": named(nil, func([]string) (string, error) { return relative("", r.unit.dir) }),
		"get_parent_terragrunt_dir": named(nil, func(args []string) (string, error) {
			parent, err := r.parent(args)
			return path.Join(repositoryRoot, parent), err
		}),
		"path_relative_to_include": named(nil, func(args []string) (string, error) {
			parent, err := r.parent(args)
			if err != nil {
				return "", err
			}
			return relative(parent, r.unit.dir)
		}),
		"path_relative_from_include": named(nil, func(args []string) (string, error) {
			parent, err := r.parent(args)
			if err != nil {
				return "", err
			}
			return relative(r.unit.dir, parent)
		}),
		"read_terragrunt_config": function.New(&function.Spec{
			Params: text1, VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowNull: true},
			Type: function.StaticReturnType(cty.DynamicPseudoType),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				config, err := r.readConfig(ctx, args[0].AsString())
				if err != nil {
					*failed = err
				}
				return config, err
			},
		}),
		"mark_as_read": named(text1, func(args []string) (string, error) { return args[0], nil }),
		"dirname":      named(text1, func(args []string) (string, error) { return path.Dir(args[0]), nil }),
		"basename":     named(text1, func(args []string) (string, error) { return path.Base(args[0]), nil }),
	}
}

// inParents returns the path of a file or a folder, terragrunt.hcl by default, in the nearest directory above the
// unit's that has it. Without one it returns the second argument, or "". It adds a file: it may be read by any name.
func (r *reading) inParents(ctx context.Context, args []string) (string, error) {
	name := terragruntFile
	if len(args) > 0 {
		name = args[0]
	}
	if r.unit.dir != "" && !outside(path.Clean(name)) {
		for dir := parentOf(r.unit.dir); ; dir = parentOf(dir) {
			at := path.Join(dir, name)
			p, err := r.resolve(ctx, at)
			if err != nil {
				return "", err
			}
			if isFile(p.Kind) {
				r.add(p.Entry)
			}
			if p.Kind != 0 {
				return path.Join(repositoryRoot, at), nil
			}
			if dir == "" {
				break
			}
		}
	}
	if len(args) > 1 {
		return args[1], nil
	}
	return "", nil
}
