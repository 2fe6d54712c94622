package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"go.yaml.in/yaml/v3"

	"cairn.dev/cairn/internal/runnerapi"
)

// What an expression may take: what it does, in CEL's units, and how long it may be.
const (
	costLimit       = 10_000_000
	longestText     = 16 << 10
	mostValidations = 1000
	// longestResult is the longest text that a function returns.
	longestResult = 1 << 20
	// mostMembers is how many values are compared, or searched, at a time.
	mostMembers = 1_000_000
)

var errLarge = types.NewErr("a value has more than %d members", mostMembers)

var errLong = types.NewErr("the text would be longer than %d KiB", longestResult>>10)

// validation is an expression that has to be true, ready to be asked.
type validation struct {
	module, action    string
	text, message     string
	expression        cel.Program
	messageExpression cel.Program
}

// validations is a file of them.
type validations struct {
	Validations []validationText `yaml:"validations"`
}

// validationText is one as users write it.
type validationText struct {
	Expression        string `yaml:"expression"`
	Message           string `yaml:"message"`
	MessageExpression string `yaml:"messageExpression"`
	Action            string `yaml:"action"`
}

func readValidations(m Module) ([]validation, error) {
	wrong := func(line int, format string, args ...any) error {
		return &Invalid{Module: m.Name, Line: line, Message: cut(fmt.Sprintf(format, args...))}
	}
	decoder := yaml.NewDecoder(strings.NewReader(m.Text))
	decoder.KnownFields(true)
	var file validations
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, wrong(0, "%s", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, wrong(0, "it has more than one document")
	}
	if n := len(file.Validations); n == 0 || n > mostValidations {
		return nil, wrong(0, "it has %d validations: 1 to %d it can have", n, mostValidations)
	}
	lines := linesOf(m.Text)
	env, err := environment()
	if err != nil {
		return nil, err
	}
	var all []validation
	for i, text := range file.Validations {
		v := validation{module: m.Name, text: text.Expression, message: text.Message, action: text.Action}
		switch v.action {
		case "":
			v.action = runnerapi.Deny
		case runnerapi.Deny, runnerapi.RequireApproval, runnerapi.Warn:
		default:
			return nil, wrong(lines[i], "action %q: it is Deny, RequireApproval or Warn", v.action)
		}
		if v.expression, err = program(env, text.Expression, cel.BoolType); err != nil {
			return nil, wrong(lines[i], "expression: %s", err)
		}
		if text.MessageExpression != "" {
			if v.messageExpression, err = program(env, text.MessageExpression, cel.StringType); err != nil {
				return nil, wrong(lines[i], "messageExpression: %s", err)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// linesOf returns the line of each validation in a text that has been read.
func linesOf(text string) map[int]int {
	lines := map[int]int{}
	var root yaml.Node
	if yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&root) != nil || len(root.Content) == 0 {
		return lines
	}
	file := root.Content[0]
	for i := 0; i+1 < len(file.Content); i += 2 {
		if file.Content[i].Value == "validations" {
			for n, v := range file.Content[i+1].Content {
				lines[n] = v.Line
			}
		}
	}
	return lines
}

// environment is what expressions can use: the libraries of ValidatingAdmissionPolicies that are CEL's own.
func environment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("plan", cel.DynType), cel.Variable("input", cel.DynType),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), cel.DefaultUTCTimeZone(true),
		cel.ParserRecursionLimit(100), cel.ParserExpressionSizeLimit(longestText),
		ext.Strings(), ext.TwoVarComprehensions(), // sets compare each with each, and cannot be interrupted
	)
}

// bounded adds a check of the required memory before the functions that build a long text from short ones, and before
// the search for an expression. CEL counts what they cost only when they are done.
func bounded(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return i, nil
	}
	var function func(args ...ref.Val) ref.Val
	switch call.Function() {
	case operators.Equals:
		function = equal
	case operators.NotEquals:
		function = func(args ...ref.Val) ref.Val {
			if same, ok := equal(args...).(types.Bool); ok {
				return !same
			}
			return errLarge
		}
	case operators.In:
		function = in
	case "join":
		function = join
	case "matches":
		var last atomic.Pointer[regexp.Regexp]
		function = func(args ...ref.Val) ref.Val { return matches(&last, args) }
	case "replace":
		function = replace
	default:
		return i, nil
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), function), nil
}

func matches(last *atomic.Pointer[regexp.Regexp], args []ref.Val) ref.Val {
	text, okText := args[0].Value().(string)
	pattern, okPattern := args[1].Value().(string)
	switch {
	case !okText:
		return types.MaybeNoSuchOverloadErr(args[0])
	case !okPattern:
		return types.MaybeNoSuchOverloadErr(args[1])
	case tooSlow(pattern, len(text)):
		return types.WrapErr(errSlow)
	}
	expression := last.Load() // mostly the same one for each resource
	if expression == nil || expression.String() != pattern {
		var err error
		if expression, err = regexp.Compile(pattern); err != nil {
			return types.WrapErr(err)
		}
		last.Store(expression)
	}
	return types.Bool(expression.MatchString(text))
}

// equal compares values, unless both are too large for that: it cannot be interrupted, and lists in lists that are the
// same list double with each.
func equal(args ...ref.Val) ref.Val {
	if members(args[0], mostMembers) > mostMembers && members(args[1], mostMembers) > mostMembers {
		return errLarge
	}
	return types.Equal(args[0], args[1])
}

// in searches for a value, which for a map is no search.
func in(args ...ref.Val) ref.Val {
	where, ok := args[1].(traits.Container)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[1])
	}
	if _, isMap := args[1].(traits.Mapper); !isMap && members(args[1], mostMembers) > mostMembers {
		return errLarge
	}
	return where.Contains(args[0])
}

// members returns how many values there are in one, itself among them; it stops when they are more than most.
func members(value ref.Val, most int) int {
	n := 1
	var all traits.Iterable
	var mapped traits.Mapper
	switch v := value.(type) {
	case traits.Mapper:
		all, mapped = v, v
	case traits.Lister:
		all = v
	default:
		return n
	}
	for it := all.Iterator(); n <= most && it.HasNext() == types.True; {
		item := it.Next()
		if mapped != nil {
			item, _ = mapped.Find(item)
		}
		n += members(item, most-n)
	}
	return n
}

func join(args ...ref.Val) ref.Val {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	separator := ""
	if len(args) > 1 {
		if separator, ok = args[1].Value().(string); !ok {
			return types.MaybeNoSuchOverloadErr(args[1])
		}
	}
	var all []string
	length := 0
	for it := list.Iterator(); it.HasNext() == types.True; {
		item := it.Next()
		text, ok := item.Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(item)
		}
		if length += len(text) + len(separator); length > longestResult || len(all) == longestResult {
			return errLong
		}
		all = append(all, text)
	}
	return types.String(strings.Join(all, separator))
}

func replace(args ...ref.Val) ref.Val {
	var texts [3]string
	for i := range texts {
		text, ok := args[i].Value().(string)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[i])
		}
		texts[i] = text
	}
	n := strings.Count(texts[0], texts[1])
	if len(args) > 3 {
		most, ok := args[3].Value().(int64)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[3])
		}
		if most >= 0 {
			n = int(min(int64(n), most))
		}
	}
	if n > 0 && len(texts[2]) > (longestResult-len(texts[0]))/n {
		return errLong
	}
	return types.String(strings.Replace(texts[0], texts[1], texts[2], n))
}

func program(env *cel.Env, text string, want *cel.Type) (cel.Program, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if got := checked.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it is a %s and has to be a %s", got, want)
	}
	return env.Program(checked,
		cel.CostLimit(costLimit), cel.InterruptCheckFrequency(100), cel.CustomDecoratorV2(bounded))
}

// ask returns the finding of a validation; nothing when its expression is true.
func (v validation) ask(ctx context.Context, plan any) ([]runnerapi.Finding, error) {
	variables := map[string]any{"plan": plan, "input": plan}
	value, err := evaluate(ctx, v.expression, variables)
	if err != nil {
		return nil, err
	}
	if ok, is := value.Value().(bool); !is {
		return nil, fmt.Errorf("%s is not true or false but a %s", v.text, value.Type())
	} else if ok {
		return nil, nil
	}
	message := v.message
	if v.messageExpression != nil {
		// As in a ValidatingAdmissionPolicy: one that cannot be evaluated is replaced by the other message.
		if value, err := evaluate(ctx, v.messageExpression, variables); err == nil {
			if s, ok := value.Value().(string); ok && strings.TrimSpace(s) != "" {
				message = s
			}
		}
	}
	if message == "" {
		message = "not true: " + v.text
	}
	return []runnerapi.Finding{{Policy: v.module, Action: v.action, Message: message}}, nil
}

func evaluate(ctx context.Context, p cel.Program, variables map[string]any) (ref.Val, error) {
	value, _, err := p.ContextEval(ctx, variables)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause
	}
	return value, err
}
