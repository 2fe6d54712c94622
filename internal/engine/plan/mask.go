package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// Hidden replaces a sensitive value. HiddenChanged replaces the value after a change, so that code which
// compares before and after, such as a policy, sees that much.
const (
	Hidden        = "(sensitive value)"
	HiddenChanged = "(sensitive value, changed)"
)

// Changed is appended to a text that equals the one before only because both have been redacted.
const Changed = " (changed)"

// Mask returns the engine's JSON of a plan with every value that is marked sensitive, and every ephemeral one,
// replaced by "(sensitive value)", and with every other text, names in maps among them, as redact returns it. First
// learn receives every sensitive text, so that redact can hide it elsewhere. Numbers and booleans are hidden where
// they are marked, and not learned: hiding a 1 everywhere would hide everything. A number that redact would change
// is hidden too. A null reveals nothing and stays. So do the names of what the code declares, and the words of the
// format: of an address, only the keys of instances are redacted. Without learn nothing is learned.
//
// Unreadable input is an error, and so is a format of another major version: nothing passes unseen. A mark of an
// unknown form hides what it is on. All else of the document stays as it is, also unknown fields.
//
// The document is read piece by piece, three times: what is sensitive among variables, what there is to learn, and
// the result. So it takes memory for the result and for one resource.
func Mask(raw []byte, redact func(string) string, learn func(string)) ([]byte, error) {
	m, err := newMasker(raw, learn)
	if err != nil {
		return nil, err
	}
	if learn != nil {
		if err := m.document(raw, nil); err != nil {
			return nil, err
		}
	}
	m.learn, m.known, m.redact = nil, nil, redact
	var out bytes.Buffer
	out.Grow(len(raw))
	if err := m.document(raw, &out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Sensitive calls learn for every text that Mask hides because it is marked, and for every number of six digits or
// more.
func Sensitive(raw []byte, learn func(string)) error {
	m, err := newMasker(raw, learn)
	if err != nil {
		return err
	}
	m.numbers = true
	return m.document(raw, nil)
}

func newMasker(raw []byte, learn func(string)) (*masker, error) {
	var head struct {
		FormatVersion string `json:"format_version"`
		Configuration struct {
			RootModule declarations `json:"root_module"`
		} `json:"configuration"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("the engine's plan in JSON: %w", clean(err))
	}
	if err := supported(head.FormatVersion); err != nil {
		return nil, err
	}
	return &masker{root: &head.Configuration.RootModule, learn: learn, known: map[string]bool{}}, nil
}

// supported rejects formats whose marks are unknown. A newer minor version only adds to an older one.
func supported(format string) error {
	if err := (&tfjson.Plan{FormatVersion: format}).Validate(); err != nil {
		return fmt.Errorf("the engine's plan in JSON: %w", err)
	}
	return nil
}

// clean returns an error of decoding without the piece of the document that it may quote.
func clean(err error) error {
	switch e := err.(type) { //nolint:errorlint // what encoding/json returns is not wrapped
	case *json.SyntaxError:
		return fmt.Errorf("not JSON at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		what, _, _ := strings.Cut(e.Value, " ")
		return fmt.Errorf("unexpected %s at byte %d", what, e.Offset)
	}
	return fmt.Errorf("not as expected")
}

// declarations are what a module of the configuration declares of variables, its own and those of the modules it
// calls.
type declarations struct {
	Variables   map[string]declaration `json:"variables"`
	ModuleCalls map[string]struct {
		Module declarations `json:"module"`
	} `json:"module_calls"`
}

// declaration of a variable. The engine writes the value of an ephemeral variable in clear, and does not mark it.
type declaration struct {
	Sensitive mark `json:"sensitive"`
	Ephemeral mark `json:"ephemeral"`
}

// mark is true for all but false and null: one of a form that we do not know hides rather than shows.
type mark bool

// UnmarshalJSON never fails.
func (m *mark) UnmarshalJSON(data []byte) error {
	*m = mark(string(data) != "false" && string(data) != "null")
	return nil
}

// call returns what is declared in a module that is called; nothing where it is not known.
func (d *declarations) call(name string) *declarations {
	if d == nil {
		return nil
	}
	call, ok := d.ModuleCalls[name]
	if !ok {
		return nil
	}
	return &call.Module
}

// sensitive reports whether a variable's value is to be hidden: also when nothing is known of it.
func (d *declarations) sensitive(name string) bool {
	if d == nil {
		return true
	}
	v, ok := d.Variables[name]
	return !ok || bool(v.Sensitive || v.Ephemeral)
}
