package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Manifests are the objects as YAML: Repositories, then Stacks. The same result gives the same bytes.
func (r *Result) Manifests() ([]byte, error) {
	objects, err := r.Objects()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for i, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		text, err := yaml.JSONToYAML(data)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// Objects are the manifests as values: Repositories, then Stacks.
func (r *Result) Objects() ([]map[string]any, error) {
	objects := make([]map[string]any, 0, len(r.Repositories)+len(r.Stacks))
	add := func(o any) error {
		fields, err := plainFields(o)
		objects = append(objects, fields)
		return err
	}
	for i := range r.Repositories {
		if err := add(&r.Repositories[i]); err != nil {
			return nil, err
		}
	}
	for i := range r.Stacks {
		if err := add(&r.Stacks[i]); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// plainFields is an object without what its type always writes.
func plainFields(o any) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a number of the user's stays as it was written
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	if spec, ok := fields["spec"].(map[string]any); ok {
		for _, name := range []string{"engine", "retry", "runner"} {
			in, ok := spec[name].(map[string]any)
			if !ok {
				continue
			}
			if resources, ok := in["resources"].(map[string]any); ok && len(resources) == 0 {
				delete(in, "resources")
			}
			if len(in) == 0 {
				delete(spec, name)
			}
		}
	}
	return fields, nil
}

// Text is the notes for people: each object with what became of its fields below it. What manifests say in it neither steers a terminal nor looks like
// another note.
func Text(notes []Note) string {
	var out strings.Builder
	field, verdict := 0, 0
	for _, n := range notes {
		field, verdict = max(field, len(n.Field)), max(verdict, len(n.Verdict))
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
		fmt.Fprintf(&out, "  %-*s  %-*s  %s\n", field, plainLine(n.Field), verdict, n.Verdict, plainLine(n.Text))
	}
	return out.String()
}

// plainLine is a text on one line, without control characters and without those that turn the direction of a text around.
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
