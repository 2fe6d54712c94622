package manifest

import (
	"fmt"
	"strings"
	"unicode"
)

// Note is what became of a field.
type Note struct {
	// Object that has the field.
	Object Ref `json:"object"`
	// Field as a path. Example: spec.taskOptions[0].env. Empty for what is about the whole object.
	Field string `json:"field,omitempty"`
	// Outcome in a word.
	Outcome Outcome `json:"outcome"`
	// Text continues the outcome: what it became, why not, what to do.
	Text string `json:"text"`
}

// Ref names an object of the input.
type Ref struct {
	// System that it is of. Example: burrito.
	System     string `json:"system,omitempty"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String is the object's kind, namespace and name.
func (r Ref) String() string {
	switch {
	case r.Name == "":
		return r.Kind
	case r.Namespace == "":
		return r.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// Outcome is what became of a field, in a word.
type Outcome string

// What may become of a field.
const (
	// Became is followed by what has its meaning in Cairn.
	Became Outcome = "became"
	// NotNeeded is followed by why Cairn does not need it.
	NotNeeded Outcome = "not needed"
	// Unsupported: Cairn has nothing like it. It is followed by what to do instead.
	Unsupported Outcome = "cannot be"
	// Ignored: the other system accepts the field and ignores it.
	Ignored Outcome = "ignored there"
	// ToDo is for the user to do before the Stack works.
	ToDo Outcome = "to do"
	// Unknown is a field, or an object, that no converter knows.
	Unknown Outcome = "not known"
)

// Text prints the notes: each object with what became of its fields below it. Text of manifests in it neither controls
// a terminal nor appears as another note.
func Text(notes []Note) string {
	var out strings.Builder
	field, outcome := 0, 0
	for _, n := range notes {
		field, outcome = max(field, len(n.Field)), max(outcome, len(n.Outcome))
	}
	field = min(field, 60)
	var last *Ref
	for _, n := range notes {
		if last == nil || *last != n.Object {
			out.WriteString(plainLine(n.Object.String()))
			if n.Object.APIVersion != "" {
				fmt.Fprintf(&out, " (%s)", plainLine(n.Object.APIVersion))
			}
			out.WriteString("\n")
			last = &n.Object
		}
		fmt.Fprintf(&out, "  %-*s  %-*s  %s\n", field, plainLine(n.Field), outcome, n.Outcome, plainLine(n.Text))
	}
	return out.String()
}

// plainLine is a text on one line, without control characters and without those that turn the direction of a text
// around.
func plainLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
