package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/generate"
	"cairn.dev/cairn/internal/controller/stackset/schema"
	"cairn.dev/cairn/internal/controller/stackset/template"
)

// Contents are those of the files of a commit.
type Contents interface {
	generate.Units
	// ID of the content of a file: another content has another one.
	ID(path string) string
	// Read returns the content, or ErrTooLarge for more than limit bytes.
	Read(ctx context.Context, path string, limit int64) ([]byte, error)
}

// ErrTooLarge is the error of Contents for a file that is larger than permitted.
var ErrTooLarge = fmt.Errorf("it has more than %d bytes", template.MostSettings)

// mostSettings is how many bytes the Stacks with settings files have in all: users who push write these.
const mostSettings = 64 << 20

// readError is the error of a file that could not be read. It is no fault of the file.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// withSettings adds the settings in a file to a rendered Stack.
func withSettings(ctx context.Context, data []byte, file string, contents Contents) ([]byte, error) {
	text, err := contents.Read(ctx, file, template.MostSettings)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, &readError{fmt.Errorf("%s: %w", file, err)}
	}
	var settings map[string]any
	if err == nil {
		settings, err = template.Settings(text)
	}
	if err == nil {
		err = checkTypes(settings)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	stack := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // no digit is lost
	if err := decoder.Decode(&stack); err != nil {
		return nil, err
	}
	spec, ok := stack["spec"].(map[string]any)
	if !ok {
		return data, nil // decode reports it
	}
	add("spec", spec, settings)
	return json.Marshal(stack)
}

// checkTypes checks settings by themselves, so that an error is that of their file.
func checkTypes(settings map[string]any) error {
	data, err := json.Marshal(map[string]any{"spec": settings})
	if err != nil {
		return err
	}
	strict, err := strictjson.UnmarshalStrict(data, &v1alpha1.Stack{})
	if err != nil || len(strict) > 0 {
		return errors.New(wrongField(data, err, strict))
	}
	return checkKeys("spec", settings)
}

// add adds fields to those of an object. An entry of a list is added to the one with its key; others are appended.
func add(path string, to, fields map[string]any) {
	for name, value := range fields {
		below := path + "." + name
		switch value := value.(type) {
		case map[string]any:
			if object, ok := to[name].(map[string]any); ok {
				add(below, object, value)
				continue
			}
			to[name] = value
		case []any:
			entries, _ := to[name].([]any)
			for _, entry := range value {
				entries = put(entries, entry, listKeys[below])
			}
			to[name] = entries
		default:
			to[name] = value
		}
	}
}

func put(entries []any, entry any, key string) []any {
	name := within(entry, []string{key})
	at := slices.IndexFunc(entries, func(other any) bool {
		return name != nil && reflect.DeepEqual(name, within(other, []string{key}))
	})
	if at < 0 {
		return append(entries, entry)
	}
	to, fields := entries[at].(map[string]any), entry.(map[string]any) // both have the key
	if _, has := fields["value"]; has {
		delete(to, "valueFrom")
	}
	maps.Copy(to, fields) // what a settings file cannot set stays
	return entries
}

// wrongField describes what strict decoding rejects, with its value.
func wrongField(data []byte, err error, strict []error) string {
	reason, field := "", ""
	if err != nil {
		reason = strings.TrimPrefix(err.Error(), "json: ")
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			field = wrong.Field
			reason = fmt.Sprintf("%s is of type %s, and has to be of type %s", field, wrong.Value, typeName(wrong.Type))
			if wrong.Value == "bool" && wrong.Type.Kind() == reflect.String {
				reason += " (quote texts such as n, no, on and yes)"
			}
		}
	} else {
		reason = strict[0].Error()
		if unknown, ok := errors.AsType[strictjson.FieldError](strict[0]); ok {
			field = unknown.FieldPath()
		}
	}
	if object, err := Object(data); err == nil && field != "" {
		if value, found := schema.ValueAt(object, field); found {
			reason += ", with the value " + template.Value(value)
		}
	}
	return reason
}

// typeName is the JSON type of values of a Go type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.String, reflect.Bool:
		return t.Kind().String()
	}
	return "number"
}
