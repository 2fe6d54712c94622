package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/interrupt"
	"cairn.dev/cairn/internal/runnerapi"
)

// Limits of what a report shows of the outputs.
const (
	longestOutput = 1 << 10
	mostOutputs   = 64
)

// outputsStep stores the outputs.
type outputsStep struct{ *workbench }

// stepOutputs does the outputs step, which outlives an interrupt and a hook that failed, unlike the hooks around it:
// the outputs of an apply have to be stored. Outputs that the server cannot write fail the step but not the attempt,
// which did what it should: they are too large, an object that is not Cairn's has their name, or one has a name that no
// key of an object may have. A user has to correct that.
func (s *outputsStep) stepOutputs(
	ctx, podCtx context.Context, hookErr error,
) (shown map[string]json.RawMessage, err error) {
	if hookErr == nil {
		hookErr = s.runHooks(ctx, "outputs", before)
	}
	longer, cancel := interrupt.Outlive(podCtx)
	defer cancel()
	var refused bool
	err = s.step(longer, "outputs", func(ctx context.Context) (result, error) {
		outputs, err := s.readOutputs(ctx)
		if err != nil {
			return result{}, err
		}
		shown = show(outputs)
		if err = s.client.WriteOutputs(ctx, outputs); err != nil {
			code := runnerapi.Code(err)
			refused = slices.Contains([]int{http.StatusConflict,
				http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, code)
			return result{}, fmt.Errorf("write the outputs: %w", err)
		}
		return result{message: shorten.Count(len(outputs), "output")}, nil
	})
	if hookErr != nil {
		return shown, hookErr
	}
	if refused {
		s.report.Skip("outputs failed")
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	return shown, s.runHooks(ctx, "outputs", after)
}

// readOutputs reads the outputs from the newest state that went through the proxy, so that no launch of the engine
// is needed, unless the engine encrypts its states. An output that holds a secret is sensitive, whatever the code
// declares.
func (s *outputsStep) readOutputs(ctx context.Context) (runnerapi.Outputs, error) {
	state, err := s.proxy.History().State()
	if err != nil {
		return nil, err
	}
	read := state.Outputs
	if state.Encrypted != nil {
		if read, err = s.askOutputs(ctx); err != nil {
			return nil, err
		}
	}
	outputs := runnerapi.Outputs{}
	for name, output := range read {
		outputs[name] = runnerapi.Output{Value: output.Value,
			Sensitive: output.Sensitive || s.secrets.Hides(string(output.Value))}
	}
	return outputs, nil
}

// askOutputs asks the engine for the outputs.
func (s *outputsStep) askOutputs(ctx context.Context) (map[string]engine.Output, error) {
	answer, _, err := s.ask(ctx, call{args: s.engine.Args(engine.Outputs{VariableFiles: s.files.paths()})},
		largestAnswer)
	if err != nil {
		return nil, err
	}
	outputs, err := engine.ParseOutputs(answer)
	if err != nil {
		return nil, err
	}
	for _, output := range outputs {
		if output.Sensitive {
			s.secrets.Add(redact.JSONValues(output.Value)...)
		}
	}
	return outputs, nil
}

// show returns the outputs that a report may show: not sensitive, short, and not too many.
func show(outputs runnerapi.Outputs) map[string]json.RawMessage {
	shown := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		var value bytes.Buffer
		if err := json.Compact(&value, outputs[name].Value); err != nil {
			continue
		}
		if len(shown) < mostOutputs && !outputs[name].Sensitive && value.Len() <= longestOutput {
			shown[name] = value.Bytes()
		}
	}
	return shown
}
