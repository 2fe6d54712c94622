package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

// outputsAtOnce is how many outputs are asked for at the same time: for each one the store reads a whole state.
const outputsAtOnce = 8

// outputRef is an output of another Stack.
type outputRef struct{ stack, output string }

func outputOf(v store.Variable) outputRef { return outputRef{v.Stack, v.Output} }

// fetchOutputs gets the outputs of other Stacks that the order's Variables take their values from, each of them once.
func (a *attempt) fetchOutputs(ctx context.Context) (map[outputRef]*json.RawMessage, error) {
	values := map[outputRef]*json.RawMessage{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(outputsAtOnce)
	for _, variable := range a.order.Variables {
		ref := outputOf(variable)
		if variable.Stack == "" || values[ref] != nil {
			continue
		}
		value := new(json.RawMessage)
		values[ref] = value
		group.Go(func() (err error) {
			*value, err = a.fetchOutput(ctx, ref)
			return err
		})
	}
	return values, group.Wait()
}

// fetchOutput gets one output. A sensitive one is known as secret before anything else is done with it. One that changed
// since the Run was made is a failure that passes: the Run that comes next is made for what it is now.
func (a *attempt) fetchOutput(ctx context.Context, ref outputRef) (json.RawMessage, error) {
	output, err := a.client.StackOutput(ctx, ref.stack, ref.output)
	var refused *store.Error
	if errors.As(err, &refused) {
		switch refused.Code {
		case http.StatusConflict:
			return nil, errors.New(refused.Message)
		case http.StatusUnprocessableEntity:
			return nil, &engine.Refused{Reason: refused.Message}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("output %s of Stack %s: %w", ref.output, ref.stack, err)
	}
	if output.Sensitive {
		a.secrets.Add(redact.JSONValues(output.Value)...)
	}
	return output.Value, nil
}
