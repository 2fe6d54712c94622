// Package template renders the template of a StackSet: values of any JSON type whose strings may have CEL expressions
// in ${...}. It is pure.
//
//	"${params.replicas}"      one expression: the value of the expression, with its type
//	"net-${params.env}"       text: what the expressions return, as text
//	"$${HOME}"                the text ${HOME}
package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// costLimit is how much one expression may cost: some milliseconds.
	costLimit = 100_000
	// longestExpression is the most bytes of an expression.
	longestExpression = 10_000
	// deepest is how far objects and lists may be nested.
	deepest = 50
)

// Error is why a template cannot be rendered.
type Error struct {
	// Field of the template, such as spec.variables[0].value, and the expression in it; empty where it is none.
	Field, Expression string
	// Directory of the item, and its params; empty when each item has the error.
	Directory string
	Params    map[string]any
	Reason    string
}

func (e *Error) Error() string {
	text := "template." + e.Field + ": " + e.Reason
	if e.Expression != "" {
		text = "template." + e.Field + ": ${" + e.Expression + "}: " + e.Reason
	}
	if e.Directory != "" {
		text += " (directory " + e.Directory + ")"
	}
	if len(e.Params) > 0 {
		var params []string
		for _, name := range slices.Sorted(maps.Keys(e.Params)) {
			params = append(params, fmt.Sprintf("%s=%v", name, e.Params[name]))
		}
		text += " with params " + strings.Join(params, ", ")
	}
	return text
}

// Template is one that was compiled.
type Template struct {
	root node
	// choosesBy are captures that guarded fields choose by, and separators what they do not contain.
	choosesBy  []string
	separators map[string]string
}

// node renders a value.
type node interface {
	render(ctx context.Context, variables map[string]any) (any, error)
}

// Compile reads a template from JSON. written are the params that the author of the StackSet wrote: expressions of
// guarded fields read no others. An error is an *Error.
func Compile(data []byte, written []string) (*Template, error) {
	var root any
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	env, err := cel.NewEnv(
		cel.Variable("params", cel.MapType(cel.StringType, cel.DynType)), cel.Variable("directory", cel.StringType),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(),
		cel.ParserRecursionLimit(100), cel.ParserExpressionSizeLimit(longestExpression), ext.Strings(),
	)
	if err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	c := compiler{env: env, guard: guard{written: written}}
	if object, ok := root.(map[string]any); ok {
		if metadata, ok := object["metadata"].(map[string]any); ok {
			name, err := c.value("metadata.name", metadata["name"], 0)
			if err != nil {
				return nil, err
			}
			c.guard.separators = separatorsOf(name)
		}
	}
	n, err := c.value("", root, 0)
	if err != nil {
		return nil, err
	}
	return &Template{n, c.choosesBy, c.guard.separators}, nil
}

// Render returns the template for an item, as JSON. An error is an *Error.
func (t *Template) Render(ctx context.Context, directory string, params map[string]any) ([]byte, error) {
	err := t.checkCaptures(params)
	var value any
	if err == nil {
		value, err = t.root.render(ctx, map[string]any{"params": params, "directory": directory})
	}
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Directory, e.Params = directory, params
		}
		return nil, err
	}
	return json.Marshal(value)
}

type compiler struct {
	env       *cel.Env
	guard     guard
	choosesBy []string
}

func (c *compiler) value(field string, value any, depth int) (node, error) {
	if depth > deepest {
		return nil, &Error{Field: field, Reason: fmt.Sprintf("it is nested more than %d levels deep", deepest)}
	}
	switch value := value.(type) {
	case map[string]any:
		object := make(object, len(value))
		for key, member := range value {
			if strings.Contains(key, "${") {
				return nil, &Error{Field: join(field, key), Reason: "the name of a field cannot have an expression"}
			}
			var err error
			if object[key], err = c.value(join(field, key), member, depth+1); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		list := make(list, len(value))
		for i, member := range value {
			var err error
			if list[i], err = c.value(field+"["+strconv.Itoa(i)+"]", member, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case string:
		return c.text(field, value)
	}
	return constant{value}, nil
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// text compiles a string with expressions.
func (c *compiler) text(field, value string) (node, error) {
	t := text{field: field}
	for rest := value; rest != ""; {
		at := strings.Index(rest, "${")
		switch {
		case at < 0:
			t.parts = append(t.parts, part{plain: rest})
			rest = ""
		case at > 0 && rest[at-1] == '$':
			t.parts = append(t.parts, part{plain: rest[:at-1] + "${"})
			rest = rest[at+2:]
		default:
			end := closing(rest[at+2:])
			if end < 0 {
				return nil, &Error{Field: field, Reason: "the ${ has no }; write $${ for the text ${"}
			}
			expression := rest[at+2 : at+2+end]
			program, err := c.compile(field, expression, at == 0 && rest == value && at+2+end+1 == len(rest))
			if err != nil {
				return nil, &Error{Field: field, Expression: expression, Reason: err.Error()}
			}
			if at > 0 {
				t.parts = append(t.parts, part{plain: rest[:at]})
			}
			t.parts = append(t.parts, part{expression: expression, program: program})
			rest = rest[at+2+end+1:]
		}
	}
	if len(t.parts) == 1 && t.parts[0].program == nil {
		return constant{t.parts[0].plain}, nil
	}
	if len(t.parts) == 0 {
		return constant{""}, nil
	}
	return t, nil
}

// closing is the index of the } that ends an expression, which may have strings and maps with braces in it; -1 for
// none.
func closing(s string) int {
	open, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '{':
			open++
		case c == '}' && open == 0:
			return i
		case c == '}':
			open--
		}
	}
	return -1
}

func (c *compiler) compile(field, expression string, alone bool) (cel.Program, error) {
	if strings.TrimSpace(expression) == "" {
		return nil, errors.New("it is empty")
	}
	checked, issues := c.env.Compile(expression)
	if issues.Err() != nil {
		return nil, errorsOf(issues)
	}
	chooses, err := c.guard.check(field, checked.NativeRep(), alone)
	if err != nil {
		return nil, err
	}
	c.choosesBy = append(c.choosesBy, chooses...)
	return c.env.Program(checked, cel.CostLimit(costLimit), cel.InterruptCheckFrequency(100))
}

// errorsOf returns the errors of an expression in one line, since tables show them. The library draws the expression
// below each.
func errorsOf(issues *cel.Issues) error {
	var all []string
	for _, e := range issues.Errors() {
		at := fmt.Sprintf("column %d: ", e.Location.Column()+1)
		if e.Location.Line() > 1 {
			at = fmt.Sprintf("line %d, ", e.Location.Line()) + at
		}
		all = append(all, at+strings.TrimSuffix(e.Message, " (in container '')"))
	}
	return errors.New(strings.Join(all, "; "))
}

type (
	constant struct{ value any }
	object   map[string]node
	list     []node
	text     struct {
		field string
		parts []part
	}
	part struct {
		plain, expression string
		program           cel.Program
	}
)

func (c constant) render(context.Context, map[string]any) (any, error) { return c.value, nil }

func (o object) render(ctx context.Context, variables map[string]any) (any, error) {
	values := make(map[string]any, len(o))
	for _, key := range slices.Sorted(maps.Keys(o)) { // the first error is always the same
		value, err := o[key].render(ctx, variables)
		if err != nil {
			return nil, err
		}
		values[key] = value
	}
	return values, nil
}

func (l list) render(ctx context.Context, variables map[string]any) (any, error) {
	values := make([]any, len(l))
	for i, member := range l {
		var err error
		if values[i], err = member.render(ctx, variables); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (t text) render(ctx context.Context, variables map[string]any) (any, error) {
	if len(t.parts) == 1 {
		return t.native(ctx, t.parts[0], variables)
	}
	var all strings.Builder
	for _, p := range t.parts {
		if p.program == nil {
			all.WriteString(p.plain)
			continue
		}
		value, err := t.evaluate(ctx, p, variables)
		if err != nil {
			return nil, err
		}
		word := value.ConvertToType(types.StringType)
		if types.IsError(word) {
			return nil, &Error{Field: t.field, Expression: p.expression, Reason: "it is a " + value.Type().TypeName() +
				", which cannot be a part of a text"}
		}
		all.WriteString(string(word.(types.String)))
	}
	return all.String(), nil
}

func (t text) evaluate(ctx context.Context, p part, variables map[string]any) (ref.Val, error) {
	value, _, err := p.program.ContextEval(ctx, variables)
	if err != nil {
		return nil, &Error{Field: t.field, Expression: p.expression, Reason: err.Error()}
	}
	return value, nil
}

// native is the value of an expression as a JSON value with its type.
func (t text) native(ctx context.Context, p part, variables map[string]any) (any, error) {
	value, err := t.evaluate(ctx, p, variables)
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case types.Int:
		return int64(value), nil // a number of JSON would lose digits
	case types.Uint:
		return uint64(value), nil
	case types.String:
		return string(value), nil
	}
	native, err := value.ConvertToNative(types.JSONValueType)
	if err != nil {
		return nil, &Error{Field: t.field, Expression: p.expression, Reason: "it is a " + value.Type().TypeName() +
			", which JSON does not have"}
	}
	return native.(*structpb.Value).AsInterface(), nil
}
