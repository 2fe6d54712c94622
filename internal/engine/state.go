package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/google/uuid"
)

// State is what Cairn reads of a state.
type State struct {
	Serial  int64             `json:"serial"`
	Lineage string            `json:"lineage"`
	Outputs map[string]Output `json:"outputs"`
	// Encrypted is there when the engine encrypted the state: then there is nothing else to read.
	Encrypted json.RawMessage `json:"encrypted_data"`
	// Secrets are the values of outputs and attributes that are marked as sensitive.
	Secrets []any `json:"-"`
}

// ParseState reads a state.
func ParseState(data []byte) (State, error) {
	var s struct {
		State
		Resources []struct {
			Instances []struct {
				Attributes json.RawMessage `json:"attributes"`
				Sensitive  [][]PathStep    `json:"sensitive_attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, fmt.Errorf("read the state: %w", err)
	}
	for _, output := range s.Outputs {
		if output.Sensitive {
			s.Secrets = append(s.Secrets, decode(output.Value))
		}
	}
	for _, resource := range s.Resources {
		for _, instance := range resource.Instances {
			if len(instance.Sensitive) == 0 {
				continue
			}
			attributes := decode(instance.Attributes)
			for _, way := range instance.Sensitive {
				s.Secrets = append(s.Secrets, follow(attributes, way))
			}
		}
	}
	return s.State, nil
}

// WithLineage adds to a state the lineage that it lacks: OpenTofu leaves the first state of all without one when it
// cannot ask the backend whether there is another (1.12). The lineage is derived from the content, so that the same
// state always gets the same one.
func WithLineage(data []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	var lineage string
	if _, encrypted := fields["encrypted_data"]; encrypted ||
		(json.Unmarshal(fields["lineage"], &lineage) == nil && lineage != "") {
		return data, nil
	}
	var err error
	if fields["lineage"], err = json.Marshal(uuid.NewSHA1(uuid.Nil, data)); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// SameState reports whether two states differ in nothing but their serial, which an engine increases when it pushes
// one.
func SameState(one, other []byte) bool {
	a, b := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal(one, &a) != nil || json.Unmarshal(other, &b) != nil {
		return false
	}
	delete(a, "serial")
	delete(b, "serial")
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool {
		var compact [2]bytes.Buffer
		return json.Compact(&compact[0], x) == nil && json.Compact(&compact[1], y) == nil &&
			bytes.Equal(compact[0].Bytes(), compact[1].Bytes())
	})
}

// decode reads a JSON value, numbers as they are written. What cannot be read is taken as one string.
func decode(data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return string(data)
	}
	return v
}

// PathStep is a step of the path from the attributes of a resource to a value in them that is marked as sensitive.
type PathStep struct {
	// Type is get_attr, with a name as its value, or index.
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// Key returns the name or the index of the step; "" for an invalid one.
func (s PathStep) Key() string {
	key := decode(s.Value)
	if typed, ok := key.(map[string]any); ok && s.Type == "index" {
		key = typed["value"]
	}
	switch key := key.(type) {
	case string:
		return key
	case json.Number:
		return key.String()
	}
	return ""
}

// follow returns the value at the end of a path or, where the path cannot be followed to its end, as with a set, all
// that the value is part of: rather too much is hidden than too little.
func follow(value any, path []PathStep) any {
	for _, step := range path {
		next, ok := memberOf(value, step.Key())
		if !ok {
			return value
		}
		value = next
	}
	return value
}

// memberOf returns the member or the element of a value.
func memberOf(value any, key string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		if next, ok := v[key]; ok {
			return next, true
		}
		// A value of any type is written as {"value": ..., "type": ...}.
		if inner, ok := v["value"]; ok && len(v) == 2 && v["type"] != nil {
			return memberOf(inner, key)
		}
	case []any:
		if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// Output is one output of a root module.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive"`
}

// ParseOutputs reads what an engine answers to Outputs.
func ParseOutputs(data []byte) (map[string]Output, error) {
	var outputs map[string]Output
	if err := json.Unmarshal(data, &outputs); err != nil {
		return nil, fmt.Errorf("read the outputs: %w", err)
	}
	return outputs, nil
}
