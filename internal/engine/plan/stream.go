package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// place is where in the document we are. In most places a value is read as a whole; in these it is read piece by piece,
// because it may be large.
type place int

const (
	whole place = iota
	document
	priorState
	stateValues
	stateModule
	stateModules // a list of stateModule
	configuration
	configModule
	moduleCalls // moduleCall by name
	moduleCall
	list  // of what is read as a whole
	named // what is read as a whole, by names of the code: one may be called "values"
)

// inside is what each place contains.
var inside = map[place]map[string]place{
	document: {
		"planned_values": stateValues, "prior_state": priorState, "configuration": configuration,
		"resource_changes": list, "resource_drift": list, "deferred_changes": list, "action_invocations": list,
		"output_changes": named,
	},
	priorState:    {"values": stateValues},
	stateValues:   {"root_module": stateModule, "outputs": named},
	stateModule:   {"resources": list, "child_modules": stateModules},
	configuration: {"root_module": configModule, "provider_config": named},
	configModule:  {"resources": list, "module_calls": moduleCalls, "outputs": named},
	moduleCall:    {"module": configModule},
}

// deepest is how deep modules may lie in modules: each takes two or three levels of it.
const deepest = 1000

// masker goes through a document. It learns when learn is set, and writes when redact is.
type masker struct {
	root   *declarations
	learn  func(string)
	known  map[string]bool
	redact func(string) string
	// inResource: values are the attributes of a resource, and their names are no secrets.
	inResource bool
	// numbers are learned too.
	numbers bool

	decoder *json.Decoder
	out     *bytes.Buffer
	encoder *json.Encoder
	depth   int
}

func (m *masker) document(raw []byte, out *bytes.Buffer) error {
	m.decoder = json.NewDecoder(bytes.NewReader(raw))
	m.decoder.UseNumber()
	m.out = out
	if out != nil {
		m.encoder = json.NewEncoder(out)
		m.encoder.SetEscapeHTML(false)
	}
	if err := m.piece(document, nil); err != nil {
		return fmt.Errorf("the engine's plan in JSON: %w", err)
	}
	return nil
}

// piece goes through the value that comes next, which is at a place that is not read as a whole.
func (m *masker) piece(at place, declared *declarations) error {
	if m.depth++; m.depth > deepest {
		return fmt.Errorf("modules nest too deep")
	}
	defer func() { m.depth-- }()
	token, err := m.decoder.Token()
	if err != nil {
		return clean(err)
	}
	start := json.Delim('{')
	if at == list || at == stateModules {
		start = '['
	}
	switch token {
	case nil:
		m.raw("null")
		return nil
	case start:
	default:
		return fmt.Errorf("not as expected at byte %d", m.decoder.InputOffset())
	}
	m.raw(start.String())
	for first := true; m.decoder.More(); first = false {
		if !first {
			m.raw(",")
		}
		if start == '[' {
			err = m.element(at)
		} else {
			err = m.member(at, declared)
		}
		if err != nil {
			return err
		}
	}
	end, err := m.decoder.Token()
	if err != nil {
		return clean(err)
	}
	m.raw(end.(json.Delim).String())
	return nil
}

func (m *masker) element(at place) error {
	if at == stateModules {
		return m.piece(stateModule, nil)
	}
	value, err := m.next()
	if err != nil {
		return err
	}
	return m.write(m.described(value))
}

func (m *masker) member(at place, declared *declarations) error {
	token, err := m.decoder.Token()
	if err != nil {
		return clean(err)
	}
	name := token.(string) // the decoder lets nothing else stand before a colon
	if m.redact != nil {
		shown := name
		if at != named && at != moduleCalls { // those are names in the code
			shown = m.name(name)
		}
		if err := m.write(shown); err != nil {
			return err
		}
		m.raw(":")
	}
	if at == moduleCalls {
		return m.piece(moduleCall, declared.call(name))
	}
	if to := inside[at][name]; to != whole {
		if at == configuration {
			declared = m.root
		}
		return m.piece(to, declared)
	}
	value, err := m.next()
	if err != nil {
		return err
	}
	return m.write(m.variables(at, name, value, declared))
}

// next reads the next value as a whole.
func (m *masker) next() (any, error) {
	var value any
	if err := m.decoder.Decode(&value); err != nil {
		return nil, clean(err)
	}
	return value, nil
}

func (m *masker) raw(s string) {
	if m.out != nil {
		m.out.WriteString(s)
	}
}

func (m *masker) write(value any) error {
	if m.out == nil {
		return nil
	}
	if err := m.encoder.Encode(value); err != nil {
		return err
	}
	m.out.Truncate(m.out.Len() - 1) // the encoder ends with a line break
	return nil
}
