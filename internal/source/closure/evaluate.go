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
	// top is the directory of the repository in absolute paths.
	top    string
	locals map[string]hclsyntax.Expression
	// variables are those of a template, which has no local values; nil in a module.
	variables map[string]cty.Value
	known     map[string]cty.Value
	// weights are those of the known values.
	weights map[string]int
	// held is the sum of weights.
	held   int
	depth  int
	budget *budget
	// elsewhere is the same module of a repository in another directory, see absolute.go.
	elsewhere *scope
	// absolutes caches which local values are computed from an absolute path.
	absolutes map[string]origin
}

// newScope returns the scope of a module.
func newScope(root, dir string, locals map[string]hclsyntax.Expression, b *budget) *scope {
	at := func(top string) *scope {
		return &scope{
			root: root, dir: dir, top: top, locals: locals, budget: b, known: map[string]cty.Value{},
			weights: map[string]int{}, absolutes: map[string]origin{},
		}
	}
	m := at(repositoryRoot)
	m.elsewhere = at(otherRoot)
	return m
}

// template returns the scope of a template that code of the module renders.
func (m *scope) template(variables hclsyntax.Expression) *scope {
	inner := newScope(m.root, m.dir, nil, m.budget)
	inner.variables, inner.elsewhere.variables = m.members(variables), m.elsewhere.members(variables)
	return inner
}

// members evaluates the members of an object.
func (m *scope) members(expr hclsyntax.Expression) map[string]cty.Value {
	all := map[string]cty.Value{}
	if object, ok := expr.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			if name, ok := asText(m.evaluate(item.KeyExpr)); ok {
				all[name] = m.evaluate(item.ValueExpr)
			}
		}
		return all
	}
	value := m.evaluate(expr)
	if t := value.Type(); value.IsKnown() && !value.IsNull() && (t.IsObjectType() || t.IsMapType()) {
		return value.AsValueMap()
	}
	return all
}

// texts calls f with the texts that an expression evaluates to, with a zero byte for each unknown part. Intermediate
// texts are not among them, unless the result is unknown. With all, it also evaluates the parts that cannot go up by
// themselves. It returns a part that computes a text from an absolute path in a way that is not known, or nil.
func (m *scope) texts(expr hclsyntax.Expression, all bool, f func(text string)) (lost hclsyntax.Expression) {
	for stack := []hclsyntax.Expression{expr}; len(stack) > 0; {
		next := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !all && !mayGoUp(next) {
			continue
		}
		value := m.value(next)
		if value.IsWhollyKnown() {
			eachString(value, f)
			continue
		}
		if m.isLost(next) && lost == nil {
			lost = next
		}
		if parts, ok := m.parts(next); ok {
			f(m.join(parts))
			for _, part := range parts {
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
	return lost
}

// parts returns the parts of a text that an expression joins: of a template, or of the functions format and join.
func (m *scope) parts(expr hclsyntax.Expression) ([]hclsyntax.Expression, bool) {
	switch e := expr.(type) {
	case *hclsyntax.TemplateExpr:
		return e.Parts, true
	case *hclsyntax.FunctionCallExpr:
		if len(e.Args) < 2 || e.ExpandFinal {
			return nil, false
		}
		text, known := asText(m.value(e.Args[0]))
		list, isList := e.Args[1].(*hclsyntax.TupleConsExpr)
		switch name := nameOf(e); {
		case !known:
		case name == "format":
			return formatParts(text, e.Args[1:])
		case name == "join" && len(e.Args) == 2 && isList:
			var parts []hclsyntax.Expression
			for i, one := range list.Exprs {
				if i > 0 {
					parts = append(parts, textExpr(text))
				}
				parts = append(parts, one)
			}
			return parts, true
		}
	}
	return nil, false
}

// formatParts returns the texts between the verbs of a format, and the arguments in place of these.
func formatParts(format string, args []hclsyntax.Expression) ([]hclsyntax.Expression, bool) {
	if !plainFormat.MatchString(format) {
		return nil, false
	}
	var parts []hclsyntax.Expression
	for {
		before, after, found := strings.Cut(format, "%")
		if before != "" {
			parts = append(parts, textExpr(before))
		}
		switch {
		case !found:
			return parts, len(args) == 0
		case after[0] == '%':
			parts = append(parts, textExpr("%"))
		case len(args) == 0:
			return nil, false
		default:
			parts, args = append(parts, args[0]), args[1:]
		}
		format = after[1:]
	}
}

func textExpr(text string) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(text)}
}

// nameOf returns the name of a function, without the namespace of the engine's own.
func nameOf(call *hclsyntax.FunctionCallExpr) string { return strings.TrimPrefix(call.Name, "core::") }

// isEvaluated reports whether the expressions that refer to a local value see all its texts, or the beginning of its
// text.
func (m *scope) isEvaluated(name string) bool {
	value := m.local(name)
	return (value.IsWhollyKnown() || prefixOf(value) != "") && m.isSame(value, m.elsewhere.local(name))
}

// isText reports whether a part of a template is known, or is a plain reference: its parts need no evaluation.
func (m *scope) isText(part hclsyntax.Expression) bool {
	if m.value(part).IsWhollyKnown() {
		return true
	}
	_, reference := part.(*hclsyntax.ScopeTraversalExpr)
	return reference
}

// join joins the known parts of a text.
func (m *scope) join(parts []hclsyntax.Expression) string {
	var b strings.Builder
	for _, part := range parts {
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

// value evaluates an expression. A result that depends on where the pod unpacks the repository is unknown.
func (m *scope) value(expr hclsyntax.Expression) cty.Value {
	value := m.evaluate(expr)
	if m.elsewhere == nil || m.origin(expr) == 0 {
		return value
	}
	if other := m.elsewhere.evaluate(expr); !m.isSame(value, other) {
		if value.Type().IsPrimitiveType() && value.Type().Equals(other.Type()) {
			return cty.UnknownVal(value.Type())
		}
		return cty.DynamicVal
	}
	return value
}

// evaluate evaluates an expression. The result is unknown where it depends on the engine or on a variable, and for
// loops: a loop can run without end.
func (m *scope) evaluate(expr hclsyntax.Expression) cty.Value {
	if m.budget.spend(expressionWork*size(expr)) != nil || hasLoop(expr) {
		return cty.DynamicVal
	}
	variables, locals, weight := map[string]cty.Value{}, map[string]cty.Value{}, 0
	for _, reference := range expr.Variables() {
		root := reference.RootName()
		switch {
		case m.variables != nil:
			value, ok := m.variables[root]
			if !ok {
				value = cty.DynamicVal
			}
			weight += weightOf(value)
			variables[root] = value
		case root == "path":
			variables[root] = m.path()
		case root == "local":
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
	if m.variables == nil {
		variables["local"] = cty.ObjectVal(locals)
	}
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
		"cwd":    cty.StringVal(path.Join(m.top, m.root)),
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
	value := m.evaluate(expr)
	m.depth--
	weight := weightOf(value)
	if weight > longestText || m.held+weight > mostHeld {
		value, weight = cty.DynamicVal, 0
	}
	m.known[name], m.weights[name] = value, weight
	m.held += weight
	return value
}

// elementWeight is what an element of a list or an object counts as in a weight, beside its text: an element takes
// memory however short it is.
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
	"split": stdlib.SplitFunc, "slice": stdlib.SliceFunc, "length": stdlib.LengthFunc, "concat": stdlib.ConcatFunc,
	"reverse": stdlib.ReverseListFunc, "compact": stdlib.CompactFunc, "substr": stdlib.SubstrFunc,
	"chomp": stdlib.ChompFunc,
}

// functions returns the functions that an expression calls. The result of a function that is not supported is unknown.
func (m *scope) functions(expr hclsyntax.Expression) map[string]function.Function {
	all := map[string]function.Function{}
	anyOf(expr, func(e hclsyntax.Expression) bool {
		call, ok := e.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return false
		}
		name := nameOf(call)
		f, isPure := pure[name]
		pattern, isPattern := patterns[name]
		switch {
		case isPure:
			all[call.Name] = f
		case isPattern:
			all[call.Name] = bounded(pattern, m.mayMatch)
		case name == "abspath":
			all[call.Name] = onText(func(name string) string {
				if path.IsAbs(name) {
					return path.Clean(name)
				}
				return path.Join(m.top, m.root, name)
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
		Name: "any", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true,
		AllowMarked: true,
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

// patterns are the engine's functions with a regular expression.
var patterns = map[string]function.Function{
	"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": replaceFunc,
}

// longestPattern is the most bytes of a regular expression that is evaluated.
const longestPattern = 512

// mayMatch reports whether a regular expression takes limited time and memory with a text: it has no counted
// repetitions, whose work is far more than their length.
func (m *scope) mayMatch(args []cty.Value) bool {
	pattern, text, result := args[0].AsString(), args[1].AsString(), 0
	if len(args) == 3 { // of replace
		pattern, text = text, pattern
		with := args[2].AsString()
		result = (len(text) + 1) * (len(with) + strings.Count(with, "$")*len(text))
	}
	work := len(pattern) * len(text)
	return len(pattern) <= longestPattern && !strings.Contains(pattern, "{") && len(text) <= longestText &&
		result <= mostHeld && m.budget.spend(work+result) == nil
}

// replaceFunc is replace. A text between slashes is a regular expression.
var replaceFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "text", Type: cty.String}, {Name: "old", Type: cty.String}, {Name: "new", Type: cty.String},
	},
	Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		text, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
		if len(old) > 1 && strings.HasPrefix(old, "/") && strings.HasSuffix(old, "/") {
			pattern, err := regexp.Compile(old[1 : len(old)-1])
			if err != nil {
				return cty.UnknownVal(cty.String), err
			}
			text = pattern.ReplaceAllString(text, with)
		} else {
			text = strings.ReplaceAll(text, old, with)
		}
		if len(text) > longestText {
			return cty.UnknownVal(cty.String), nil
		}
		return cty.StringVal(text), nil
	},
})

// bounded is a function whose result is unknown if its arguments do not fit.
func bounded(f function.Function, fits func(args []cty.Value) bool) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if !areKnown(args) || !fits(args) {
				return cty.DynamicPseudoType, nil
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, as cty.Type) (cty.Value, error) {
			if as != cty.DynamicPseudoType && areKnown(args) {
				return f.Call(args)
			}
			return cty.UnknownVal(as), nil
		},
	})
}

func areKnown(args []cty.Value) bool {
	return !slices.ContainsFunc(args, func(v cty.Value) bool { return !v.IsWhollyKnown() || v.IsNull() })
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
