package engine

import (
	"encoding/json"
	"fmt"
)

// Output is one output of a root module.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive"`
}

// ParseOutputs reads what an engine answers to Output.
func ParseOutputs(data []byte) (map[string]Output, error) {
	var outputs map[string]Output
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, fmt.Errorf("read the outputs: %w", err)
	}
	return outputs, nil
}
