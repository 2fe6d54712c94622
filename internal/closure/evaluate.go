package closure

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

const (
	// unknown replaces in a text a part that only the engine can evaluate.
	unknown = "\x00"
	// longestText is the most bytes of a text in an evaluation. A longer one is unknown.
	longestText = 4096
	// mostLocals is how deep the evaluation of a local value follows others.
	mostLocals = 50
	// longestResult is the largest weight of the local values that one expression refers to. With more, it is unknown.
	longestResult = 16 * longestText
	// mostHeld is the largest weight of all local values of a module. Further ones are unknown.
	mostHeld = 4 << 20
)

// scope has the values that the expressions of a module refer to.
type scope struct {
	// root is the directory of the root module: the engine runs there. dir is the module's own.
	root, dir string
	locals    map[string]hclsyntax.Expression
	known     map[string]cty.Value
	// weights are those of the known values.
	weights map[string]int
	// held is the sum of weights.
	held   int
	depth  int
	budget *budget
}

// texts calls f with the texts that an expression evaluates to, with a zero byte for each unknown part. Intermediate
// texts are not among them, unless the result is unknown.
func (m *scope) texts(expr hclsyntax.Expression, f func(text string)) {
	for stack := []hclsyntax.Expression{expr}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !mayGoUp(next) {
			continue
		}
		value := m.value(next)
		if value.IsWhollyKnown() {
			eachString(value, f)
			continue
		}
		if template, ok := next.(*hclsyntax.TemplateExpr); ok {
			f(m.template(template))
			for _, part := range template.Parts {
				if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal && !m.isText(part) {
					stack = append(stack, part)
				}
			}
			continue
		}
		if prefix := prefixOf(value); prefix != "" {
			f(prefix + unknown)
		}
		stack = append(stack, children(next)...)
	}
}

// isPath reports whether an expression is a text of which at least the beginning is known.
func (m *scope) isPath(expr hclsyntax.Expression) bool {
	value := m.value(expr)
	_, known := asText(value)
	return known || prefixOf(value) != ""
}

// isText reports whether a part of a template is known, or is a plain reference: its parts need no evaluation.
func (m *scope) isText(part hclsyntax.Expression) bool {
	if m.value(part).IsWhollyKnown() {
		return true
	}
	_, reference := part.(*hclsyntax.ScopeTraversalExpr)
	return reference
}

// template joins the known parts of a template.
func (m *scope) template(e *hclsyntax.TemplateExpr) string {
	var b strings.Builder
	for _, part := range e.Parts {
		value := m.value(part)
		text, ok := asText(value)
		if !ok {
			text = prefixOf(value) + unknown
		}
		if b.WriteString(text); b.Len() > longestText {
			b.WriteString(unknown)
			break
		}
	}
	return b.String()
}

// value evaluates an expression. The result is unknown where it depends on the engine or on a variable, and for
// loops: a loop can run without end.
func (m *scope) value(expr hclsyntax.Expression) cty.Value {
	if m.budget.spend(expressionWork*size(expr)) != nil || hasLoop(expr) {
		return cty.DynamicVal
	}
	variables, locals, weight := map[string]cty.Value{}, map[string]cty.Value{}, 0
	for _, reference := range expr.Variables() {
		switch root := reference.RootName(); root {
		case "path":
			variables[root] = m.path()
		case "local":
			if len(reference) > 1 {
				if step, ok := reference[1].(hcl.TraverseAttr); ok {
					locals[step.Name] = m.local(step.Name)
					weight += m.weights[step.Name]
				}
			}
		default:
			variables[root] = cty.DynamicVal
		}
	}
	if weight > longestResult || m.budget.spend(weight) != nil {
		return cty.DynamicVal
	}
	variables["local"] = cty.ObjectVal(locals)
	value, diags := expr.Value(&hcl.EvalContext{Variables: variables, Functions: m.functions(expr)})
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	value, _ = value.UnmarkDeep()
	return value
}

// path is the object path of the engine: its values are relative to the folder where the engine runs.
func (m *scope) path() cty.Value {
	module, err := relative(m.root, m.dir)
	if err != nil {
		return cty.DynamicVal
	}
	return cty.ObjectVal(map[string]cty.Value{
		"module": cty.StringVal(module),
		"root":   cty.StringVal("."),
		"cwd":    cty.StringVal(path.Join(repositoryRoot, m.root)),
	})
}

// local evaluates a local value. One that refers to itself, or through too many others, is unknown.
func (m *scope) local(name string) cty.Value {
	if value, ok := m.known[name]; ok {
		return value
	}
	expr, ok := m.locals[name]
	if !ok || m.depth >= mostLocals {
		return cty.DynamicVal
	}
	m.known[name] = cty.DynamicVal // for a reference to itself
	m.depth++
	value := m.value(expr)
	m.depth--
	weight := weightOf(value)
	if weight > longestText || m.held+weight > mostHeld {
		value, weight = cty.DynamicVal, 0
	}
	m.known[name], m.weights[name] = value, weight
	m.held += weight
	return value
}

// elementWeight is what an element of a list or an object counts as in a weight, beside its text: an element takes memory
// however short it is.
const elementWeight = 16

// weightOf is how long the texts in a value are, with elementWeight for each element. It stops above longestText.
func weightOf(value cty.Value) int {
	if text, ok := asText(value); ok {
		return elementWeight + len(text)
	}
	weight := elementWeight + len(prefixOf(value))
	if value.IsNull() || !value.IsKnown() || !value.CanIterateElements() {
		return weight
	}
	for elements := value.ElementIterator(); elements.Next() && weight <= longestText; {
		_, element := elements.Element()
		weight += weightOf(element)
	}
	return weight
}

// pure are the engine's functions that only compute a text from others, without any other effect: the length of the
// result is bounded by the length of the arguments.
var pure = map[string]function.Function{
	"trimprefix": stdlib.TrimPrefixFunc, "trimsuffix": stdlib.TrimSuffixFunc, "trimspace": stdlib.TrimSpaceFunc,
	"trim": stdlib.TrimFunc, "lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc, "coalesce": stdlib.CoalesceFunc,
	"element": stdlib.ElementFunc, "lookup": stdlib.LookupFunc,
	"dirname":    onText(path.Dir),
	"basename":   onText(path.Base),
	"pathexpand": onText(func(name string) string { return name }),
	"join":       joinFunc, "format": formatFunc,
}

// functions returns the functions that an expression calls. The result of a function that is not supported is unknown.
func (m *scope) functions(expr hclsyntax.Expression) map[string]function.Function {
	all := map[string]function.Function{}
	anyOf(expr, func(e hclsyntax.Expression) bool {
		call, ok := e.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return false
		}
		switch f, ok := pure[call.Name]; {
		case ok:
			all[call.Name] = f
		case call.Name == "abspath":
			all[call.Name] = onText(func(name string) string {
				if path.IsAbs(name) {
					return path.Clean(name)
				}
				return path.Join(repositoryRoot, m.root, name)
			})
		default:
			all[call.Name] = opaque
		}
		return false
	})
	return all
}

// opaque is a function whose result is unknown.
var opaque = function.New(&function.Spec{
	VarParam: &function.Parameter{
		Name: "any", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true,
	},
	Type: function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.DynamicVal, nil },
})

func onText(f func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(f(args[0].AsString())), nil
		},
	})
}

// joinFunc is join, with a result of at most longestText bytes.
var joinFunc = bounded(stdlib.JoinFunc, func(args []cty.Value) bool {
	parts, all := 0, 0
	for _, list := range args[1:] {
		eachString(list, func(text string) { parts, all = parts+1, all+len(text) })
	}
	return all+parts*len(args[0].AsString()) <= longestText
})

// plainFormat matches formats without widths: a width can add a gigabyte of spaces.
var plainFormat = regexp.MustCompile(`^(?:[^%]|%[%svdq])*$`)

// formatFunc is format with verbs that add no padding, and with a result of at most longestText bytes.
var formatFunc = bounded(stdlib.FormatFunc, func(args []cty.Value) bool {
	all := 0
	for _, arg := range args {
		eachString(arg, func(text string) { all += 2 * len(text) })
	}
	return plainFormat.MatchString(args[0].AsString()) && all <= longestText
})

// bounded is a function whose result is unknown if its arguments do not fit.
func bounded(f function.Function, fits func(args []cty.Value) bool) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !slices.ContainsFunc(args, func(v cty.Value) bool { return !v.IsWhollyKnown() || v.IsNull() }) && fits(args) {
				return f.Call(args)
			}
			return cty.UnknownVal(cty.String), nil
		},
	})
}

// hasLoop reports whether an expression has a loop.
func hasLoop(expr hclsyntax.Expression) bool {
	return anyOf(expr, func(e hclsyntax.Expression) bool {
		switch e.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
			return true
		}
		return false
	})
}

// asText returns the text of a known string.
func asText(value cty.Value) (string, bool) {
	if value.IsNull() || !value.IsKnown() || value.Type() != cty.String {
		return "", false
	}
	return value.AsString(), true
}

// prefixOf returns the known beginning of an unknown text.
func prefixOf(value cty.Value) string {
	if value.IsKnown() || value.Type() != cty.String {
		return ""
	}
	return value.Range().StringPrefix()
}

// eachString calls f for the strings of a known value. The recursion is bounded, as the parser bounds how deep code
// nests.
func eachString(value cty.Value, f func(string)) {
	if text, ok := asText(value); ok {
		f(text)
		return
	}
	if value.IsNull() || !value.IsKnown() || !value.CanIterateElements() {
		return
	}
	for elements := value.ElementIterator(); elements.Next(); {
		_, element := elements.Element()
		eachString(element, f)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
