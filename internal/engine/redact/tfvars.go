package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/engine/hclparse"
)

// longNumber is the number of digits from which a number is worth hiding.
const longNumber = 6

// Values returns the secrets of a variable file: every string in it and every number of six digits or more. Of a
// file that cannot be parsed as its name requires (*.tfvars or *.tfvars.json) it returns every line and every word,
// because the engine will quote it in its error message.
func Values(name string, data []byte) []string {
	read := hclValues
	if strings.HasSuffix(name, ".json") {
		read = jsonValues
	}
	if values, err := read(data); err == nil {
		return values
	}
	return words(string(data))
}

// JSONValues returns the secrets of one JSON value, or all its words when it is not JSON.
func JSONValues(data []byte) []string { return Values(".json", data) }

// Leaves returns the secrets of decoded JSON values: every string in them and every number of six digits or more.
func Leaves(values []any) []string { return leaves(nil, values) }

// Expression returns the secrets of one value in the engine's language, as in TF_VAR_ variables: every string in it
// and every number of six digits or more. A text that is no such value has none: the engine takes it as it is.
func Expression(text string) []string {
	values, err := hclValues([]byte("value = " + text))
	if err != nil {
		return nil
	}
	return values
}

func jsonValues(data []byte) ([]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON value")
	}
	return leaves(nil, document), nil
}

// leaves appends the strings and the long numbers of a decoded JSON document.
func leaves(list []string, document any) []string {
	switch v := document.(type) {
	case string:
		return append(list, v)
	case json.Number:
		return appendNumber(list, v.String())
	case []any:
		for _, element := range v {
			list = leaves(list, element)
		}
	case map[string]any:
		for _, element := range v {
			list = leaves(list, element)
		}
	}
	return list
}

func hclValues(data []byte) ([]string, error) {
	body, err := hclparse.ParseAny(data, "", false)
	if err != nil {
		return nil, err
	}
	attributes, diags := body.JustAttributes()
	if diags.HasErrors() {
		return nil, diags
	}
	var list []string
	for _, attribute := range attributes {
		value, diags := attribute.Expr.Value(nil)
		if diags.HasErrors() {
			return nil, diags
		}
		err := cty.Walk(value, func(_ cty.Path, v cty.Value) (bool, error) {
			switch {
			case v.IsNull() || !v.IsKnown():
			case v.Type() == cty.String:
				list = append(list, v.AsString())
			case v.Type() == cty.Number:
				list = appendNumber(list, v.AsBigFloat().Text('f', -1))
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func appendNumber(list []string, number string) []string {
	digits := 0
	for _, c := range number {
		if '0' <= c && c <= '9' {
			digits++
		}
	}
	if digits < longNumber {
		return list
	}
	return append(list, number)
}

// words returns every line of a text, what follows the first = or : in it, and every word.
func words(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		list = append(list, line)
		if at := strings.IndexAny(line, "=:"); at >= 0 {
			list = append(list, strings.Trim(line[at+1:], " \t\"',"))
		}
		list = append(list, strings.FieldsFunc(line, func(r rune) bool {
			return strings.ContainsRune(" \t\"'=:,[]{}()", r)
		})...)
		for i, piece := range strings.Split(line, `"`) {
			if i%2 == 1 {
				list = append(list, piece)
			}
		}
	}
	return list
}
