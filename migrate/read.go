package migrate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Read returns the objects of a text: YAML or JSON, any number of documents, with lists split into their items.
func Read(text []byte) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	documents := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		parts, err := apart(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		for _, part := range parts {
			found, err := readDocument(part)
			if err != nil {
				return nil, fmt.Errorf("document %d: %w", n, err)
			}
			objects = append(objects, found...)
		}
	}
}

// apart returns the values of a document of JSON, which may follow one another with nothing between, as jq writes them.
// What is YAML is one value: its reader ignores a second one, so there must be none.
func apart(document []byte) ([][]byte, error) {
	var values [][]byte
	for decoder := json.NewDecoder(bytes.NewReader(document)); ; {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) && len(values) > 0 {
			return values, nil
		}
		if err != nil {
			break
		}
		values = append(values, value)
	}
	var node goyaml.Node
	decoder := goyaml.NewDecoder(bytes.NewReader(document))
	if decoder.Decode(&node) == nil && !errors.Is(decoder.Decode(&node), io.EOF) {
		return nil, errors.New("something follows the end of its object: a line with --- has to be between two")
	}
	return [][]byte{document}, nil
}

func readDocument(document []byte) ([]unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil: // nothing but comments
		return nil, nil
	case map[string]any:
		return takeApart(value)
	}
	return nil, errors.New("it is not an object of Kubernetes")
}

// takeApart returns the objects of a list, which may contain lists, or the object itself if it is no list.
func takeApart(value map[string]any) ([]unstructured.Unstructured, error) {
	kind, _ := value["kind"].(string)
	items, isList := value["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		return []unstructured.Unstructured{{Object: numbers(value).(map[string]any)}}, nil
	}
	var objects []unstructured.Unstructured
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d] is not an object of Kubernetes", i)
		}
		in, err := takeApart(fields)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		objects = append(objects, in...)
	}
	return objects, nil
}

// numbers converts numbers to those that objects of Kubernetes have: integers where they are whole.
func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		f, _ := value.Float64()
		return f
	case map[string]any:
		for name, in := range value {
			value[name] = numbers(in)
		}
	case []any:
		for i, in := range value {
			value[i] = numbers(in)
		}
	}
	return value
}
