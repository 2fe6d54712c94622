package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"cairn.dev/cairn/internal/runnerapi"
)

// mostFindings is how many are kept; the counts count all.
const mostFindings = 200

// ErrTooMuch is of policies that took more than they may, by their own doing: they would again.
var ErrTooMuch = errors.New("the policies took too much")

// ErrCutOff is of policies that were stopped before they had an answer. It need not be their doing: the machine may be
// busy.
var ErrCutOff = errors.New("the policies were cut off")

// Check asks the policies about a plan in the engine's JSON; asks is called for each module before it is evaluated. A
// policy that fails denies, with the reason. An error means that there is no answer. Nothing limits what the policies
// take, and there are some that it never returns from: let an Apart evaluate those of users.
func (s *Set) Check(
	ctx context.Context, planJSON []byte, asks func(module string),
) (runnerapi.PolicyResult, error) {
	if s.checked == 0 {
		return runnerapi.PolicyResult{}, nil
	}
	plan, err := decode(planJSON)
	if err != nil {
		return runnerapi.PolicyResult{}, err
	}
	var input ast.Value
	if len(s.rules) > 0 {
		if input, err = ast.InterfaceToValue(plan); err != nil {
			return runnerapi.PolicyResult{}, fmt.Errorf("the plan in JSON: %w", err)
		}
	}
	if len(s.validations) == 0 {
		plan = nil
	} else {
		plan = native(plan)
	}
	var all []runnerapi.Finding
	for _, r := range s.rules {
		asks(r.module)
		findings, err := guarded(ctx, r.module, func() ([]runnerapi.Finding, error) { return r.ask(ctx, input) })
		if err != nil {
			return runnerapi.PolicyResult{}, err
		}
		all = append(all, findings...)
	}
	for _, v := range s.validations {
		asks(v.module)
		findings, err := guarded(ctx, v.module, func() ([]runnerapi.Finding, error) { return v.ask(ctx, plan) })
		if err != nil {
			return runnerapi.PolicyResult{}, err
		}
		all = append(all, findings...)
	}
	if ctx.Err() != nil {
		return runnerapi.PolicyResult{}, context.Cause(ctx)
	}
	return summarize(s.checked, all), nil
}

// guarded asks one policy. What goes wrong with it is a finding: a policy that cannot be evaluated denies. An error is
// why it was cut off.
func guarded(
	ctx context.Context, module string, ask func() ([]runnerapi.Finding, error),
) (findings []runnerapi.Finding, err error) {
	deny := func(why any) []runnerapi.Finding {
		message := fmt.Sprintf("it cannot be evaluated: %v", why)
		return []runnerapi.Finding{{Policy: module, Action: runnerapi.Deny, Message: message}}
	}
	defer func() {
		if p := recover(); p != nil {
			findings, err = deny(p), nil
		}
	}()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", module, context.Cause(ctx))
	}
	findings, err = ask()
	switch {
	case err == nil:
		return findings, nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return nil, fmt.Errorf("%s: %w", module, err)
	}
	return deny(err), nil
}

// summarize sorts and counts findings.
func summarize(checked int32, all []runnerapi.Finding) runnerapi.PolicyResult {
	for i := range all {
		if all[i].Message = cut(all[i].Message); all[i].Message == "" {
			all[i].Message = "it returns no message"
		}
	}
	slices.SortFunc(all, func(a, b runnerapi.Finding) int {
		return cmp.Or(
			strings.Compare(a.Action, b.Action), strings.Compare(a.Policy, b.Policy),
			strings.Compare(a.Message, b.Message))
	})
	return runnerapi.PolicyResult{Checked: checked, Findings: all}.Cut(mostFindings)
}

// decode reads a plan.
func decode(planJSON []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(planJSON))
	decoder.UseNumber()
	var plan any
	if err := decoder.Decode(&plan); err != nil {
		return nil, errors.New("the plan is not JSON")
	}
	if _, ok := plan.(map[string]any); !ok {
		return nil, errors.New("the plan is not a JSON object")
	}
	return plan, nil
}

// native converts numbers to those of CEL. It changes the value.
func native(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			v[name] = native(child)
		}
	case []any:
		for i, child := range v {
			v[i] = native(child)
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(v.String(), 64) // one that is too large is infinite
		return f
	}
	return value
}
