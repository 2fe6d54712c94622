package runnerhandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// publishable returns the outputs that an object can hold, and why it cannot hold others: they are not written, and
// keep no other output from it.
func publishable(outputs runnerapi.Outputs) (kept runnerapi.Outputs, rejected error) {
	kept = maps.Clone(outputs)
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		err := checkData("output", map[string][]byte{name: outputs[name].Value})
		if err == nil {
			continue
		}
		delete(kept, name)
		if code, why := httpapi.StatusOf(err); rejected == nil {
			rejected = httpapi.Errorf(code, "%s; the other outputs that an object can hold are written", why)
		}
	}
	return kept, rejected
}

// secretData is what the Secret of outputs holds: all of them.
func secretData(outputs runnerapi.Outputs) (map[string][]byte, error) {
	data := make(map[string][]byte, len(outputs))
	for name, output := range outputs {
		text, err := outputText(output.Value)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		data[name] = text
	}
	return data, checkData("output", data)
}

// configMapData is what the ConfigMap of outputs holds: none that is sensitive.
func configMapData(outputs runnerapi.Outputs) (map[string]string, error) {
	data := make(map[string]string, len(outputs))
	for name, output := range outputs {
		if output.Sensitive {
			continue
		}
		text, err := outputText(output.Value)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		data[name] = string(text)
	}
	return data, checkData("output", data)
}

// outputText is a string as it is and any other value as JSON.
func outputText(value json.RawMessage) ([]byte, error) {
	if len(value) == 0 {
		return []byte("null"), nil
	}
	var s *string
	if json.Unmarshal(value, &s) == nil && s != nil {
		return []byte(*s), nil
	}
	var text bytes.Buffer
	if err := json.Compact(&text, value); err != nil {
		return nil, err
	}
	return bytes.ToValidUTF8(text.Bytes(), []byte("\uFFFD")), nil
}
