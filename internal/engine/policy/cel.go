package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"go.yaml.in/yaml/v3"

	"cairn.dev/cairn/internal/runnerapi"
)

// What an expression may take: what it does, in CEL's units, and how long it may be.
const (
	costLimit       = 10_000_000
	longestText     = 16 << 10
	mostValidations = 1000
)

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
		cel.CostLimit(costLimit), cel.InterruptCheckFrequency(100))
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
